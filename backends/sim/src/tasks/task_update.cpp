// SPDX-License-Identifier: Apache-2.0
#include "tasks/task_update.h"

#include <cstring>
#include <string>

#include "machine/context.h"
#include "memory/memory.h"
#include "tasks/kernel_launch.h"
#include "tasks/kernels.h"
#include "tasks/model.h"
#include "tasks/random.h"

namespace aclsim {
namespace {

// Returns false if the address is not live memory of a device.
template <class T>
bool read(Memory &memory, const Stream &stream, const Task &task, const void *address, const char *name, T &value)
    REQUIRES(engine_lock) {
    const bool is_there =
        memory.space().locate(address).place == Place::Device && memory.space().is_live(address, sizeof value);
    memory.core.note_found(stream, task, {address, sizeof value, AccessMode::Read, name}, is_there);
    if (is_there) {
        std::memcpy(&value, address, sizeof value);
    }
    return is_there;
}

}  // namespace

Task *TaskName::find() const {
    const Model *model = model_of(*stream);
    const auto index = model == nullptr ? std::nullopt : model->find_index(*stream, id);
    return index ? &model->task(*stream, *index) : nullptr;
}

Start RandomUpdateTask::start(Stream &stream) {
    aclrtRandomNumTaskInfo info{};
    auto *const target = dynamic_cast<RandomTask *>(target_.find());
    if (target != nullptr && read(memory_, stream, *this, source_, "srcAddr", info)) {
        target->update(info);
    } else {
        result = ACL_ERROR_RT_DRV_INTERNAL_ERROR;
    }
    return Start::Done;
}

std::string KernelUpdateTask::update(const Stream &stream) {
    std::uint64_t entry = 0;
    std::uint64_t blocks = 0;
    if (!read(kernels_.memory, stream, *this, entry_, "funcEntryAddr", entry) ||
        !read(kernels_.memory, stream, *this, blocks_, "blockDimAddr", blocks)) {
        return "funcEntryAddr or blockDimAddr is not device memory any more";
    }
    auto *const target = dynamic_cast<KernelTask *>(target_.find());
    if (target == nullptr) {
        return "task " + std::to_string(target_.id) + " of stream " + std::to_string(target_.stream->id) +
               " is not a kernel of a model";
    }
    KernelFunction *const function = binary_->function(entry);
    const Ref<KernelCode> code = function == nullptr ? nullptr : kernels_.code_for(*function);
    if (!code || !binary_->is_on(device_of(stream))) {
        return "the binary has no function with entry " + std::to_string(entry) + ", or no code to run for it";
    }
    const KernelLaunch &former = target->launch();
    const std::uint32_t count = kept_blocks(static_cast<std::uint32_t>(blocks));
    const auto launch = make_ref_in<KernelLaunch>(*device_of(stream).shard, *function, count, former.arguments,
                                                  former.attributes, former.limit_us);
    launch->code = code;
    launch->grid = {count, 1, 1};
    launch->threads = {1, 1, 1};
    return target->update(launch) ? "" : "the function needs more workspace than the one that it replaces";
}

Start KernelUpdateTask::start(Stream &stream) {
    failure_ = update(stream);
    result = failure_.empty() ? ACL_SUCCESS : ACL_ERROR_RT_DRV_INTERNAL_ERROR;
    return Start::Done;
}

}  // namespace aclsim
