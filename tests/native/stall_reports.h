// SPDX-License-Identifier: Apache-2.0
// Reader of the reports of long waits, for tests that need a thread to be inside a call and have no other sign of it.
// ASCEND_RT_SIM_STALL_MS must be small.
#pragma once

#include <unistd.h>

#include <string>

#include "check.h"

// Captures standard error from construction until end_capture().
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
    // Reads until the text appears; returns everything that was read.
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
