// Files that the program names, which may be anything.
#pragma once

#include <cstddef>
#include <string>

namespace aclsim {

struct FileError {
    std::string what;
};

// The content. Throws FileError if the file cannot be read, or is longer than that.
std::string read_file(const std::string &path, std::size_t longest);

}  // namespace aclsim
