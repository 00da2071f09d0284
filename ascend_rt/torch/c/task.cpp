/* SPDX-License-Identifier: Apache-2.0 */
#include "task.h"

#include <ATen/Parallel.h>
#include <ATen/core/DimVector.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "checks.h"
#include "failure.h"
#include "first_made.h"
#include "layouts.h"
#include "random.h"
#include "tensors.h"
#include "waits.h"

namespace ascend_rt {
namespace {

// A task of a graph is needed until the graph is destroyed, and its executions are over.
void keep(aclmdlRI graph, std::unique_ptr<Task> task) {
    const auto destroy = [](void *kept) { delete static_cast<Task *>(kept); };
    require(aclsimReleaseWithGraph(graph, destroy, task.get()), "aclsimReleaseWithGraph", task->op.name);
    task.release();  // NOLINT: the graph has it
}

// Tasks that have run. The submitters of the next ones delete them: memory that another thread has to free costs that
// thread, and the next allocation, more than the rest of a small operator.
class Finished {
  public:
    void add(Task *task) {
        task->next = last_.load(std::memory_order_relaxed);
        while (!last_.compare_exchange_weak(task->next, task, std::memory_order_release, std::memory_order_relaxed)) {
        }
    }
    // Deletes a few: the allocator of the host has the memory at hand for the next task, as it has not if many tasks
    // are deleted at once.
    void delete_some() {
        constexpr int kSome = 3;  // more than are submitted, so that they get fewer
        if (ours.first == nullptr) {
            ours.first = last_.exchange(nullptr, std::memory_order_acquire);
        }
        for (int i = 0; i < kSome && ours.first != nullptr; ++i) {
            const std::unique_ptr<Task> owned(ours.first);
            ours.first = owned->next;
        }
    }

  private:
    // Tasks that the calling thread deletes next.
    struct Share {
        Task *first = nullptr;
        ~Share() {
            while (first != nullptr) {
                const std::unique_ptr<Task> owned(first);
                first = owned->next;
            }
        }
    };
    static thread_local Share ours;

    std::atomic<Task *> last_{nullptr};
};

thread_local Finished::Share Finished::ours;

Finished finished;

// Some kernels resize the output that they are given here, which the program did not ask for: torch's warning is for
// programs that do.
class WithoutResizing final : public c10::WarningHandler {
  public:
    void process(const c10::Warning &warning) override {
        if (warning.msg().find("was resized") == std::string::npos) {
            others_->process(warning);
        }
    }

  private:
    c10::WarningHandler *others_ = c10::WarningUtils::get_warning_handler();
};

bool is_blocking() {
    static constinit FirstMade<bool> answer;
    return answer.get([] {
        const char *given = std::getenv("ASCEND_LAUNCH_BLOCKING");
        return given != nullptr && std::strcmp(given, "1") == 0;
    });
}

// Also a graph whose task group the stream updates.
aclmdlRI captured_graph(aclrtStream stream, const std::string &name) {
    aclmdlRI graph = nullptr;
    require(aclsimGetGraph(stream, &graph), "aclsimGetGraph", name);
    return graph;
}

void put_aside(Task *task) {
    if (!task->is_captured) {
        finished.add(task);
    }
}

std::string described(const at::Tensor &tensor) {
    return tensor.defined() ? c10::str(tensor.scalar_type(), tensor.sizes()) : "nothing";
}

// Memory accesses of a task, declared to the checks of the simulator (aclsimDeclareAccesses).
class Accesses {
  public:
    explicit Accesses(const Task &task) {
        list_.reserve(task.arguments.size() + task.outputs.size());
        for (std::size_t i = 0; i < task.arguments.size(); ++i) {
            add(task.arguments[i], mode_of(task, i));
        }
        for (const auto &tensors : task.outputs) {
            for (const at::Tensor &tensor : tensors) {
                add(tensor, ACLSIM_ACCESS_WRITE);
            }
        }
        if (task.random && task.random->replayed_seed != nullptr) {
            add_number(task.random->replayed_seed);
            add_number(task.random->replayed_offset);
        }
    }
    // Declares nothing if the layout of a tensor is not known: then the accesses are unknown.
    void declare(const std::string &name) const {
        if (are_known_) {
            require(aclsimDeclareAccesses(list_.data(), list_.size()), "aclsimDeclareAccesses", name);
        }
    }

