// SPDX-License-Identifier: Apache-2.0
#include "support/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>

#include "support/error.h"
#include "support/file_limit.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

std::string formatted(const char *format, std::chrono::system_clock::time_point time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
    std::tm local = {};
    localtime_r(&seconds, &local);
    char text[32];
    std::strftime(text, sizeof text, format, &local);
    return text;
}

constexpr char kSeconds[] = "%Y%m%d%H%M%S";

}  // namespace

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

void write_file(const std::string &path, const std::string &text, aclError code) {
    const Uncancelled uncancelled;
    std::string problem = file_limit_problem(text.size());
    if (problem.empty()) {
        std::FILE *const file = std::fopen(path.c_str(), "wbe");
        const bool is_written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
        const int error = errno;
        const bool is_closed = file != nullptr && std::fclose(file) == 0;
        if (is_written && is_closed) {
            return;
        }
        problem = std::strerror(is_written ? errno : error);
        if (file != nullptr) {
            unlink(path.c_str());
        }
    }
    fail_unremembered(code, "cannot write %s: %s", path.c_str(), problem.c_str());
}

std::string time_stamp() { return formatted(kSeconds, std::chrono::system_clock::now()); }

std::string time_stamp_with_milliseconds() {
    const auto now = std::chrono::system_clock::now();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
    char text[8];
    std::snprintf(text, sizeof text, "%03d", static_cast<int>(milliseconds % 1000));
    return formatted(kSeconds, now) + text;
}

void make_directories(const std::string &path, aclError code) {
    for (std::size_t end = 0; end != std::string::npos;) {
        end = path.find('/', end + 1);
        const std::string part = path.substr(0, end);
        struct stat status{};
        const bool is_there = mkdir(part.c_str(), 0755) == 0 ||
                              (errno == EEXIST && stat(part.c_str(), &status) == 0 && S_ISDIR(status.st_mode));
        if (!is_there) {
            fail_unremembered(code, "cannot make the directory %s: %s", part.c_str(),
                              std::strerror(errno == EEXIST ? ENOTDIR : errno));
        }
    }
}

std::string file_part(const std::string &name) {
    constexpr std::size_t kLongest = 128;
    std::string part = name.substr(0, kLongest);
    std::replace_if(
        part.begin(), part.end(),
        [](char c) { return c == '/' || c == '\\' || static_cast<unsigned char>(c) <= ' ' || c == 0x7F; }, '_');
    return part;
}

std::string absolute_path(const std::string &path) {
    char current[PATH_MAX];
    if (path[0] == '/' || getcwd(current, sizeof current) == nullptr) {
        return path;
    }
    return current + ("/" + path);
}

}  // namespace aclsim
