// SPDX-License-Identifier: Apache-2.0
// Files of a profile, with the names and layout of the files that msprof exports from the profile of a device: a trace
// for chrome://tracing and Perfetto, and tables of tasks and operators.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <set>

#include "observe/profiler.h"
#include "support/file.h"
#include "support/json.h"
#include "support/text.h"
#include "tasks/trace.h"

namespace aclsim {
namespace {

// Numbers of processes in the trace, beside those of the devices: calls, and ranges and marks of the program.
constexpr int kHost = -1;
constexpr int kRanges = -2;

// Returns the time on the clock of Python's time.perf_counter(), so that a program can compare its own measurements.
// Does not format a floating-point number, because the program's locale may use a different decimal point.
std::string microseconds(Time::duration time) {
    const std::int64_t ns = std::chrono::nanoseconds(time).count();
    char text[40];
    std::snprintf(text, sizeof text, "%s%lld.%03d", ns < 0 ? "-" : "", static_cast<long long>(std::abs(ns) / 1000),
                  static_cast<int>(std::abs(ns) % 1000));
    return text;
}
std::string microseconds(Time time) { return microseconds(time.time_since_epoch()); }

std::string name_of(const Profile::TaskEntry &task) {
    const TaskLabel &it = task.label;
    return !it.name.empty() ? it.name : it.op_info.empty() ? task.info->name : shown(it.op_info);
}

std::string csv_row(std::initializer_list<std::string> cells) {
    std::string row;
    for (const std::string &cell : cells) {
        std::string text = is_utf8(cell) ? cell : in_hexadecimal(cell);  // a mark may have any bytes
        if (text.find_first_of(",\"\r\n") != std::string::npos) {
            for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) {
                text.insert(at, 1, '"');
            }
            text = '"' + text + '"';
        }
        row += (row.empty() ? "" : ",") + text;
    }
    return row + '\n';
}

std::string digits(std::uint64_t value) { return std::to_string(value); }
std::string model_id(const TaskLabel &it) { return it.model == TaskLabel::kNoModel ? "N/A" : digits(it.model); }

std::string task_table(const Profile &profile) {
    std::string text = csv_row({"Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)",
                                "task_start(us)", "task_stop(us)"});
    for (const auto &it : profile.tasks) {
        if (it.info->has(kIsMark)) {
            continue;  // is in the tables of marks and steps
        }
        text += csv_row({digits(it.device), name_of(it), it.info->name, digits(it.stream), digits(it.task),
                         microseconds(it.ended - it.started), microseconds(it.started), microseconds(it.ended)});
    }
    return text;
}

std::string operator_table(const Profile &profile) {
    std::string text =
        csv_row({"Device_id", "Model ID", "Task ID", "Stream ID", "Op Name", "Task Type", "Task Start Time(us)",
                 "Task Duration(us)", "Task Wait Time(us)", "Op Info", "Extend Info"});
    for (const auto &it : profile.tasks) {
        const TaskLabel &label = it.label;
        if ((label.name.empty() && label.op_info.empty()) || it.info->has(kIsMark)) {
            continue;
        }
        text += csv_row({digits(it.device), model_id(label), digits(it.task), digits(it.stream), name_of(it),
                         it.info->name, microseconds(it.started), microseconds(it.ended - it.started),
                         microseconds(it.started - it.submitted), shown(label.op_info), label.extend_info});
    }
    return text;
}

// Ranges and marks of threads, and marks of streams, which have a device and a stream instead of a thread.
std::string mark_table(const Profile &profile) {
    const std::string process = std::to_string(getpid());
    std::string text =
        csv_row({"pid", "tid", "event_type", "Start_time(us)", "End_time(us)", "message", "Device_id", "Stream_id"});
    for (const auto &it : profile.ranges) {
        text += csv_row({process, digits(it.thread), it.type, microseconds(it.began), microseconds(it.ended),
                         it.message, "N/A", "N/A"});
    }
    for (const auto &it : profile.tasks) {
        if (it.info == &MarkTask::kMessage) {
            text += csv_row({process, "N/A", "marker_ex", microseconds(it.started), microseconds(it.ended),
                             it.label.name, digits(it.device), digits(it.stream)});
        }
    }
    return text;
}

// Steps whose beginning and end are both in the profile.
std::string step_table(const Profile &profile) {
    std::map<std::uint64_t, const Profile::TaskEntry *> begun;
    std::string text = csv_row(
        {"Device_id", "Iteration ID", "Stream_id", "Iteration Start(us)", "Iteration End(us)", "Iteration Time(us)"});
    for (const auto &it : profile.tasks) {
        const std::uint64_t step = it.label.step;
        if (step == 0) {
            continue;
        }
        const auto start = begun.find(step);
        if (!it.label.ends_step) {
            begun[step] = &it;
        } else if (start != begun.end()) {
            text += csv_row({digits(it.device), digits(step), digits(it.stream), microseconds(start->second->ended),
                             microseconds(it.ended), microseconds(it.ended - start->second->ended)});
        }
    }
    return text;
}

std::string trace_name(const char *what, int process, std::uint64_t thread, const std::string &name) {
    return "{\"name\":\"" + std::string(what) + "\",\"ph\":\"M\",\"pid\":" + std::to_string(process) +
           ",\"tid\":" + digits(thread) + ",\"args\":{\"name\":" + quoted(name) + "}}";
}

std::string trace_event(const std::string &name, int process, std::uint64_t thread, Time from, Time to,
                        const std::string &arguments) {
    return "{\"name\":" + quoted(name) + ",\"ph\":\"X\",\"pid\":" + std::to_string(process) +
           ",\"tid\":" + digits(thread) + ",\"ts\":" + microseconds(from) + ",\"dur\":" + microseconds(to - from) +
           ",\"args\":{" + arguments + "}}";
}

// Event without a duration.
std::string trace_instant(const std::string &name, int process, std::uint64_t thread, Time at) {
    return "{\"name\":" + quoted(name) + ",\"ph\":\"i\",\"s\":\"t\",\"pid\":" + std::to_string(process) +
           ",\"tid\":" + digits(thread) + ",\"ts\":" + microseconds(at) + "}";
}

std::string arguments_of(const Profile::TaskEntry &it) {
    const TaskLabel &label = it.label;
    std::string text = "\"Task Id\":" + digits(it.task) + ",\"Task Type\":" + quoted(it.info->name) +
                       ",\"Model Id\":" + quoted(model_id(label));
    if (!label.op_info.empty()) {
        text += ",\"Op Info\":" + quoted(shown(label.op_info));
    }
    if (!label.extend_info.empty()) {
        text += ",\"Extend Info\":" + quoted(label.extend_info);
    }
    return text;
}

std::string trace(const Profile &profile) {
    std::vector<std::string> events;
    std::set<std::pair<int, std::uint64_t>> streams;
    for (const std::uint32_t device : profile.devices) {
        events.push_back(trace_name("process_name", static_cast<int>(device), 0, "device " + digits(device)));
    }
    for (const auto &it : profile.tasks) {
        const int device = static_cast<int>(it.device);
        if (streams.emplace(device, it.stream).second) {
            events.push_back(trace_name("thread_name", device, it.stream, "stream " + digits(it.stream)));
        }
        events.push_back(it.info->has(kIsMark)
                             ? trace_instant(name_of(it), device, it.stream, it.ended)
                             : trace_event(name_of(it), device, it.stream, it.started, it.ended, arguments_of(it)));
    }
    if (!profile.calls.empty()) {
        events.push_back(trace_name("process_name", kHost, 0, "calls"));
    }
    for (const auto &it : profile.calls) {
        events.push_back(trace_event(it.name, kHost, it.thread, it.began, it.ended, ""));
    }
    if (!profile.ranges.empty()) {
        events.push_back(trace_name("process_name", kRanges, 0, "ranges"));
    }
    for (const auto &it : profile.ranges) {
        events.push_back(it.began == it.ended ? trace_instant(it.message, kRanges, it.thread, it.began)
                                              : trace_event(it.message, kRanges, it.thread, it.began, it.ended, ""));
    }
    std::string text = "[\n";
    for (const std::string &event : events) {
        text += event + (&event == &events.back() ? "\n" : ",\n");
    }
    return text + "]\n";
}

}  // namespace

void Profile::write() const {
    const auto write_one = [](const std::string &path, const std::string &text) {
        write_file(path, text, ACL_ERROR_INVALID_FILE);
    };
    const std::string folder = directory + "/mindstudio_profiler_output";
    write_one(folder + "/msprof_" + stamp + ".json", trace(*this));
    write_one(folder + "/task_time_" + stamp + ".csv", task_table(*this));
    write_one(folder + "/op_summary_" + stamp + ".csv", operator_table(*this));
    if ((data_types & ACL_PROF_MSPROFTX) != 0) {
        write_one(folder + "/msprof_tx_" + stamp + ".csv", mark_table(*this));
    }
    if (std::any_of(tasks.begin(), tasks.end(), [](const auto &it) { return it.label.step != 0; })) {
        write_one(folder + "/step_trace_" + stamp + ".csv", step_table(*this));
    }
}

}  // namespace aclsim
