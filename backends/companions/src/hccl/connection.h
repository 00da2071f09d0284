// SPDX-License-Identifier: Apache-2.0
// State of the connections of a network, for its own files.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "hccl/deposits.h"
#include "hccl/network.h"

namespace hccl {

constexpr std::size_t kSentAtOnce = std::size_t{32} << 10;   // bytes of a message that is not offered first
constexpr std::size_t kDeposited = std::size_t{1} << 20;     // the same, to a rank that shares memory
constexpr std::size_t kReadAtOnce = std::size_t{4} << 20;    // bytes between two looks at other news
constexpr std::size_t kLongestText = std::size_t{16} << 10;  // bytes
constexpr std::chrono::seconds kForAnswers{1};
constexpr std::chrono::seconds kForReason{3};  // why the memory of a rank is gone
// From the destruction of a communicator to the failure of ranks that wait for that one: a process that raises an
// exception destroys it a second before it ends, and whatever starts the ranks takes the first that ends for the cause.
constexpr std::chrono::seconds kForEnd{3};

enum class Type : std::uint32_t {
    Message,   // followed by the bytes
    Deposit,   // whose bytes lie in memory that the two ranks share
    Outbox,    // map this memory for deposits
    Mapped,    // done; not done, if the code is not 0
    Offer,     // of bytes in the sender's memory
    Wanted,    // send the bytes of that offer
    Taken,     // the bytes of that offer have been read
    Failed,    // followed by the reason
    Question,  // as to what the rank does
    Answer,    // followed by a text; to question 0: unasked, before the rank fails
    Post,      // followed by a text
    Bye,       // the communicator is destroyed in an orderly way
};

struct Frame {
    Type type;
    std::int32_t code;
    Key key;
    Signature signature;
    std::uint64_t size;     // bytes that follow, or are offered
    std::uint64_t address;  // of what is offered; place of a deposit; descriptor of an outbox
    std::uint64_t offer;    // number, from 1; 0: none; slot of a deposit; mark of an outbox
};

struct Sending {
    std::uint32_t rank;
    const void *data;
    std::size_t size;
    std::uint64_t number;
    bool is_done;
};

struct Receiving {
    std::uint32_t rank;
    Key key;
    Signature signature;
    void *data;
    std::size_t size;
    std::uint64_t offer;    // to be read by this process
    std::uint64_t address;  // there
    bool is_done;
    Run *run;
    const char **in_place;           // where to note the place of the bytes, if they need not be copied; nullptr: copy
    std::optional<Deposit> deposit;  // that was not copied
};

// Message that came before it was expected.
struct Network::Arrival {
    Frame frame;
    std::vector<char> payload;
    bool is_whole;
    Receiving *awaited_by;
};

struct Network::Other {
    struct Out {
        std::vector<char> own;
        const char *data;
        std::size_t size;
        std::uint64_t sending;  // ends with it; 0: none
        bool is_borrowed;       // reads the memory of that sending
    };
    Other(std::uint32_t its_rank, Peer its_peer) : rank(its_rank), peer(std::move(its_peer)) {}

    Failure loss() const { return {HCCL_E_REMOTE, "rank " + std::to_string(rank) + " " + lost}; }

    const std::uint32_t rank;
    const Peer peer;
    bool is_readable = peer.process != 0;
    bool shares_memory = peer.process != 0;  // false: it cannot map an outbox
    std::unique_ptr<Outbox> outbox;          // created with the first message for it
    bool is_outbox_mapped = false;
    std::unique_ptr<Inbox> inbox;
    std::string lost;           // how the connection was lost; "" while it is there
    Time given_up_at = kNever;  // when those that wait for the rank fail
    std::string at_failure;     // what the rank was doing when it failed; "" while it has not
    std::deque<Out> out;
    // State of reading: a frame, and then its payload.
    Frame frame{};
    std::size_t frame_bytes = 0;
    std::size_t payload_left = 0;
    char *payload_to = nullptr;  // nullptr: the receiver has given up
    std::vector<char> text;
    Receiving *into = nullptr;
    Arrival *arriving = nullptr;
};

}  // namespace hccl
