// SPDX-License-Identifier: Apache-2.0
#include "tasks/kernel_launch.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "machine/context.h"
#include "memory/memory.h"
#include "support/config.h"
#include "support/error.h"
#include "support/program_call.h"
#include "support/text.h"
#include "tasks/declared_accesses.h"
#include "tasks/kernels.h"

namespace aclsim {
namespace {

// Attributes of one byte, which is 0 or 1.
bool is_switch(aclrtLaunchKernelAttrId id) {
    return id == ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE || id == ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH ||
           id == ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP || id == ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING;
}

// Reason for the failure of a block, which a device could not determine.
struct BlockFailure {
    aclError code;
    std::string text;
};

Time deadline_of(Clock &clock, std::uint64_t limit_us) {
    constexpr std::uint64_t kLongest = 1ULL << 50;  // larger values would overflow the clock
    return limit_us == 0 || limit_us > kLongest ? kNever : clock.now() + std::chrono::microseconds(limit_us);
}

std::atomic<std::uint64_t> g_launches{0};  // executions so far

// Blocks of a running launch, which several threads take in turn.
class Blocks final : public SharedWork {
  public:
    Blocks(Core &core, const KernelLaunch &launch, const Workspace &workspace, const Interruption &interruption,
           const TaskOrigin &origin)
        : launch_(launch),
          interruption_(interruption),
          clock_(core.clock()),
          has_cost_(core.timing().is_on()),
          deadline_(deadline_of(clock_, launch.limit_us)) {
        block_.name = launch.function->description.name.c_str();
        block_.arguments = launch.arguments.address();
        block_.argumentsSize = launch.arguments.size();
        block_.count = launch.blocks;
        block_.workspace = workspace.address();
        block_.workspaceSize = workspace.size();
        block_.grid = launch.grid;
        block_.threads = launch.threads;
        block_.device = origin.device;
        block_.stream = origin.stream;
        block_.task = origin.task;
        block_.launch = g_launches.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    void work() override {
        for (;;) {
            const std::uint64_t index = next_.fetch_add(1, std::memory_order_relaxed);
            if (index >= launch_.blocks || has_failed_.load(std::memory_order_relaxed)) {
                return;
            }
            if (interruption_.is_requested()) {
                was_cut_short_.store(true, std::memory_order_relaxed);
                return;
            }
            aclsimKernelBlock block = block_;
            block.index = static_cast<std::uint32_t>(index);
            run(block);
            if (clock_.now() > deadline_) {
                note(block, timeout_code(), text_if_memory([&] {
                         return "took longer than the " + std::to_string(launch_.limit_us) + " us of the launch";
                     }));
            }
        }
    }
    std::optional<BlockFailure> &failure() { return failure_; }  // first failure, valid once all threads have left
    bool was_cut_short() const { return was_cut_short_.load(std::memory_order_relaxed); }
    std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  private:
    void run(aclsimKernelBlock &block) {
        char text[512];
        *text = '\0';
        block.text = text;
        block.textSize = sizeof text;
        std::uint64_t bytes = 0;
        block.bytes = has_cost_ ? &bytes : nullptr;
        aclError code = ACL_SUCCESS;
        call_program([&] { code = launch_.code->run(block); },
                     [&](const std::string &how) { note(block, exception_code(), how); });
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
        if (code != ACL_SUCCESS) {
            text[sizeof text - 1] = '\0';
            note(block, code,
                 text_if_memory([&] { return std::string("reported an error") + (*text == '\0' ? "" : ": ") + text; }));
        }
    }
    aclError exception_code() const {
        return launch_.function->is_cpu() ? ACL_ERROR_RT_AICPU_EXCEPTION : ACL_ERROR_RT_AICORE_EXCEPTION;
    }
    aclError timeout_code() const {
        return launch_.function->is_cpu() ? ACL_ERROR_RT_AICPU_TIMEOUT : ACL_ERROR_RT_AICORE_TIMEOUT;
    }
    void note(const aclsimKernelBlock &block, aclError code, const std::string &what) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_) {
            failure_ = BlockFailure{code, text_if_memory([&] {
                                        return "block " + std::to_string(block.index) + " of " +
                                               std::to_string(block.count) + " of kernel " + block.name + " " + what;
                                    })};
        }
        has_failed_.store(true, std::memory_order_relaxed);
    }

