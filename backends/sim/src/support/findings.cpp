// SPDX-License-Identifier: Apache-2.0
#include "support/findings.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "support/descriptor.h"
#include "support/json.h"
#include "support/standard_error.h"
#include "support/text.h"

namespace aclsim {
namespace {

std::atomic<std::uint64_t> g_findings{0};

std::string first_line() {
    return R"({"kind":"process","format":1,"pid":)" + std::to_string(getpid()) + R"(,)" + checked_process().fields +
           "}";
}

// File of the process; never destroyed, because threads may outlive main().
class File {
  public:
    void write(std::string_view line) {
        const std::lock_guard<std::mutex> guard(mutex_);
        if (file_ < 0 && !open_file()) {
            return;
        }
        write_line(line);
    }
    void begin() {
        const std::lock_guard<std::mutex> guard(mutex_);
        if (file_ < 0) {
            open_file();
        }
    }
    void end() {
        const std::lock_guard<std::mutex> guard(mutex_);
        if (file_ >= 0 && !std::exchange(has_ended_, true)) {
            write_line(R"({"kind":"end"})");
        }
    }
    // The mutex is held during a fork, so that the child's copy of it is free.
    void before_fork() { mutex_.lock(); }
    void after_fork() { mutex_.unlock(); }
    void after_fork_in_child() {
        if (file_ >= 0 && is_ours()) {
            close(file_);
        }
        file_ = -1;
        is_line_open_ = has_failed_ = has_ended_ = false;
        mutex_.unlock();
    }

  private:
    // Returns whether the descriptor is still that of the file: the program may have closed all, and opened others.
    bool is_ours() const {
        struct stat now{};
        return fstat(file_, &now) == 0 && now.st_dev == opened_.st_dev && now.st_ino == opened_.st_ino;
    }
    bool reopen() {
        file_ = above_standard_files(open(path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
        if (file_ < 0) {
            note_failure(path().c_str());
        }
        return file_ >= 0 && fstat(file_, &opened_) == 0;
    }
    static std::string path() { return checked_process().directory + "/" + std::to_string(getpid()) + ".jsonl"; }
    bool open_file() {
        file_ = above_standard_files(open(path().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
        if (file_ < 0) {
            note_failure(path().c_str());
            return false;
        }
        fstat(file_, &opened_);
        write_line(first_line());
        return true;
    }
    // A line of which a full disk has taken only a part is ended before the next one.
    void write_line(std::string_view line) {
        if (!is_ours() && !reopen()) {
            return;
        }
        char end[] = "\n";
        const iovec parts[] = {
            {end, is_line_open_ ? 1U : 0U}, {const_cast<char *>(line.data()), line.size()}, {end, 1}};
        const std::size_t size = parts[0].iov_len + line.size() + 1;
        const ssize_t written = writev(file_, parts, 3);
        if (written != static_cast<ssize_t>(size)) {
            note_failure("a finding");
        }
        is_line_open_ = written > 0 ? written != static_cast<ssize_t>(size) : is_line_open_;
    }
    void note_failure(const char *what) {
        const int error = errno;
        if (!std::exchange(has_failed_, true)) {
            print_error("%s: ASCEND_RT_SIM_CHECK_DIRECTORY: %s cannot be written: %s\n", checked_process().checker,
                        what, std::strerror(error));
        }
    }

    std::mutex mutex_;
    int file_ = -1;
    struct stat opened_{};
    bool is_line_open_ = false;
    bool has_failed_ = false;
    bool has_ended_ = false;
};

File &file() {
    static File *const instance = new File;
    return *instance;
}

[[maybe_unused]] const int g_renews_files =
    pthread_atfork([] { file().before_fork(); }, [] { file().after_fork(); }, [] { file().after_fork_in_child(); });

}  // namespace

std::string json_strings(const std::vector<std::string> &texts) {
    std::string list;
    for (const std::string &text : texts) {
        list += (list.empty() ? "" : ",") + quoted_with_names(text);
    }
    return "[" + list + "]";
}

bool writes_findings() { return !checked_process().directory.empty(); }

void begin_findings() {
    if (writes_findings()) {
        file().begin();
    }
}

void end_findings() { file().end(); }

void write_finding(std::string_view object) noexcept {
    try {
        file().write(object);
    } catch (const std::exception &) {  // no memory for the name of the file
        print_error("%s: the host is out of memory; a finding is lost\n", checked_process().checker);
    }
}

std::uint64_t next_finding() { return ++g_findings; }

std::string json_frames(const CallPlace &place) { return json_strings(names_of(place)); }

}  // namespace aclsim