  private:
    static aclsimAccessMode mode_of(const Task &task, std::size_t argument) {
        const Operator &op = task.op;
        const bool is_written = std::find(op.written.begin(), op.written.end(), argument) != op.written.end() ||
                                op.updates_statistic(argument, task.arguments);
        return !is_written                                ? ACLSIM_ACCESS_READ
               : op.schema.arguments()[argument].is_out() ? ACLSIM_ACCESS_WRITE
                                                          : ACLSIM_ACCESS_READ_WRITE;
    }
    void add(const IValue &value, aclsimAccessMode mode) {
        replace_tensors(value, [&](const at::Tensor &tensor) {
            add(tensor, mode);
            return tensor;
        });
    }
    void add(const at::Tensor &tensor, aclsimAccessMode mode) {
        if (!tensor.defined() || !is_of_device(tensor)) {
            return;
        }
        if (!is_plain(tensor)) {
            for (const at::Tensor &part : dense_tensors_of(tensor)) {
                add(part, mode);
            }
            return;
        }
        auto &shape = shapes_.emplace_back();
        auto &strides = strides_.emplace_back();
        if (tensor.layout() != at::kStrided || !merge_dimensions(tensor, shape, strides)) {
            are_known_ = false;
            return;
        }
        const aclsimAccess access{tensor.const_data_ptr(),
                                  mode,
                                  static_cast<std::uint32_t>(tensor.itemsize()),
                                  static_cast<std::uint32_t>(shape.size()),
                                  shape.data(),
                                  strides.data(),
                                  name_of(tensor)};
        if (std::none_of(list_.begin(), list_.end(), [&](const aclsimAccess &it) { return are_equal(it, access); })) {
            list_.push_back(access);  // once for x + x
        }
    }
    static bool are_equal(const aclsimAccess &one, const aclsimAccess &other) {
        return one.address == other.address && one.mode == other.mode && one.name == other.name &&
               std::equal(one.shape, one.shape + one.rank, other.shape, other.shape + other.rank) &&
               std::equal(one.strides, one.strides + one.rank, other.strides, other.strides + other.rank);
    }
    // Leaves out dimensions of one element, and makes one of two if the first continues the second. Returns whether an
    // access can have those that remain.
    static bool merge_dimensions(const at::Tensor &tensor, at::DimVector &shape, at::DimVector &strides) {
        constexpr std::size_t kHighestRank = 16;
        for (std::int64_t i = 0; i < tensor.dim(); ++i) {
            const std::int64_t size = tensor.size(i);
            const std::int64_t stride = tensor.stride(i) * static_cast<std::int64_t>(tensor.itemsize());
            if (size == 1) {
                continue;
            }
            if (!shape.empty() && strides.back() == stride * size) {
                shape.back() *= size;
                strides.back() = stride;
            } else {
                shape.push_back(size);
                strides.push_back(stride);
            }
        }
        return shape.size() <= kHighestRank;
    }
    void add_number(const std::int64_t *number) {
        list_.push_back({number, ACLSIM_ACCESS_READ, sizeof *number, 0, nullptr, nullptr, nullptr});
    }

    // A copy of a tensor of the CPU, which only the task has, can grow.
    static bool is_of_device(const at::Tensor &tensor) {
        return !tensor.has_storage() || !tensor.storage().resizable();
    }

