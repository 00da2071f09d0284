// SPDX-License-Identifier: Apache-2.0
// The connections of a communicator, and the transfers between its ranks.
//
// Small messages are sent at once, and medium ones left in memory that is shared with a rank on the same host. Others
// are offered first: a rank on the same host reads them from the sender's memory, any other asks for them. Everything
// that a rank sends for an operation carries what all ranks must agree on.
//
// A thread of the network reads from all connections. While operations wait, the thread of one of them does so instead,
// which saves waking two threads for each message.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hccl/hccl.h"
#include "hccl/rendezvous.h"
#include "hccl/signature.h"
#include "hccl/socket.h"

struct pollfd;

namespace hccl {

struct Failure {
    HcclResult code;
    std::string text;
    std::uint64_t number = 0;  // number of the operation, which all ranks count; 0: none, or a message
};

struct Frame;
class Network;

// An operation that runs on this rank.
class Run {
  public:
    Run(Network &network, const Signature &signature, std::uint64_t number, std::uint32_t execution, Time deadline);
    ~Run();
    Run(const Run &) = delete;
    Run &operator=(const Run &) = delete;

    // Ends it: its next wait throws. May be called on any thread.
    void cancel();
    // Returns the ranks for which it waits now.
    std::vector<std::uint32_t> awaited() const;

    Network &network;
    const Signature signature;
    const std::uint64_t number;
    const std::uint32_t execution;
    const Time deadline;

  private:
    friend class Network;
    friend class Transfers;
    // Returns the ranks that explain why it failed: one that does something else, or the last that it waited for.
    std::vector<std::uint32_t> concerned() const;

    std::condition_variable changed_;
    // Guarded by the network's mutex.
    bool is_cancelled_ = false;
    bool is_waiting_ = false;
    std::vector<std::uint32_t> awaited_;
    std::vector<std::uint32_t> last_awaited_;                            // when it failed
    std::optional<std::pair<std::uint32_t, std::string>> disagreement_;  // rank, and what it does instead
};

struct Sending;
struct Receiving;

// Messages of a run that are under way at the same time. All have ended or were given up when it is destroyed: no
// thread of this process uses the memory afterwards.
class Transfers {
  public:
    explicit Transfers(Run &run);
    ~Transfers();
    Transfers(const Transfers &) = delete;
    Transfers &operator=(const Transfers &) = delete;

    // The two ends of a message name the same step, and for SendRecv the same number. A message to this rank itself is
    // refused by an assertion: copy it.
    void send(std::uint32_t rank, std::uint16_t step, const void *data, std::size_t size);
    void receive(std::uint32_t rank, std::uint16_t step, void *data, std::size_t size);
    // The same, but the bytes may stay in memory that the sender shares: `place`, which points to the data at first,
    // points there in the end, until the transfers are destroyed.
    void receive_in_place(std::uint32_t rank, std::uint16_t step, const char *&place, void *data, std::size_t size);
    void send_direct(std::uint32_t rank, std::uint64_t number, const Signature &signature, const void *data,
                     std::size_t size);
    void receive_direct(std::uint32_t rank, std::uint64_t number, const Signature &signature, void *data,
                        std::size_t size);
    // Blocks until all have ended. Throws a Failure.
    void wait();
    // Returns true if all have ended. Reads what has come, unless another thread does.
    bool have_ended();

  private:
    void send(std::uint32_t rank, const Key &key, const Signature &signature, const void *data, std::size_t size);
    void receive(std::uint32_t rank, const Key &key, const Signature &signature, void *data, std::size_t size,
                 const char **in_place = nullptr);
    // The following functions require the network's mutex.
    Sending &begin_sending(std::uint32_t rank, const void *data, std::size_t size);
    // Lets the transfers last until the kernel has what was queued last for the rank: the end of the communicator would
    // throw it away, and that rank would fail after this one has succeeded.
    void await_kernel(std::uint32_t rank);
    void note_awaited();
    bool read_next(std::unique_lock<std::mutex> &lock);

    Run &run_;
    std::deque<Sending> sendings_;
    std::deque<Receiving> receivings_;
};

class Network {
  public:
    // Calls `status` on another thread to answer ranks that ask what this one does.
    Network(std::vector<Peer> peers, std::uint32_t rank, std::function<std::string()> status);
    ~Network();

