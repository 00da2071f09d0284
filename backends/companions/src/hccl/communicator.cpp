// SPDX-License-Identifier: Apache-2.0
#include "hccl/communicator.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "device_memory.h"
#include "hccl/data_type.h"
#include "hccl/workers.h"
#include "refusal.h"

using companions::refuse;

namespace hccl {
namespace {

constexpr int kUsualExecution = 1836;  // seconds, of HCCL_EXEC_TIMEOUT
constexpr int kUsualConnection = 120;  // seconds, of HCCL_CONNECT_TIMEOUT
// Bytes that the thread which begins a task sends itself: another thread would have to be woken before other ranks can
// go on. More of them would hold it up too long.
constexpr std::size_t kSentAtBegin = std::size_t{1} << 20;

constexpr const char *kOutOfMemory = "host out of RAM";  // short: needs no memory

std::atomic<NameLine> g_name_line{nullptr};

// Returns the line of the program, "train.py:12 in step", or "".
std::string present_line() {
    char text[256] = "";
    if (const NameLine name = g_name_line.load()) {
        name(text, sizeof text);
    }
    return text;
}

std::string seconds_since(Time time) {
    const auto past = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - time).count();
    char text[32];
    std::snprintf(text, sizeof text, past < 10000 ? "%.1f s" : "%.0f s", static_cast<double>(past) / 1e3);
    return text;
}

std::string devices(std::int32_t other, std::int32_t device) {
    return "of device " + std::to_string(other) + ", the communicator of device " + std::to_string(device);
}

// Tasks have streams of the present device: any other stream is refused later.
void require_present(std::int32_t device) {
    std::int32_t present = device;
    if (aclrtGetDevice(&present) == ACL_SUCCESS && present != device) {
        refuse(HCCL_E_PARA, "the stream is " + devices(present, device));
    }
}

void require_of_device(std::int32_t device, const Operand &operand) {
    const std::optional<aclrtMemLocation> place = companions::place_for_devices(operand.address);
    const bool is_of_one = place && place->type == ACL_MEM_LOCATION_TYPE_DEVICE;
    const auto its_device = is_of_one ? static_cast<std::int32_t>(place->id) : device;
    if (place && its_device == device) {
        return;
    }
    char address[2 * sizeof(void *) + 3];
    std::snprintf(address, sizeof address, "%p", operand.address);
    refuse(HCCL_E_PARA, std::string(operand.name) + ", " + address + ", is " +
                            (place ? "memory " + devices(its_device, device) : "not memory of a device"));
}

std::vector<Operand> operands_of(const std::vector<Message> &messages) {
    std::vector<Operand> operands;
    for (const Message &message : messages) {
        operands.push_back({message.data, message.is_sent ? ACLSIM_ACCESS_READ : ACLSIM_ACCESS_WRITE,
                            message.is_sent ? "sendBuf" : "recvBuf", message.signature.count,
                            width_of(static_cast<HcclDataType>(message.signature.type))});
    }
    return operands;
}

}  // namespace

void set_line_provider(NameLine provider) { g_name_line = provider; }

// A submitted call. A captured one is executed repeatedly.
struct Communicator::Operation {
    std::shared_ptr<Communicator> communicator;
    Call call;
    std::uint64_t number;
    std::string line;
    std::uint32_t executions = 0;  // begun, one after the other

    // Functions of the task (abi/aclsim.h). They have the address of a shared pointer.
    using Handle = std::shared_ptr<Operation>;
    static const Handle &from(void *data) { return *static_cast<Handle *>(data); }
    static void begin(void *data, std::uint64_t execution) { from(data)->communicator->start(from(data), execution); }
    static void cancel(void *data, std::uint64_t execution) { from(data)->communicator->cancel(execution); }
    static void describe(void *data, std::uint64_t execution, char *text, std::size_t size) {
        std::snprintf(text, size, "%s", from(data)->communicator->describe(*from(data), execution).c_str());
    }
    static void release(void *data) { delete static_cast<Handle *>(data); }
};

// State of an execution while it takes part in the operation.
struct Communicator::Work {
    Work(Network &network, const Operation &operation, std::uint32_t execution, Time deadline)
        : run(network, operation.call.signature, operation.number, execution, deadline),
          transfers(std::in_place, run) {}
    Run run;
    std::optional<Transfers> transfers;
    bool has_opened = false;
};

// An execution of an operation, until it has ended.
struct Communicator::Execution {
    std::shared_ptr<Operation> operation;
    std::unique_ptr<Work> work;  // guarded by the communicator's mutex; nullptr: it does not take part any more
};

