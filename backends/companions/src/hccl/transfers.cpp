// SPDX-License-Identifier: Apache-2.0
// Operations that run, and their messages.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "hccl/connection.h"

namespace hccl {
namespace {

constexpr std::size_t kRemembered = 1024;  // operations

}  // namespace

// --- runs ------------------------------------------------------------------------------------------------------------

Run::Run(Network &its_network, const Signature &its_signature, std::uint64_t its_number, std::uint32_t its_execution,
         Time its_deadline)
    : network(its_network),
      signature(its_signature),
      number(its_number),
      execution(its_execution),
      deadline(its_deadline) {
    const std::lock_guard<std::mutex> guard(network.mutex_);
    network.runs_.push_back(this);
    if (signature.kind == Kind::SendRecv) {
        return;
    }
    try {
        network.recent_[number] = signature;
        if (network.recent_.size() > kRemembered) {
            network.recent_.erase(network.recent_.begin());
        }
        for (const auto &[place, arrival] : network.arrived_) {
            network.compare(place.first, arrival.frame);
        }
    } catch (const std::bad_alloc &) {
        network.runs_.pop_back();
        throw;
    }
}

Run::~Run() {
    const std::lock_guard<std::mutex> guard(network.mutex_);
    network.runs_.erase(std::find(network.runs_.begin(), network.runs_.end(), this));
    network.stop_leading(*this);
}

void Run::cancel() {
    const std::lock_guard<std::mutex> guard(network.mutex_);
    is_cancelled_ = true;
    network.wake_all();
}

std::vector<std::uint32_t> Run::awaited() const {
    const std::lock_guard<std::mutex> guard(network.mutex_);
    return awaited_;
}

std::vector<std::uint32_t> Run::concerned() const {
    return disagreement_ ? std::vector<std::uint32_t>{disagreement_->first} : last_awaited_;
}

// --- transfers -------------------------------------------------------------------------------------------------------

Transfers::Transfers(Run &run) : run_(run) {}

Transfers::~Transfers() {
    Network &network = run_.network;
    const std::lock_guard<std::mutex> guard(network.mutex_);
    if (!run_.awaited_.empty()) {
        run_.last_awaited_ = std::move(run_.awaited_);
        run_.awaited_.clear();
    }
    for (const Sending &sending : sendings_) {
        network.give_up(sending);
    }
    for (Receiving &receiving : receivings_) {
        const Network::Place place{receiving.rank, receiving.key};
        network.expected_.erase(place);
        const auto arrival = network.arrived_.find(place);
        if (arrival != network.arrived_.end()) {
            arrival->second.awaited_by = nullptr;
        }
        Network::Other &other = *network.peers_[receiving.rank];
        if (receiving.deposit) {
            other.inbox->give_back(*receiving.deposit);
        }
        if (other.into == &receiving) {
            other.into = nullptr;
            other.payload_to = nullptr;
        }
    }
}

void Transfers::send(std::uint32_t rank, std::uint16_t step, const void *data, std::size_t size) {
    send(rank, {run_.number, run_.execution, step, 0}, run_.signature, data, size);
}

void Transfers::receive(std::uint32_t rank, std::uint16_t step, void *data, std::size_t size) {
    receive(rank, {run_.number, run_.execution, step, 0}, run_.signature, data, size);
}

void Transfers::receive_in_place(std::uint32_t rank, std::uint16_t step, const char *&place, void *data,
                                 std::size_t size) {
    place = static_cast<const char *>(data);
    receive(rank, {run_.number, run_.execution, step, 0}, run_.signature, data, size, &place);
}

void Transfers::send_direct(std::uint32_t rank, std::uint64_t number, const Signature &signature, const void *data,
                            std::size_t size) {
    send(rank, {number, run_.execution, 0, 1}, signature, data, size);
}

void Transfers::receive_direct(std::uint32_t rank, std::uint64_t number, const Signature &signature, void *data,
                               std::size_t size) {
    receive(rank, {number, run_.execution, 0, 1}, signature, data, size);
}

void Transfers::send(std::uint32_t rank, const Key &key, const Signature &signature, const void *data,
                     std::size_t size) {
    Network &network = run_.network;
    assert(rank != network.rank());
    const std::lock_guard<std::mutex> guard(network.mutex_);
    Network::Other &other = *network.peers_[rank];
    Frame frame{Type::Message, 0, key, signature, size, 0, 0};
    if (size <= kSentAtOnce) {
        network.queue(other, frame, data, size);
        await_kernel(rank);
    } else if (size <= kDeposited && network.deposit(other, frame, data)) {
        await_kernel(rank);
    } else {
        frame.type = Type::Offer;
        frame.address = reinterpret_cast<std::uintptr_t>(data);
        frame.offer = begin_sending(rank, data, size).number;
        network.queue(other, frame, nullptr, 0);
    }
}

Sending &Transfers::begin_sending(std::uint32_t rank, const void *data, std::size_t size) {
    Sending &sending = sendings_.emplace_back(Sending{rank, data, size, ++run_.network.sendings_so_far_, false});
    run_.network.sendings_.emplace(sending.number, &sending);
    return sending;
}

void Transfers::await_kernel(std::uint32_t rank) {
    std::deque<Network::Other::Out> &outs = run_.network.peers_[rank]->out;
    if (!outs.empty()) {
        outs.back().sending = begin_sending(rank, nullptr, 0).number;
    }
}

void Transfers::receive(std::uint32_t rank, const Key &key, const Signature &signature, void *data, std::size_t size,
                        const char **in_place) {
    Network &network = run_.network;
    assert(rank != network.rank());
    const std::lock_guard<std::mutex> guard(network.mutex_);
    Receiving &receiving = receivings_.emplace_back(
        Receiving{rank, key, signature, data, size, 0, 0, false, &run_, in_place, std::nullopt});
    const auto arrival = network.arrived_.find({rank, key});
    if (arrival == network.arrived_.end()) {
        network.expected_.emplace(Network::Place{rank, key}, &receiving);
        return;
    }
    network.match(receiving, arrival->second.frame);
    if (run_.disagreement_) {
        return;
    }
    if (!arrival->second.is_whole) {
        arrival->second.awaited_by = &receiving;
        return;
    }
    if (arrival->second.frame.type == Type::Message) {
        std::copy(arrival->second.payload.begin(), arrival->second.payload.end(), static_cast<char *>(data));
        receiving.is_done = true;
    } else if (arrival->second.frame.type == Type::Deposit) {
        network.take_deposit(receiving, arrival->second.frame);
    } else {
        network.take_offer(receiving, arrival->second.frame);
    }
    network.arrived_.erase(arrival);
}

void Transfers::note_awaited() {
    run_.awaited_.clear();
    const auto note = [&](std::uint32_t rank) {
        if (std::find(run_.awaited_.begin(), run_.awaited_.end(), rank) == run_.awaited_.end()) {
            run_.awaited_.push_back(rank);
        }
    };
    for (const Receiving &receiving : receivings_) {
        if (!receiving.is_done) {
            note(receiving.rank);
        }
    }
    for (const Sending &sending : sendings_) {
        if (!sending.is_done) {
            note(sending.rank);
        }
    }
    std::sort(run_.awaited_.begin(), run_.awaited_.end());
}

// Reads what a rank on this host offers. Returns false if there is nothing to read.
bool Transfers::read_next(std::unique_lock<std::mutex> &lock) {
    const auto next = std::find_if(receivings_.begin(), receivings_.end(), [](const Receiving &receiving) {
        return !receiving.is_done && receiving.address != 0;
    });
    if (next == receivings_.end()) {
        return false;
    }
    Network &network = run_.network;
    const auto process = static_cast<pid_t>(network.peers_[next->rank]->peer.process);
    for (std::size_t done = 0; done < next->size;) {
        if (run_.is_cancelled_ || run_.disagreement_ || network.failure_) {
            return true;
        }
        lock.unlock();
        const std::size_t size = std::min(next->size - done, kReadAtOnce);
        const iovec here{static_cast<char *>(next->data) + done, size};
        const iovec there{reinterpret_cast<void *>(next->address + done), size};
        const ssize_t read = process_vm_readv(process, &here, 1, &there, 1, 0);
        const int error = errno;
        lock.lock();
        if (read <= 0 && error == EPERM) {  // no longer permitted: the rank has changed its user, for instance
            network.peers_[next->rank]->is_readable = false;
            network.ask_for(*next);
            return true;
        }
        if (read <= 0) {
            // A rank that fails or ends gives up its memory first, and says so next, which another thread reads.
            network.stop_leading(run_);
            network.wake_server();
            const bool has_reason = run_.changed_.wait_for(lock, kForReason, [&] {
                return run_.is_cancelled_ || network.failure_ || !network.peers_[next->rank]->lost.empty();
            });
            if (!has_reason) {
                throw Failure{HCCL_E_REMOTE,
                              "rank " + std::to_string(next->rank) + " gave up its memory: " + std::strerror(error)};
            }
            next->address = 0;  // which does not come any more
            return true;
        }
        done += static_cast<std::size_t>(read);
    }
    next->is_done = true;
    next->address = 0;
    network.queue(*network.peers_[next->rank], {Type::Taken, 0, {}, {}, 0, 0, next->offer}, nullptr, 0);
    await_kernel(next->rank);
    return true;
}

bool Transfers::have_ended() {
    Network &network = run_.network;
    std::unique_lock<std::mutex> lock(network.mutex_);
    if (network.lead(run_)) {
        network.wait_as_leader(lock, Time());  // which is over
    }
    note_awaited();
    return run_.awaited_.empty() && !run_.disagreement_ && !run_.is_cancelled_ && !network.failure_;
}

void Transfers::wait() {
    Network &network = run_.network;
    std::unique_lock<std::mutex> lock(network.mutex_);
    // One that was woken to lead, and has no reason to wait any more, wakes the next one.
    const struct AtEnd {
        Network &network;
        ~AtEnd() { network.find_leader(); }
    } at_end{network};
    for (;;) {
        if (run_.disagreement_) {
            throw Failure{HCCL_E_REMOTE,
                          "rank " + std::to_string(run_.disagreement_->first) + " " + run_.disagreement_->second};
        }
        if (network.failure_) {
            throw Failure(*network.failure_);
        }
        if (run_.is_cancelled_) {
            throw Failure{HCCL_E_SUSPENDING, "was aborted"};
        }
        if (read_next(lock)) {
            continue;
        }
        note_awaited();
        if (run_.awaited_.empty()) {
            return;
        }
        const Network::Other &first = network.first_given_up(run_.awaited_);
        const Time until = std::min(run_.deadline, first.given_up_at);
        if (Clock::now() >= until) {
            throw first.lost.empty() ? Failure{HCCL_E_TIMEOUT, "timed out"} : first.loss();
        }
        if (network.lead(run_)) {
            network.wait_as_leader(lock, until);
            continue;
        }
        run_.is_waiting_ = true;
        if (until == kNever) {
            run_.changed_.wait(lock);
        } else {
            run_.changed_.wait_until(lock, until);
        }
        run_.is_waiting_ = false;
    }
}

}  // namespace hccl
