// SPDX-License-Identifier: Apache-2.0
// Communicators: their ranks, and their operations as tasks of streams.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "hccl/collectives.h"
#include "hccl/hccl.h"
#include "hccl/network.h"
#include "hccl/rendezvous.h"

namespace hccl {

// Memory of an operation, in elements.
struct Operand {
    const void *address;
    aclsimAccessMode mode;
    const char *name;  // "sendBuf"
    std::uint64_t count;
    std::size_t width;
};

// A call of the program, before it is submitted.
struct Call {
    const char *name;  // "HcclAllReduce"
    Signature signature;
    std::vector<Operand> operands;
    Steps steps;
};

// Settings of a communicator (HcclCommConfig) that have an effect.
struct Settings {
    std::string name;                             // "": from the root information
    std::optional<std::int32_t> timeout_seconds;  // of an execution; 0: none
};

class Communicator : public std::enable_shared_from_this<Communicator> {
  public:
    // Joins the other ranks. Refuses as hccl::join() does.
    static std::shared_ptr<Communicator> create(const Root &root, std::uint32_t size, std::uint32_t rank,
                                                const Settings &settings);
    ~Communicator();

    std::uint32_t size() const { return network_->size(); }
    std::uint32_t rank() const { return network_->rank(); }
    const std::string &name() const { return name_; }
    std::int32_t device() const { return device_; }
    Origin origin() const { return origin_; }
    std::optional<Failure> failure() const { return network_->failure(); }

    // Submits the call to the stream. Refuses with the code of an earlier failure, and as aclsimSubmitOperation does.
    void submit(Call call, aclrtStream stream);
    // The same for messages between two ranks, whose numbers it sets.
    void submit(std::vector<Message> messages, const char *name, aclrtStream stream);
    // Refuses as submit() would, for messages of a group of which no part is to be sent alone.
    void require_submittable(const std::vector<Message> &messages, aclrtStream stream) const;
    // Returns the root of a communicator of those ranks of this one, in that order. Refuses.
    Root root_of_part(const std::vector<std::uint32_t> &ranks, std::uint64_t id);
    // Ends its executions, and leaves the other ranks. Tasks that begin later fail.
    void close();

  private:
    struct Operation;
    struct Work;
    struct Execution;
    // State of the rank in a communicator.
    struct Activity {
        std::string running;  // "in HcclBarrier number 2"; "": nothing
        std::string last;     // operation that ended last; "": none
        Time last_end;
    };
    Communicator(std::string name, const Root &root, std::int32_t device, std::optional<std::int32_t> timeout_seconds);

    void require_usable(const std::vector<Operand> &operands) const;
    void submit_numbered(Call call, std::uint64_t number, std::string line, aclrtStream stream);
    void start(const std::shared_ptr<Operation> &operation, std::uint64_t number);
    void perform(const std::shared_ptr<Operation> &operation, std::uint64_t number);
    Work &open(const std::shared_ptr<Operation> &operation, std::uint64_t number);
    void execute(const Operation &operation, Work &work);
    void end(const Operation &operation, std::uint64_t number, const std::optional<Failure> &failure);
    Failure fail(const Operation &operation, const Run &run, const Failure &failure);
    void fail_for_resources(HcclResult code, const char *text);
    void cancel(std::uint64_t number);
    std::string describe(const Operation &operation, std::uint64_t number);
    std::string heading(const Operation &operation) const;
    static std::string numbered(const Operation &operation);
    static std::string place(const Operation &operation);
    Activity activity(const std::string &where) const;
    Activity activity_elsewhere() const;
    std::string status() const;

    const std::string name_;
    const std::string secret_;  // taken from its root
    const Origin origin_;       // likewise
    const std::int32_t device_;
    const std::optional<std::int32_t> timeout_seconds_;
    std::unique_ptr<Network> network_;
    std::mutex submission_;  // operations have their numbers in the order of their submission
    std::uint64_t operations_ = 0;
    std::map<std::uint32_t, std::uint64_t> sent_;      // messages to a rank
    std::map<std::uint32_t, std::uint64_t> received_;  // messages from a rank
    mutable std::mutex mutex_;
    std::condition_variable ended_;
    std::map<std::uint64_t, Execution> executions_;  // under way
    Time last_end_ = Clock::now();
    std::string last_, last_place_;  // operation that ended then; "": none
};

// Calls the function for all live communicators, which stay alive during the call.
void for_each_communicator(const std::function<void(const Communicator &)> &function);

// Function of the program's runtime that names the line from which the present call comes.
using NameLine = void (*)(char *text, std::size_t size);
void set_line_provider(NameLine provider);

}  // namespace hccl