Communicator::Communicator(std::string name, const Root &root, std::int32_t device,
                           std::optional<std::int32_t> timeout_seconds)
    : name_(std::move(name)),
      secret_(root.secret),
      origin_(root.origin),
      device_(device),
      timeout_seconds_(timeout_seconds) {}

Communicator::~Communicator() {
    network_.reset();  // its thread asks for the status
}

std::shared_ptr<Communicator> Communicator::create(const Root &root, std::uint32_t size, std::uint32_t rank,
                                                   const Settings &settings) {
    std::int32_t device = 0;
    if (aclrtGetDevice(&device) != ACL_SUCCESS) {
        refuse(HCCL_E_RUNTIME, "the thread has no device; call aclrtSetDevice first");
    }
    require_time_limit("HCCL_CONNECT_TIMEOUT");
    require_time_limit("HCCL_EXEC_TIMEOUT");
    std::vector<Peer> peers = join(root, size, rank, deadline_by("HCCL_CONNECT_TIMEOUT", kUsualConnection));
    const std::string name = settings.name.empty() ? "hccl_" + root.secret.substr(0, 12) : settings.name;
    const std::shared_ptr<Communicator> made(new Communicator(name, root, device, settings.timeout_seconds));
    made->network_ = std::make_unique<Network>(std::move(peers), rank, [self = made.get()] { return self->status(); });
    return made;
}

// --- submitting ------------------------------------------------------------------------------------------------------

// Asks for the line first: the program's runtime may take a lock.
void Communicator::submit(Call call, aclrtStream stream) {
    std::string line = present_line();
    const std::lock_guard<std::mutex> guard(submission_);
    submit_numbered(std::move(call), operations_ + 1, std::move(line), stream);
    ++operations_;
}

void Communicator::submit(std::vector<Message> messages, const char *name, aclrtStream stream) {
    std::string line = present_line();
    const std::lock_guard<std::mutex> guard(submission_);
    auto sent = sent_;
    auto received = received_;
    Call call{name, {Kind::SendRecv}, operands_of(messages), {}};
    for (Message &message : messages) {
        message.number = ++(message.is_sent ? sent : received)[message.rank];
    }
    call.steps = send_and_receive(std::move(messages));
    submit_numbered(std::move(call), 0, std::move(line), stream);
    sent_ = std::move(sent);
    received_ = std::move(received);
}

void Communicator::require_submittable(const std::vector<Message> &messages, aclrtStream stream) const {
    require_usable(operands_of(messages));
    std::int32_t id = 0;
    if (stream != nullptr && aclrtStreamGetId(stream, &id) != ACL_SUCCESS) {
        const char *const text = aclGetRecentErrMsg();
        refuse(HCCL_E_RUNTIME, text == nullptr ? "" : text);
    }
}

void Communicator::require_usable(const std::vector<Operand> &operands) const {
    if (const std::optional<Failure> failure = network_->failure()) {
        refuse(failure->code, "communicator " + name_ + " has failed before: " + failure->text);
    }
    require_present(device_);
    for (const Operand &operand : operands) {
        if (operand.count > 0) {
            require_of_device(device_, operand);
        }
    }
}

void Communicator::submit_numbered(Call call, std::uint64_t number, std::string line, aclrtStream stream) {
    require_usable(call.operands);
    std::vector<aclsimAccess> accesses;
    std::vector<std::int64_t> shapes;
    shapes.reserve(call.operands.size());
    for (const Operand &operand : call.operands) {
        if (operand.count == 0) {
            continue;
        }
        shapes.push_back(static_cast<std::int64_t>(operand.count));
        accesses.push_back({operand.address, operand.mode, static_cast<std::uint32_t>(operand.width), 1, &shapes.back(),
                            nullptr, operand.name});
    }
    aclsimOperation task{};
    const char *const name = call.name;
    auto handle = std::make_unique<Operation::Handle>(
        std::make_shared<Operation>(Operation{shared_from_this(), std::move(call), number, std::move(line)}));
    task.name = name;
    task.accesses = accesses.data();
    task.accessCount = accesses.size();
    task.userData = handle.get();
    task.begin = Operation::begin;
    task.cancel = Operation::cancel;
    task.describe = Operation::describe;
    task.release = Operation::release;
    const aclError code = aclsimSubmitOperation(stream, &task);
    if (code != ACL_SUCCESS) {
        const char *const recent = aclGetRecentErrMsg();
        const std::string text = recent == nullptr ? "" : recent;
        const std::string inner = std::string(name) + ": ";
        refuse(code == ACL_ERROR_INVALID_PARAM || code == ACL_ERROR_RT_PARAM_INVALID ? HCCL_E_PARA : HCCL_E_RUNTIME,
               text.rfind(inner, 0) == 0 ? text.substr(inner.size()) : text);
    }
    handle.release();  // NOLINT: belongs to the task
}

