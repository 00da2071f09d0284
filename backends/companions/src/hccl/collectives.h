// The algorithms of collective operations. Each blocks until this rank has done its part, and throws a Failure.
//
// Reductions add in the order of Gloo's ring: the data are cut into a chunk for each rank, and the chunk of rank r is
// x[r] + (x[r+1] + (... + x[r-1])). So results are those of PyTorch's "gloo" backend, to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hccl/hccl.h"
#include "hccl/network.h"

namespace hccl {

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

void all_reduce(Run &run, const void *from, void *to, const Reduction &reduction);
void reduce(Run &run, const void *from, void *to, const Reduction &reduction, std::uint32_t root);
// The slices are those of all ranks in `from`.
void reduce_scatter(Run &run, const void *from, const std::vector<Slice> &slices, void *to, const Reduction &reduction);
void broadcast(Run &run, void *data, std::size_t size, std::uint32_t root);
void scatter(Run &run, const void *from, void *to, std::size_t size, std::uint32_t root);
// Sends the slice of each rank to it, and puts what comes from it into the other slice.
void exchange(Run &run, const void *from, const std::vector<Slice> &sent, void *to, const std::vector<Slice> &received);
void barrier(Run &run);

// A message to or from another rank, or to this one itself.
struct Message {
    bool is_sent;
    std::uint32_t rank;
    std::uint64_t number;  // among those in this direction between the two ranks
    Signature signature;
    void *data;
    std::size_t size;
};
void send_and_receive(Run &run, const std::vector<Message> &messages);

// Returns equal slices, one after the other.
std::vector<Slice> equal_slices(std::uint32_t ranks, std::size_t size);

}  // namespace hccl
