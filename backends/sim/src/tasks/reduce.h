// SPDX-License-Identifier: Apache-2.0
// Element-wise reductions of device memory (events_streams_sync.md section 10, aclrtReduceAsync).
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/acl.h"
#include "engine/task.h"
#include "support/product.h"

namespace aclsim {

struct Reduction {
    void *destination;
    const void *source;
    std::size_t bytes;
    aclrtReduceKind kind;
    aclDataType type;

    void perform() const;
};

// The first function returns true if the runtime has a number for the type, the second if the product's device reduces
// it.
bool is_reducible(aclDataType type);
bool is_reduced_by(const Product &product, aclDataType type);

class ReduceTask final : public Task {
  public:
    explicit ReduceTask(const Reduction &reduction) : reduction_(reduction) {}
    static constexpr TaskInfo kInfo{"REDUCE", "a reduction"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &) override REQUIRES(engine_lock) { return Start::Run; }
    void run() override { reduction_.perform(); }

  private:
    Reduction reduction_;
};

}  // namespace aclsim
