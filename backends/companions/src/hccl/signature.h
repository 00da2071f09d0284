// SPDX-License-Identifier: Apache-2.0
// Identity of operations and of the messages between their ranks.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

namespace hccl {

enum class Kind : std::uint8_t {
    AllReduce,
    Reduce,
    ReduceScatter,
    ReduceScatterV,
    Broadcast,
    Scatter,
    AllGather,
    AllGatherV,
    AlltoAll,
    AlltoAllV,
    AlltoAllVC,
    Barrier,
    SendRecv,  // between two ranks
};
const char *name_of(Kind kind);  // "HcclAllReduce"

// Properties of an operation on which all ranks must agree.
struct Signature {
    Kind kind{};
    std::uint8_t type = 0;
    std::uint8_t op = 0;
    std::uint8_t padding = 0;
    std::uint32_t root = 0;
    std::uint64_t count = 0;

    bool operator==(const Signature &other) const {
        return kind == other.kind && type == other.type && op == other.op && root == other.root && count == other.count;
    }
};
std::string text_of(const Signature &signature);      // "HcclAllReduce, sum of 8 float32"
std::string elements_of(const Signature &signature);  // "8 float32"

// Identifies a message between two ranks.
struct Key {
    std::uint64_t number;     // counts the communicator's operations; for SendRecv, messages between the two
    std::uint32_t execution;  // how often the task of the operation has run: replays of a graph
    std::uint16_t step;       // within the operation
    std::uint16_t is_direct;  // 1: SendRecv

    bool operator<(const Key &other) const {
        return std::tie(number, execution, step, is_direct) <
               std::tie(other.number, other.execution, other.step, other.is_direct);
    }
};

}  // namespace hccl
