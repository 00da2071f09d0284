// SPDX-License-Identifier: Apache-2.0
// Files and directories that the program names.
#pragma once

#include <cstddef>
#include <string>

#include "abi/acl.h"

namespace aclsim {

struct FileError {
    std::string what;
};

// Returns the content. Throws FileError if the file cannot be read or exceeds the given size.
std::string read_file(const std::string &path, std::size_t longest);

// Creates or replaces a file. Fails with the code, and leaves no part of it.
void write_file(const std::string &path, const std::string &text, aclError code);

// Local time for names of files: to the second, or with milliseconds.
std::string time_stamp();
std::string time_stamp_with_milliseconds();

// Creates a directory with its parents. Fails with the code.
void make_directories(const std::string &path, aclError code);
// Returns the beginning of a kernel's name as a part of a file's name: without characters that separate paths or words.
std::string file_part(const std::string &name);
// Returns the path from the root of the file system.
std::string absolute_path(const std::string &path);

}  // namespace aclsim