// The lowest rank serves, so that ranks which disagree about the order meet.
Root Communicator::root_of_part(const std::vector<std::uint32_t> &ranks, std::uint64_t id) {
    const std::uint32_t server = *std::min_element(ranks.begin(), ranks.end());
    Root root;
    try {
        HcclRootInfo info{};
        if (server == network_->rank()) {
            root = serve();
            root.store(info);
            for (const std::uint32_t rank : ranks) {
                if (rank != server) {
                    network_->post(rank, id, info.internal);
                }
            }
        } else {
            const Time deadline = deadline_by("HCCL_CONNECT_TIMEOUT", kUsualConnection);
            const std::string text = network_->await_post(server, id, deadline);
            std::snprintf(info.internal, sizeof info.internal, "%s", text.c_str());
            root = Root::load(info);
        }
    } catch (const Failure &failure) {
        release_root(root.secret);
        refuse(failure.code, failure.text);
    }
    root.origin = origin_;
    root.ranks = digest_of(list_of(ranks));
    return root;
}

// --- executing -------------------------------------------------------------------------------------------------------

void Communicator::start(const std::shared_ptr<Operation> &operation, std::uint64_t number) {
    const auto give_up = [&](aclError code, HcclResult result, const char *text) {
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            executions_.erase(number);
            ended_.notify_all();
        }
        fail_for_resources(result, text);
        aclsimEndOperation(number, code, text);
    };
    try {
        Work &work = open(operation, number);
        const Steps &steps = operation->call.steps;
        if (steps.open && steps.opening_size <= kSentAtBegin) {
            work.has_opened = true;
            steps.open(work.run, *work.transfers);
            if (!steps.finish && work.transfers->have_ended()) {
                return end(*operation, number, std::nullopt);
            }
        }
        run_on_worker([self = shared_from_this(), operation, number] { self->perform(operation, number); });
    } catch (const std::bad_alloc &) {
        give_up(ACL_ERROR_RT_MEMORY_ALLOCATION, HCCL_E_MEMORY, kOutOfMemory);
    } catch (const std::exception &) {
        give_up(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, HCCL_E_SYSCALL, "the host has no thread left");
    }
}

Communicator::Work &Communicator::open(const std::shared_ptr<Operation> &operation, std::uint64_t number) {
    const Time deadline =
        timeout_seconds_ ? (*timeout_seconds_ == 0 ? kNever : Clock::now() + std::chrono::seconds(*timeout_seconds_))
                         : deadline_by("HCCL_EXEC_TIMEOUT", kUsualExecution);
    auto work = std::make_unique<Work>(*network_, *operation, operation->executions++, deadline);
    Work &made = *work;
    const std::lock_guard<std::mutex> guard(mutex_);
    executions_.emplace(number, Execution{operation, std::move(work)});
    return made;
}

void Communicator::perform(const std::shared_ptr<Operation> &operation, std::uint64_t number) {
    Work *work = nullptr;
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        work = executions_.at(number).work.get();
    }
    std::optional<Failure> failure;
    try {
        execute(*operation, *work);
    } catch (Failure &caught) {
        failure = std::move(caught);
    } catch (const std::bad_alloc &) {
        failure = Failure{HCCL_E_MEMORY, kOutOfMemory};
        fail_for_resources(HCCL_E_MEMORY, kOutOfMemory);
    }
    end(*operation, number, failure);
}

// Blocks until this rank has done its part. Throws a Failure, of which the other ranks know.
void Communicator::execute(const Operation &operation, Work &work) {
    const Steps &steps = operation.call.steps;
    try {
        if (!work.has_opened) {
            if (const std::optional<Failure> earlier = network_->failure()) {
                throw Failure(*earlier);
            }
            if (steps.open) {
                steps.open(work.run, *work.transfers);
            }
        }
        if (steps.finish) {
            steps.finish(work.run, *work.transfers);
        } else {
            work.transfers->wait();
        }
    } catch (const Failure &failure) {
        work.transfers.reset();  // which notes the ranks that it waited for
        throw fail(operation, work.run, failure);
    }
}

void Communicator::end(const Operation &operation, std::uint64_t number, const std::optional<Failure> &failure) {
    std::unique_ptr<Work> done;
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        done = std::move(executions_.at(number).work);
    }
    done.reset();  // no thread uses the operands any more
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        executions_.erase(number);
        last_end_ = Clock::now();
        last_ = numbered(operation);
        last_place_ = place(operation);
        ended_.notify_all();
    }
    // Fails if it was cancelled, which the stream knows.
    aclsimEndOperation(number, failure ? ACL_ERROR_RT_AICORE_EXCEPTION : ACL_SUCCESS,
                       failure ? failure->text.c_str() : nullptr);
}