    bool are_known_ = true;
    std::vector<aclsimAccess> list_;
    std::deque<at::DimVector> shapes_, strides_;  // list_ points into their elements
};

// A result replaces an output; its type and size must be those of the meta kernel, or it is an error.
void put(const Operator &op, const at::Tensor &result, const at::Tensor &output) {
    if (!result.defined() && !output.defined()) {
        return;
    }
    TORCH_CHECK(result.defined() && output.defined() && result.sizes() == output.sizes() &&
                    result.scalar_type() == output.scalar_type(),
                op.name, ": the CPU's result is ", described(result), ", but its meta kernel has announced ",
                described(output));
    Stack copy{output, result, false};
    static constinit FirstMade<c10::OperatorHandle> copied;
    call_on_cpu(copied.get([] { return c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", ""); }), copy);
}

// Checks whether a call left the sizes of the tensors that it writes. They are aliases: what a kernel does to an
// alias's size does not reach the tensor of the device, whose content would be left undefined.
class SizesOfWritten {
  public:
    SizesOfWritten(const Operator &op, const Stack &arguments) : op_(op) {
        for (const std::size_t i : op.written) {
            if (arguments[i].isTensor() && arguments[i].toTensor().defined() && is_plain(arguments[i].toTensor())) {
                before_.emplace_back(arguments[i].toTensor(), arguments[i].toTensor().sizes());
            }
        }
    }
    void check() const {
        for (const auto &[tensor, sizes] : before_) {
            TORCH_CHECK(tensor.sizes() == c10::IntArrayRef(sizes), op_.name, ": the CPU gives an output the size ",
                        tensor.sizes(), ", but its meta kernel has announced ", c10::IntArrayRef(sizes));
        }
    }

  private:
    const Operator &op_;
    c10::SmallVector<std::pair<at::Tensor, at::DimVector>, 2> before_;
};

}  // namespace

void call_on_cpu(const c10::OperatorHandle &called, Stack &stack) {
    const c10::impl::ForceDispatchKeyGuard below_autograd(
        c10::DispatchKeySet(c10::DispatchKey::BackendSelect),
        c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset);
    called.callBoxed(stack);
}

void Task::run() const {
    // The host's profile has the operator where it was submitted. The guard costs as much as a small operator.
    std::optional<at::RecordFunctionGuard> unrecorded;
    if (at::hasCallbacks()) {
        unrecorded.emplace(false);
    }
    if (at::get_num_threads() != threads) {
        at::set_num_threads(threads);  // OpenMP counts the threads of each calling thread
    }
    answer != nullptr ? give_answer() : fill_outputs();
}

void Task::give_answer() const {
    try {
        Stack stack = given();
        call_on_cpu(op.handle, stack);
        answer->results = std::move(stack);
    } catch (...) {
        answer->error = std::current_exception();
    }
}

void Task::fill_outputs() const {
    if (can_write_outputs()) {
        try {
            WithoutResizing handler;
            const c10::WarningUtils::WarningHandlerGuard guard(&handler);
            called(*op.out, true);
            return;
        } catch (const std::exception &) {
            // Some kernels use their output as scratch memory of another size. The operator itself decides.
        }
    }
    put_results(called(op.handle, false));
    if (can_write_outputs()) {
        op.is_out_usable = false;
    }
}

std::string Task::origin() const {
    std::string tensors;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string text;
        replace_tensors(arguments[i], [&](const at::Tensor &tensor) {
            text += (text.empty() ? " " : ", ") + type_and_sizes(tensor);
            return tensor;
        });
        if (!text.empty()) {
            tensors += (tensors.empty() ? "" : "; ") + op.schema.arguments()[i].name() + text;
        }
    }
    const std::string line = line_of(place);
    return (tensors.empty() ? "" : "\n  tensors: " + tensors) +
           (line.empty() ? ""
                         : std::string(place.is_forward ? "\n  gradient of the call at " : "\n  called at ") + line);
}

std::uint64_t Task::bytes() const {
    std::uint64_t sum = 0;
    const auto add = [&](const at::Tensor &tensor) {
        // The memory of an expanded tensor, without the repetitions. Sparse tensors have parts instead of memory.
        sum += tensor.defined() && is_plain(tensor) ? std::min(tensor.nbytes(), tensor.storage().nbytes()) : 0;
        return tensor;
    };
    for (const IValue &argument : arguments) {
        replace_tensors(argument, add);
    }
    for (const auto &tensors : outputs) {
        std::for_each(tensors.begin(), tensors.end(), add);
    }
    return sum;
}

Stack Task::given() const {
    Stack stack = arguments;
    if (random) {
        stack[*op.generator] = IValue(generator_of(*random));
    }
    return stack;
}

Stack Task::called(const c10::OperatorHandle &operation, bool with_outputs) const {
    Stack stack = given();
    // A kernel that writes several outputs returns references to them, which older releases of PyTorch read after they
    // have dropped the stack's.
    c10::SmallVector<at::Tensor, 2> kept;
    if (with_outputs) {
        for (const auto &tensors : outputs) {
            // Another object for the same memory: a kernel that fails to resize it leaves it with another size.
            kept.emplace_back(
                tensors.at(0).unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), true));
            stack.emplace_back(kept.back());
        }
    }
    const SizesOfWritten written(op, stack);
    call_on_cpu(operation, stack);
    written.check();
    for (std::size_t i = 0; with_outputs && i < outputs.size(); ++i) {
        TORCH_CHECK(stack[i].toTensor().sizes() == outputs[i].at(0).sizes(), op.name, ": another size than announced");
    }
    return stack;
}

bool Task::can_write_outputs() const {
    if (!op.out || !op.is_out_usable) {
        return false;
    }
    for (const auto &tensors : outputs) {
        if (!tensors.at(0).defined()) {
            return false;
        }
    }
    return true;
}

void Task::put_results(const Stack &results) const {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (op.returns[i] != kNew) {
            continue;
        }
        if (!results[i].isTensorList()) {
            put(op, results[i].toTensor(), outputs[i].at(0));
            continue;
        }
        const std::vector<at::Tensor> tensors = results[i].toTensorVector();
        TORCH_CHECK(tensors.size() == outputs[i].size(), op.name, ": the CPU returns another number of tensors");
        for (std::size_t j = 0; j < tensors.size(); ++j) {
            put(op, tensors[j], outputs[i][j]);
        }
    }
}