    const KernelLaunch &launch_;
    aclsimKernelBlock block_{};
    const Interruption interruption_;
    Clock &clock_;
    const bool has_cost_;
    const Time deadline_;
    std::atomic<std::uint64_t> next_{0};
    std::atomic<bool> has_failed_{false};
    std::atomic<bool> was_cut_short_{false};
    std::atomic<std::uint64_t> bytes_{0};
    std::mutex mutex_;
    std::optional<BlockFailure> failure_;
};

[[noreturn]] void fail_without_code(const KernelFunction &function) {
    const std::string &reason = function.binary->library_error();
    fail(ACL_ERROR_RT_INVALID_DEVICE_FUNCTION,
         "kernel %s is code for a device, which this host cannot run%s%s; register a function that does its work: "
         "aclsimRegisterKernel(\"%s\", ...) in C, @ascend_rt.sim.kernel(\"%s\") in Python, or load a shared object of "
         "this host that exports %s",
         function.description.name.c_str(), reason.empty() ? "" : ": ", reason.c_str(),
         function.description.name.c_str(), function.description.name.c_str(), function.description.name.c_str());
}

void require_loaded(const KernelFunction &function, const Device &device) REQUIRES(engine_lock) {
    if (!function.binary->is_on(device)) {
        fail_unremembered(ACL_ERROR_RT_INVALID_HANDLE,
                          "the binary of kernel %s is not on device %u: call aclrtBinaryGetFunction there first",
                          function.description.name.c_str(), device.user_id);
    }
}

}  // namespace

std::vector<aclrtLaunchKernelAttr> read_launch_config(const aclrtLaunchKernelCfg *cfg) {
    if (cfg == nullptr) {
        return {};
    }
    if (cfg->attrs == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "cfg->attrs is NULL");
    }
    std::vector<aclrtLaunchKernelAttr> attributes;
    std::uint32_t given = 0;  // bits
    for (std::size_t i = 0; i < cfg->numAttrs; ++i) {
        const aclrtLaunchKernelAttr &attribute = cfg->attrs[i];
        const auto id = static_cast<std::uint32_t>(attribute.id);
        if (id < ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE || id > ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no launch attribute %u", id);
        }
        if (is_switch(attribute.id) && attribute.value.schemMode > 1) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "launch attribute %u is 0 or 1, not %u", id, attribute.value.schemMode);
        }
        given |= 1U << id;
        attributes.push_back(attribute);
    }
    constexpr std::uint32_t kBoth =
        1U << ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT | 1U << ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US;
    if ((given & kBoth) == kBoth) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "a launch has one timeout, in seconds or in microseconds");
    }
    return attributes;
}

std::uint64_t read_time_limit(const std::vector<aclrtLaunchKernelAttr> &attributes, std::uint64_t usual_us) {
    std::uint64_t limit_us = usual_us;
    for (const aclrtLaunchKernelAttr &given : attributes) {
        if (given.id == ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT) {
            limit_us = given.value.timeout * 1000000ULL;
        } else if (given.id == ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US) {
            limit_us = std::uint64_t{given.value.timeoutUs.timeoutHigh} << 32 | given.value.timeoutUs.timeoutLow;
        }
    }
    return limit_us;
}

void KernelArguments::fill(unsigned char *copy, const std::vector<PlaceHolder> &place_holders) {
    for (const PlaceHolder &holder : place_holders) {
        const unsigned char *data = copy + holder.dataOffset;
        std::memcpy(copy + holder.addrOffset, &data, sizeof data);
    }
}

KernelArguments KernelArguments::copied(Lock &lock, const Device &device, const void *source, std::size_t size,
                                        const std::vector<PlaceHolder> &place_holders) {
    auto copy = make_ref_in<ArgumentCopy>(*device.shard, size);
    if (size > kCopiedAtOnce) {
        const Unlocked unlocked(lock);
        std::memcpy(copy->bytes(), source, size);
    } else if (size > 0) {
        std::memcpy(copy->bytes(), source, size);
    }
    fill(copy->bytes(), place_holders);
    return {size, std::move(copy)};
}

KernelArguments KernelArguments::of_list(const Device &device, const ArgumentList &list) {
    auto copy = make_ref_in<ArgumentCopy>(*device.shard, list.size());
    std::copy_n(list.bytes(), list.size(), copy->bytes());
    fill(copy->bytes(), list.place_holders());
    return {list.size(), std::move(copy)};
}

KernelTask::KernelTask(Memory &memory, Ref<KernelLaunch> launch, Workspace workspace)
    : memory_(memory), launch_(std::move(launch)), workspace_(std::move(workspace)) {}

Start KernelTask::start(Stream &stream) {
    bytes_ = 0;
    const bool does_nothing = launch_->code->is_empty() || launch_->blocks == 0;
    if (does_nothing && !memory_.core.timing().is_on()) {
        return Start::Done;
    }
    if (!has_arguments() || !workspace_.is_live(device_of(stream))) {
        result = ACL_ERROR_RT_AICORE_EXCEPTION;
        failure_ = "the " + std::string(has_arguments() ? "workspace" : "argument block") + " of kernel " +
                   launch_->function->description.name + " is not live memory any more";
        return Start::Done;
    }
    interruption_ = {stream, sequence};
    origin_ = {device_of(stream).user_id, stream.id, static_cast<std::uint32_t>(sequence)};
    workers_ = &memory_.core.workers_of(stream);
    running_ = launch_;
    return Start::Run;
}

