// SPDX-License-Identifier: Apache-2.0
#include "support/strict.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "support/call_note.h"
#include "support/standard_error.h"

namespace aclsim {
namespace {

// Writes in one step, so that lines of several processes stay whole. A failure cannot be reported anywhere else.
void write_line(int file, const std::string &line) {
    [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
}

// Adds the line to the file of ASCEND_RT_SIM_STRICT_LOG: the standard error of a child process may go nowhere.
void write_to_log(const std::string &line) {
    const std::string &path = config().strict_log;
    const int file = path.empty() ? -1 : open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file >= 0) {
        const char *const test = std::getenv("PYTEST_CURRENT_TEST");
        write_line(file, (test == nullptr ? "" : std::string(test) + ": ") + line);
        close(file);
    }
}

}  // namespace

void end_if_strict(const std::string &reason) {
    if (is_strict()) {
        end_if_strict(CallNote::present().text(), reason);
    }
}

void end_if_strict(const std::string &call, const std::string &reason) {
    if (is_strict()) {
        const std::string line = call + ": the vendor's library may end the process here: " + reason + "\n";
        print_error("ascend_rt simulator, strict: %s", line.c_str());
        write_to_log(line);
        std::abort();
    }
}

}  // namespace aclsim
