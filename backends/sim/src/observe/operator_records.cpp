// SPDX-License-Identifier: Apache-2.0
#include "observe/operator_records.h"

#include <cstdio>
#include <utility>

#include "support/file.h"
#include "support/json.h"
#include "support/standard_error.h"

namespace aclsim {

void OperatorRecords::start(const std::string &directory) {
    std::string kept = directory;
    core_.add_observer(*this);
    directory_ = std::move(kept);
}

void OperatorRecords::ended(const Moment &, const Stream &stream, const Task &task, std::uint32_t) {
    const FailedKernel kernel = task.details().failed_kernel();
    if (kernel.function == nullptr) {
        return;
    }
    TaskLabel label;
    task.details().label(stream, label);
    const std::lock_guard<std::mutex> guard(mutex_);
    ++launches_[{kernel.name, kernel.blocks, kernel.arguments_size, label.op_info}];
}

void OperatorRecords::stop(Lock &lock) {
    core_.remove_observer(*this);
    const std::string directory = std::exchange(directory_, "");
    const auto launches = std::exchange(launches_, {});
    const Unlocked unlocked(lock);
    int number = 0;
    for (const auto &[it, count] : launches) {
        const auto &[name, blocks, arguments, information] = it;
        const std::string path = directory + "/" + file_part(name) + "." + std::to_string(number++) + ".json";
        const std::string text = "{\"name\":" + quoted(name) + ",\"blocks\":" + std::to_string(blocks) +
                                 ",\"arguments_size\":" + std::to_string(arguments) +
                                 ",\"op_info\":" + quoted(information) + ",\"launches\":" + std::to_string(count) +
                                 "}\n";
        write_file(path, text, ACL_ERROR_FAILURE);
    }
}

void OperatorRecords::fact_lost(const Moment &) {
    if (!has_lost_facts_.exchange(true)) {
        print_error("ascend_rt simulator, aclopStartDumpArgs: the host is out of memory; operators are missing\n");
    }
}

}  // namespace aclsim
