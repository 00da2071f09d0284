#include "observe/operator_records.h"

#include <cstdio>
#include <fstream>
#include <utility>

#include "support/error.h"
#include "support/json.h"
#include "support/uncancelled.h"

namespace aclsim {

void OperatorRecords::start(const std::string &directory) {
    core_.add_observer(*this);
    directory_ = directory;
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
    const Uncancelled uncancelled;
    int number = 0;
    for (const auto &[it, count] : launches) {
        const auto &[name, blocks, arguments, information] = it;
        const std::string path = directory + "/" + name.substr(0, 128) + "." + std::to_string(number++) + ".json";
        std::ofstream file(path, std::ios::binary);
        file << "{\"name\":" << quoted(name) << ",\"blocks\":" << std::to_string(blocks)
             << ",\"arguments_size\":" << std::to_string(arguments) << ",\"op_info\":" << quoted(information)
             << ",\"launches\":" << std::to_string(count) << "}\n";
        file.close();
        if (!file) {
            fail_unremembered(ACL_ERROR_FAILURE, "cannot write %s", path.c_str());
        }
    }
}

}  // namespace aclsim
