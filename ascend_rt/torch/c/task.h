/* SPDX-License-Identifier: Apache-2.0 */
/* The work of an operator, as a task of a stream. */
#pragma once

#include <memory>

#include "abi/acl.h"
#include "abi/aclsim.h"
#include "adapter.h"
#include "operator.h"

namespace ascend_rt {

struct Task {
  public:
    const Operator &op;
    const std::int8_t device;
    const Stack arguments;                               // on the CPU
    const std::vector<std::vector<at::Tensor>> outputs;  // of each return that is new; on the CPU
    const std::optional<RandomState> random;
    const int threads;  // that the program has set for its thread
    bool is_captured = false;
    Task *next = nullptr;  // of those that have run

    // Several times if it is part of a graph.
    void run() const;

  private:
    Stack called(const c10::OperatorHandle &operation, bool with_outputs) const;
    bool can_write_outputs() const;
    void put_results(const Stack &results) const;
};

// Makes it a task of the device's current stream; with ASCEND_LAUNCH_BLOCKING=1 waits for it.
void submit(Operator &op, std::unique_ptr<Task> task, std::int8_t device);

// Waits for the device's current stream; an operator that has failed in it is what this raises.
void wait_for_stream(std::int8_t device);

// Calls an operator with tensors of the CPU on this thread, whatever modes the thread is in.
void call_on_cpu(const c10::OperatorHandle &called, Stack &stack);

// What the simulator calls for the kernel of any operator.
aclError run_task(const aclsimKernelBlock *block, void *unused);

}  // namespace ascend_rt
