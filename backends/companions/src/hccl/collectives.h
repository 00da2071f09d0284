// SPDX-License-Identifier: Apache-2.0
// The algorithms of collective operations, in two steps.
//
// Reductions add in the order of Gloo's ring: the data are cut into a chunk for each rank, and the chunk of rank r is
// x[r] + (x[r+1] + (... + x[r-1])). So results are those of PyTorch's "gloo" backend, to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "hccl/hccl.h"
#include "hccl/network.h"

namespace hccl {

struct Steps {
    // Begins transfers for which this rank needs to know nothing from others. Does not block. nullptr: there are none.
    std::function<void(Run &, Transfers &)> open;
    std::size_t opening_size;  // bytes that it sends
    // Does the rest, with the same transfers. Blocks until all is done, and throws a Failure. nullptr: waits for them.
    std::function<void(Run &, Transfers &)> finish;
};

// Part of a buffer, in bytes.
struct Slice {
    std::size_t offset;
    std::size_t size;
};

struct Reduction {
    HcclDataType type;
    HcclReduceOp op;
    std::size_t count;  // elements
};

Steps all_reduce(const void *from, void *to, const Reduction &reduction);
Steps reduce(const void *from, void *to, const Reduction &reduction, std::uint32_t root);
// The slices are those of all ranks in `from`.
Steps reduce_scatter(const void *from, std::vector<Slice> slices, void *to, const Reduction &reduction);
Steps broadcast(void *data, std::size_t size, std::uint32_t root);
Steps scatter(const void *from, void *to, std::size_t size, std::uint32_t root);
// Sends the slice of each rank to it, and puts what comes from it into the other slice.
Steps exchange(const void *from, std::vector<Slice> sent, void *to, std::vector<Slice> received);
Steps barrier(std::uint32_t ranks);

// A message to or from another rank, or to this one itself.
struct Message {
    bool is_sent;
    std::uint32_t rank;
    std::uint64_t number;  // among those in this direction between the two ranks
    Signature signature;
    void *data;
    std::size_t size;
};
Steps send_and_receive(std::vector<Message> messages);

// Returns equal slices, one after the other.
std::size_t total_of(const std::vector<Slice> &slices);
std::vector<Slice> equal_slices(std::uint32_t ranks, std::size_t size);

}  // namespace hccl