bool KernelTask::has_arguments() const {
    const KernelArguments &arguments = launch_->arguments;
    return arguments.is_copy() || memory_.space().is_live(arguments.address(), arguments.size());
}

bool KernelTask::stays_in_shard(const Stream &) const {
    return workspace_.address() == nullptr && launch_->stays_in_shard() && (!running_ || running_->stays_in_shard()) &&
           has_arguments();
}

void KernelTask::run() {
    Blocks blocks(memory_.core, *running_, workspace_, interruption_, origin_);
    struct TakeResult {
        KernelTask &task;
        Blocks &blocks;
        ~TakeResult() {
            task.was_cut_short = blocks.was_cut_short();
            task.bytes_ = blocks.bytes();
            if (blocks.failure()) {
                task.result = blocks.failure()->code;
                task.failure_ = std::move(blocks.failure()->text);
            }
        }
    };
    const TakeResult take_result{*this, blocks};  // also taken when a block ends the thread
    if (running_->blocks > 1) {
        workers_->share(blocks, running_->blocks - 1);
    } else {
        blocks.work();
    }
}

void KernelTask::rewind() {
    was_cut_short = false;
    failure_.clear();  // the result is reset by the model
}

FailedKernel KernelTask::failed_kernel() const {
    const Binary &binary = *launch_->function->binary;
    return {launch_->function->handle(),
            launch_->arguments.address(),
            static_cast<std::uint32_t>(launch_->arguments.size()),
            launch_->function->description.name,
            launch_->blocks,
            binary.exception_callback,
            binary.exception_data,
            launch_};
}

void KernelTask::describe(aclmdlRITaskParams &params) const {
    params.type = ACL_MODEL_RI_TASK_KERNEL;
    params.kernelTaskParams.funcHandle = launch_->function->handle();
    params.kernelTaskParams.args = launch_->arguments.address();
    params.kernelTaskParams.argsSize = launch_->arguments.size();
    params.kernelTaskParams.numBlocks = launch_->blocks;
}

void KernelTask::label(const Stream &, TaskLabel &label) const { label.name = launch_->function->description.name; }

bool KernelTask::update(Ref<KernelLaunch> launch) {
    if (launch->code->workspace_bytes > workspace_.size()) {
        return false;
    }
    launch_ = std::move(launch);
    return true;
}

std::unique_ptr<Task> KernelTask::changed_to(Ref<KernelLaunch> launch) {
    if (launch->code->workspace_bytes > workspace_.size()) {
        aclsim::fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "kernel %s needs more workspace than the one it replaces",
                     launch->function->description.name.c_str());
    }
    return std::make_unique<KernelTask>(memory_, std::move(launch), std::move(workspace_));
}

std::uint32_t kept_blocks(std::uint32_t blocks) {
    return config().product->has(kHasWideLaunches) ? blocks : blocks & 0xFFFF;
}

void load_for_launch(Lock &lock, const KernelFunction &function, const Device &device) {
    if (function.binary->is_lazy) {
        function.binary->load_on(lock, device);
    }
}

bool can_launch_in_shard(const Kernels &kernels, const KernelFunction &function, const Device &device) {
    const Ref<KernelCode> code = kernels.code_for(function);
    return function.binary->is_on(device) && code && code->workspace_bytes == 0;
}

void prepare(Kernels &kernels, const Device &device, KernelLaunch &launch) {
    const KernelFunction &function = *launch.function;
    require_loaded(function, device);
    launch.code = kernels.code_for(function);
    if (!launch.code) {
        fail_without_code(function);
    }
}

void launch_kernel(Kernels &kernels, Lock &lock, ContextStream &stream, Ref<KernelLaunch> launch) {
    Memory &memory = kernels.memory;
    prepare(kernels, device_of(stream), *launch);
    note_kernel_accesses(memory);
    const KernelArguments &arguments = launch->arguments;
    if (!arguments.is_copy()) {
        note_use(memory, arguments.address(), arguments.size(), AccessMode::Read, "argsData");
    }
    const std::size_t workspace_bytes = launch->code->workspace_bytes;
    const auto submit = [&](Workspace workspace) REQUIRES(engine_lock) {
        memory.core.submit(stream, KernelTask(memory, std::move(launch), std::move(workspace)));
    };
    if (workspace_bytes == 0) {
        memory.core.admit(lock, stream);
        submit(Workspace());
    } else {
        submit_with_workspace(memory, lock, stream, workspace_bytes, submit);
    }
}

}  // namespace aclsim
