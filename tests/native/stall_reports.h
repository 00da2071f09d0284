// Reading what threads that wait for long say: the latch for tests that need a thread to be inside a call, where
// nothing else tells that it is. ASCEND_RT_SIM_STALL_MS must be small.
#pragma once

#include <unistd.h>

#include <string>

#include "check.h"

// Standard error goes here from construction to the end of capture.
class StallReports {
  public:
    StallReports() : standard_error_(dup(STDERR_FILENO)) {
        CHECK(pipe(pipe_) == 0);
        CHECK(dup2(pipe_[1], STDERR_FILENO) == STDERR_FILENO);
    }
    ~StallReports() {
        end_capture();
        close(standard_error_);
        close(pipe_[0]);
        close(pipe_[1]);
    }
    StallReports(const StallReports &) = delete;
    StallReports &operator=(const StallReports &) = delete;

    void end_capture() { dup2(standard_error_, STDERR_FILENO); }
    // What was read to see it.
    std::string wait_for(const std::string &wanted) {
        std::string text;
        while (text.find(wanted) == std::string::npos) {
            char part[256];
            const ssize_t size = read(pipe_[0], part, sizeof part);
            CHECK(size > 0);
            text.append(part, static_cast<std::size_t>(size));
        }
        return text;
    }

  private:
    int standard_error_;
    int pipe_[2] = {};
};
