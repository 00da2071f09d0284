/* SPDX-License-Identifier: Apache-2.0 */
/* The work of an operator, as a task of a stream. */
#pragma once

#include <c10/util/SmallVector.h>

#include <exception>
#include <memory>

#include "abi/acl.h"
#include "abi/aclsim.h"
#include "adapter.h"
#include "operator.h"
#include "places.h"

namespace ascend_rt {

// Outcome of an operator whose call waits for it.
struct Answer {
    Stack results;
    std::exception_ptr error;
};

// The tensors of each return that is new, on the CPU.
using Outputs = c10::SmallVector<c10::SmallVector<at::Tensor, 1>, 2>;

struct Task {
  public:
    const Operator &op;
    const std::int8_t device;
    const Stack arguments;  // on the CPU
    const Outputs outputs;
    const std::optional<RandomState> random;
    const int threads;                               // set by the program for its thread
    const Place place;                               // of the call
    const std::shared_ptr<Answer> answer = nullptr;  // of a call that waits; such a task has no outputs
    bool is_captured = false;
    Task *next = nullptr;  // in the list of tasks that have run

    // Several times if it is part of a graph.
    void run() const;
    // Describes the arguments, and the place of the call in the program.
    std::string origin() const;
    // Size of the tensors that it takes and returns.
    std::uint64_t bytes() const;

  private:
    void give_answer() const;
    void fill_outputs() const;
    Stack given() const;
    Stack called(const c10::OperatorHandle &operation, bool with_outputs) const;
    bool can_write_outputs() const;
    void put_results(const Stack &results) const;
};

// Returns whether operators in the device's current stream are captured.
bool is_captured(std::int8_t device, const std::string &name);

// Makes it a task of the device's current stream; with ASCEND_LAUNCH_BLOCKING=1 waits for it.
void submit(Operator &op, std::unique_ptr<Task> task, std::int8_t device);

// Makes it a task of the device's current stream, waits for the stream, and returns the operator's results, which are
// on the CPU. An exception of the operator is an error of the call, and the device does not fail. A capture does not
// allow it.
Stack submit_and_wait(Operator &op, std::unique_ptr<Task> task, std::int8_t device);

// Waits for the device's current stream, because that operator needs it; one that has failed in the stream is what this
// raises. A capture does not allow it.
void wait_for_stream(std::int8_t device, const std::string &name);

// Raises what is the cause of an error of that operator, if it is a failure before or a capture; in a handler.
void raise_cause(std::int8_t device, const std::string &name, const std::exception &error);

// Calls an operator with tensors of the CPU on this thread, whatever modes the thread is in.
void call_on_cpu(const c10::OperatorHandle &called, Stack &stack);

// Called by the simulator for the kernel of any operator.
aclError run_task(const aclsimKernelBlock *block, void *unused);

}  // namespace ascend_rt