// Returns the failure with all that is known about it, after the other ranks have been informed.
Failure Communicator::fail(const Operation &operation, const Run &run, const Failure &failure) {
    const std::optional<Failure> earlier = network_->failure();
    if (earlier && earlier->text == failure.text) {
        const bool is_of_this = operation.number > 0 && earlier->number == operation.number;
        const char *const where = failure.code == HCCL_E_UNAVAIL ? ": "
                                  : is_of_this                   ? ": it failed on another rank: "
                                                                 : ": another operation failed: ";
        return {failure.code, heading(operation) + where + failure.text};
    }
    const bool was_cancelled = failure.code == HCCL_E_SUSPENDING;
    Failure full{was_cancelled ? HCCL_E_REMOTE : failure.code, heading(operation) + ": " + failure.text,
                 operation.number};
    if (!was_cancelled) {  // otherwise there is nothing to find out
        for (const auto &[rank, text] : network_->ask(run)) {
            full.text += "; rank " + std::to_string(rank) + " " + text;
        }
    }
    network_->fail(full, status());
    return full;
}

void Communicator::fail_for_resources(HcclResult code, const char *text) {
    try {
        network_->fail({code, text}, "");
    } catch (const std::bad_alloc &) {
        return;  // the other ranks run into their time limit
    }
}

void Communicator::cancel(std::uint64_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto found = executions_.find(number);
    if (found == executions_.end()) {
        return;
    }
    if (found->second.work != nullptr) {
        found->second.work->run.cancel();
    }
    ended_.wait(lock, [&] { return executions_.count(number) == 0; });
}

void Communicator::close() {
    network_->close({HCCL_E_UNAVAIL, "communicator " + name_ + " was destroyed"});
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [&] { return executions_.empty(); });
    release_root(secret_);
}

// --- texts -----------------------------------------------------------------------------------------------------------

std::string Communicator::numbered(const Operation &operation) {
    return operation.call.name + (operation.number > 0 ? " number " + std::to_string(operation.number) : std::string());
}

std::string Communicator::place(const Operation &operation) {
    return operation.line.empty() ? "" : ", called at " + operation.line;
}

std::string Communicator::heading(const Operation &operation) const {
    return numbered(operation) + " of communicator " + name_ + " on rank " + std::to_string(rank()) + " of " +
           std::to_string(size()) + place(operation);
}

std::string Communicator::describe(const Operation &operation, std::uint64_t number) {
    std::string text = heading(operation);
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = executions_.find(number);
    if (found != executions_.end() && found->second.work != nullptr) {
        const std::vector<std::uint32_t> ranks = found->second.work->run.awaited();
        text += ranks.empty() ? "" : ", which waits for " + list_of(ranks);
    }
    return text;
}

// Names the operations with the words that follow their numbers.
Communicator::Activity Communicator::activity(const std::string &where) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    Activity result{"", last_.empty() ? "" : last_ + where + last_place_, last_end_};
    for (const auto &[number, execution] : executions_) {
        const Operation &operation = *execution.operation;
        result.running +=
            (result.running.empty() ? "in " : " and in ") + numbered(operation) + where + place(operation);
    }
    return result;
}

// Returns what the rank does in its other communicators.
Communicator::Activity Communicator::activity_elsewhere() const {
    Activity result{};
    for_each_communicator([&](const Communicator &other) {
        if (&other == this || other.device_ != device_) {  // a thread of the process may be another rank
            return;
        }
        Activity there = other.activity(" of communicator " + other.name_);
        result.running += (result.running.empty() || there.running.empty() ? "" : " and ") + there.running;
        if (!there.last.empty() && there.last_end > result.last_end) {
            result.last = std::move(there.last);
            result.last_end = there.last_end;
        }
    });
    return result;
}

// Returns what the rank does, for a sentence that begins with "rank 2 is". A rank that does not come may wait in
// another communicator: groups that are called in another order deadlock.
std::string Communicator::status() const {
    const Activity here = activity("");
    if (!here.running.empty()) {
        return here.running;
    }
    const Activity elsewhere = activity_elsewhere();
    if (!elsewhere.running.empty()) {
        return elsewhere.running;
    }
    const bool was_here = elsewhere.last.empty() || (!here.last.empty() && here.last_end > elsewhere.last_end);
    const Activity &latest = was_here ? here : elsewhere;
    return "in no collective since " + seconds_since(latest.last_end) +
           (latest.last.empty() ? ", and was in none before" : ", when it left " + latest.last);
}

}  // namespace hccl
