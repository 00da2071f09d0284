// Files named by the program, with arbitrary content.
#pragma once

#include <cstddef>
#include <string>

namespace aclsim {

struct FileError {
    std::string what;
};

// Returns the content. Throws FileError if the file cannot be read or exceeds the given size.
std::string read_file(const std::string &path, std::size_t longest);

}  // namespace aclsim