bool is_captured(std::int8_t device, const std::string &name) {
    return captured_graph(current_stream(device), name) != nullptr;
}

void submit(Operator &op, std::unique_ptr<Task> task, std::int8_t device) {
    finished.delete_some();
    const aclrtStream stream = current_stream(device);
    const aclrtFuncHandle kernel = op.kernel(device);
    Task *argument = task.get();
    const aclmdlRI graph = captured_graph(stream, op.name);
    if (graph != nullptr) {
        task->is_captured = true;
        keep(graph, std::move(task));
    }
    if (aclsimWantsAccesses() != 0) {
        Accesses(*argument).declare(op.name);
    }
    require(aclrtLaunchKernelWithHostArgs(kernel, 1, stream, nullptr, &argument, sizeof argument, nullptr, 0),
            "aclrtLaunchKernelWithHostArgs", op.name);
    task.release();  // NOLINT: it is deleted after it has run, or with the graph
    if (is_blocking() && graph == nullptr) {
        wait_for_stream(device, op.name);
    }
}

Stack submit_and_wait(Operator &op, std::unique_ptr<Task> task, std::int8_t device) {
    const std::shared_ptr<Answer> answer = task->answer;
    if (!is_captured(device, op.name)) {
        try {
            submit(op, std::move(task), device);
        } catch (const std::exception &error) {
            raise_cause(device, op.name, error);
            throw;
        }
    }
    wait_for_stream(device, op.name);
    if (answer->error) {
        std::rethrow_exception(answer->error);
    }
    return std::move(answer->results);
}

void wait_for_stream(std::int8_t device, const std::string &name) {
    wait_interruptibly(device);
    try {
        synchronize(device);
    } catch (const std::exception &error) {
        raise_cause(device, name, error);
        throw;
    }
}

void raise_cause(std::int8_t device, const std::string &name, const std::exception &error) {
    raise_failure(device);
    const auto *of_torch = dynamic_cast<const c10::Error *>(&error);
    TORCH_CHECK(!is_captured(device, name), name, " cannot be captured, because the host has to wait for it\n",
                of_torch != nullptr ? of_torch->what_without_backtrace() : error.what());
}

aclError run_task(const aclsimKernelBlock *block, void *) {
    Task *task = nullptr;
    std::memcpy(&task, block->arguments, sizeof task);
    if (block->bytes != nullptr) {
        *block->bytes = task->bytes();
    }
    std::string text;
    try {
        task->run();
        put_aside(task);
        return ACL_SUCCESS;
    } catch (const c10::Error &error) {
        text = error.what_without_backtrace();
    } catch (const std::exception &error) {
        text = error.what();
    }
    text = task->op.name + " failed on npu:" + std::to_string(task->device) + ": " + text + task->origin();
    note_failure(task->device, text);
    put_aside(task);
    std::strncpy(block->text, text.c_str(), block->textSize - 1);
    return ACL_ERROR_RT_AICORE_EXCEPTION;
}

}  // namespace ascend_rt
