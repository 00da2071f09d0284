// SPDX-License-Identifier: Apache-2.0
// Operations that run outside the engine, in threads of a companion library, and have a place in a stream. They occupy
// no thread of the engine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "engine/facts.h"
#include "engine/lock.h"

namespace aclsim {

class Memory;
class Stream;
struct Operation;

// Executions of operations that have begun. Requires the engine lock.
class Operations {
  public:
    explicit Operations(Memory &memory) : memory_(memory) {}
    // Submits to a stream that has admitted a task. Copies what the operation points to, except the data of the
    // program.
    void submit(Stream &stream, const aclsimOperation &operation, const std::vector<Access> &accesses)
        REQUIRES(engine_lock);
    // Ends the task of the execution. Fails with ACL_ERROR_RT_INVALID_HANDLE if it has ended or was cancelled.
    void end(std::uint64_t execution, aclError result, const char *text) REQUIRES(engine_lock);

  private:
    friend class OperationTask;
    void note_begun() REQUIRES(engine_lock);

    Memory &memory_;
    std::map<std::uint64_t, Operation *> begun_ GUARDED_BY(engine_lock);  // by number of the execution
    std::uint64_t executions_ GUARDED_BY(engine_lock) = 0;                // so far
};

}  // namespace aclsim