    std::uint32_t size() const { return static_cast<std::uint32_t>(peers_.size()); }
    std::uint32_t rank() const { return rank_; }

    // Fails all runs of all ranks, present and future, and lets them know what this rank was doing. The first failure
    // counts.
    void fail(const Failure &failure, const std::string &status);
    std::optional<Failure> failure() const;
    // Returns what the ranks that explain the failure of a run say about themselves ("is in ..."), or that they do not
    // answer in time. A rank that has failed too may have ended since: what it was doing then is its answer.
    std::map<std::uint32_t, std::string> ask(const Run &run);
    // Sends a text to another rank, and waits for one, which it sends under the same number. Throws a Failure.
    void post(std::uint32_t rank, std::uint64_t number, const std::string &text);
    std::string await_post(std::uint32_t rank, std::uint64_t number, Time deadline);
    // Fails the runs of this rank, and disconnects. Called once.
    void close(const Failure &failure);

  private:
    friend class Run;
    friend class Transfers;
    struct Other;
    struct Arrival;
    using Place = std::pair<std::uint32_t, Key>;  // sender and message

    // Rank that has asked, and its number of the question.
    struct Question {
        std::uint32_t rank;
        std::uint64_t number;
    };

    // Connections and their descriptors, while a thread polls them.
    struct Polled;

    void serve();
    void await_turn(std::unique_lock<std::mutex> &lock);
    void answer(const std::vector<Question> &questions);
    // The following functions require the mutex.
    bool lead(const Run &run);
    void stop_leading(const Run &run);
    void find_leader();
    void wait_as_leader(std::unique_lock<std::mutex> &lock, Time deadline);
    bool prepare(Polled &polled);
    void look(Polled &polled, std::vector<Question> &questions);
    void queue(Other &to, const Frame &frame, const void *data, std::size_t size, const Sending *lender = nullptr);
    bool deposit(Other &to, Frame frame, const void *data);
    void flush(Other &to);
    void give_up(const Sending &sending);
    void fail_for_memory();
    void read(Other &from, std::vector<Question> &questions);
    void take(Other &from, std::vector<Question> &questions);  // a whole frame has come
    // Return false for a frame that no rank sends.
    bool take_frame(Other &from, std::vector<Question> &questions);
    bool take_mapped(Other &from);
    bool take_wanted(Other &from);
    void take_message(Other &from);
    void take_payload(Other &from);
    void lose(Other &other, const std::string &how, std::chrono::seconds grace = {});
    const Other &first_given_up(const std::vector<std::uint32_t> &ranks) const;
    void set_failure(const Failure &failure, const std::string &status);
    void compare(std::uint32_t rank, const Frame &frame);
    void take_offer(Receiving &receiving, const Frame &frame);
    void ask_for(Receiving &receiving);
    void take_deposit(Receiving &receiving, const Frame &frame);
    static void match(Receiving &receiving, const Frame &frame);
    void wake_all();
    void wake_server();

    const std::uint32_t rank_;
    const std::function<std::string()> status_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Other>> peers_;  // by rank; nullptr: this one
    std::vector<Run *> runs_;
    std::map<std::uint64_t, Signature> recent_;    // operations by number
    std::map<std::uint64_t, Sending *> sendings_;  // by number, until they end or are given up
    std::map<Place, Receiving *> expected_;
    std::map<Place, Arrival> arrived_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> posts_;
    std::uint64_t questions_asked_ = 0;
    std::map<std::uint64_t, std::map<std::uint32_t, std::string>> answers_;  // by question that waits for them
    std::condition_variable answered_;
    std::vector<char> discarded_ = std::vector<char>(std::size_t{64} << 10);  // for bytes that are not wanted any more
    std::uint64_t sendings_so_far_ = 0;
    std::optional<Failure> failure_;
    bool is_closing_ = false;
    const Run *leader_ = nullptr;   // run whose thread polls the connections, instead of the network's thread
    std::thread::id leading_;       // its thread
    std::uint64_t leads_ = 0;       // begun so far
    std::uint64_t leads_seen_ = 0;  // by the network's thread
    bool is_awaited_ = false;       // the network's thread is to poll as soon as no run leads
    std::condition_variable led_no_more_;
    std::condition_variable urgent_;
    Socket wake_;  // event that wakes the thread that polls
    std::thread thread_;
};

}  // namespace hccl
