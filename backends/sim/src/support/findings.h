// SPDX-License-Identifier: Apache-2.0
// Findings of the checks, for a program that reads them: lines of JSON in the directory of
// ASCEND_RT_SIM_CHECK_DIRECTORY, in one file a process, "<pid>.jsonl". Without the directory the checks print texts.
//
// A line is written when its finding is made, by one system call, so that a crash loses none. The first line of a
// process is of the kind "process", and the last one, if the process ends in the normal way, of the kind "end". A later
// program of the same process (exec) adds lines to the same file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/call_place.h"

namespace aclsim {

// Description of the process by the library that checks it, which defines the function.
struct CheckedProcess {
    const char *checker;    // begin of messages on standard error
    std::string directory;  // empty: there is none
    std::string fields;     // of the first line, in JSON
};
CheckedProcess checked_process();

// Any thread may call these functions, with or without the engine lock.

bool writes_findings();  // a directory is set
void begin_findings();   // writes the first line: the process is being checked
void end_findings();     // writes the last line, if there is a first one
// Writes a line: a JSON object. Opens the file, and writes its first line before, if this process has not yet done so:
// a forked child has a file of its process. A failure is reported once, on standard error, and then ignored.
void write_finding(std::string_view object) noexcept;
std::uint64_t next_finding();  // number for the next finding of this process, from 1 on
// Return a JSON array of the strings, or of the names of the frames.
std::string json_strings(const std::vector<std::string> &texts);
std::string json_frames(const CallPlace &place);

}  // namespace aclsim
