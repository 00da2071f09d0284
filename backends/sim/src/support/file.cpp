#include "support/file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace aclsim {

std::string read_file(const std::string &path, std::size_t longest) {
    constexpr std::size_t kFirstRead = 1 << 16;
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    std::string content;
    std::size_t size = 0;
    do {
        content.resize(std::min(std::max(kFirstRead, 2 * size), longest + 1));
        size += file ? std::fread(&content[size], 1, content.size() - size, file.get()) : 0;
    } while (size == content.size() && size <= longest);
    if (!file || std::ferror(file.get()) != 0) {
        throw FileError{std::string("the file cannot be read: ") + std::strerror(errno)};
    }
    if (size > longest) {
        constexpr std::size_t kMiB = 1 << 20;
        throw FileError{"the file is longer than " + std::to_string(longest / kMiB) + " MiB"};
    }
    content.resize(size);
    return content;
}

}  // namespace aclsim
