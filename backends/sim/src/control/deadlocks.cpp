// SPDX-License-Identifier: Apache-2.0
#include "control/deadlocks.h"

#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <utility>

#include "support/config.h"
#include "support/findings.h"
#include "support/json.h"
#include "support/standard_error.h"

namespace aclsim {
namespace {

std::vector<std::string> describe_thread(std::uint64_t thread, aclsimThreadDescriber describe) {
    std::string text(16384, '\0');
    text.resize(describe(thread, text.data(), text.size()));
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::string text_of(const StuckWait &wait) {
    const std::string task = wait.task == 0 ? "" : ", at task " + std::to_string(wait.task) + ",";
    std::string text = "  " + wait.agent + task + " " + wait.waits_for + "\n";
    if (!wait.function.empty()) {
        text += std::string(wait.task == 0 ? "    in " : "    submitted by ") + wait.function + "\n";
    }
    for (const std::string &frame : wait.frames) {
        text += "      at " + frame + "\n";
    }
    return text;
}

// Returns the object of a wait that is only a wait, or all that the agent does.
std::string object_of(const std::string &waits_for) {
    constexpr char kWaits[] = "waits for ";
    return waits_for.compare(0, sizeof kWaits - 1, kWaits) == 0 ? waits_for.substr(sizeof kWaits - 1) : waits_for;
}

std::string json_of(const StuckWait &wait) {
    return R"({"agent":)" + quoted(wait.agent) + R"(,"task":)" + (wait.task == 0 ? "null" : std::to_string(wait.task)) +
           R"(,"waits_for":)" + quoted(object_of(wait.waits_for)) + R"(,"function":)" + quoted(wait.function) +
           R"(,"frames":)" + json_strings(wait.frames) + "}";
}

}  // namespace

void describe_threads(Deadlock &deadlock, aclsimThreadDescriber describe) {
    for (StuckWait &wait : deadlock.waits) {
        const auto lines = wait.thread == 0 ? std::vector<std::string>() : describe_thread(wait.thread, describe);
        constexpr std::size_t kFirstFrame = 3;
        if (lines.size() < kFirstFrame) {
            continue;  // unknown to the program
        }
        wait.agent = lines[0];
        if (wait.function.empty()) {
            wait.function = lines[1];
            wait.waits_for = lines[2];
        }
        if (lines.size() > kFirstFrame) {
            wait.frames.assign(lines.begin() + kFirstFrame, lines.end());
        }
    }
}

void report(const Deadlock &deadlock) {
    if (writes_findings()) {
        std::string waits;
        for (const StuckWait &wait : deadlock.waits) {
            waits += (waits.empty() ? "" : ",") + json_of(wait);
        }
        write_finding(R"({"kind":"deadlock","id":)" + std::to_string(next_finding()) + R"(,"text":)" +
                      quoted_with_names(deadlock.summary) + R"(,"waits":[)" + waits + "]}");
        return;
    }
    std::string text = "ascend_rt simulator: " + deadlock.summary.substr(0, deadlock.summary.find('\n')) + "\n";
    for (const StuckWait &wait : deadlock.waits) {
        text += text_of(wait);
    }
    print_error("%s", (text + deadlock.end).c_str());
}

void end_after_deadlock() {
    if (!config().deadlocks_fail) {
        _exit(ACLSIM_EXIT_DEADLOCK);
    }
}

}  // namespace aclsim
