// SPDX-License-Identifier: Apache-2.0
// Reading and writing of frames, and what follows from them.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "hccl/connection.h"

namespace hccl {

void Network::queue(Other &to, const Frame &frame, const void *data, std::size_t size, const Sending *lender) {
    if (!to.lost.empty()) {
        return;
    }
    const auto *const head = reinterpret_cast<const char *>(&frame);
    std::vector<char> own(head, head + sizeof frame);
    const auto *const payload = static_cast<const char *>(data);
    if (lender == nullptr && size > 0) {
        own.insert(own.end(), payload, payload + size);
    }
    const bool was_empty = to.out.empty();
    to.out.push_back({std::move(own), nullptr, 0, 0, false});
    to.out.back().data = to.out.back().own.data();
    to.out.back().size = to.out.back().own.size();
    if (lender != nullptr) {
        to.out.push_back({{}, payload, size, lender->number, true});
    }
    if (was_empty) {
        flush(to);
        if (!to.out.empty()) {
            wake_server();
        }
    }
}

// Leaves the bytes in memory that is shared with the rank. Returns false if they have to be sent in another way.
bool Network::deposit(Other &to, Frame frame, const void *data) {
    if (!to.shares_memory || !to.lost.empty()) {
        return false;
    }
    if (to.outbox == nullptr) {
        if (auto pages = SharedPages::create()) {
            to.outbox = std::make_unique<Outbox>(std::move(pages));
            const auto descriptor = static_cast<std::uint64_t>(to.outbox->descriptor());
            queue(to, {Type::Outbox, 0, {}, {}, 0, descriptor, to.outbox->mark()}, nullptr, 0);
        }
        return false;
    }
    const std::optional<Deposit> place = to.is_outbox_mapped ? to.outbox->put(data, frame.size) : std::nullopt;
    if (!place) {
        return false;
    }
    frame.type = Type::Deposit;
    frame.address = place->offset;
    frame.offer = place->slot;
    queue(to, frame, nullptr, 0);
    return true;
}

void Network::flush(Other &to) {
    while (!to.out.empty()) {
        Other::Out &out = to.out.front();
        const ssize_t sent =
            ::send(to.peer.socket.descriptor(), out.data, std::min(out.size, kReadAtOnce), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                // Before it ended, the rank may have said why: that is still to be read.
                to.out.clear();
            }
            return;
        }
        out.data += sent;
        out.size -= static_cast<std::size_t>(sent);
        if (out.size > 0) {
            continue;
        }
        if (const auto sending = sendings_.find(out.sending); sending != sendings_.end()) {
            sending->second->is_done = true;
            wake_all();
        }
        to.out.pop_front();
    }
}

// Ends a sending, after which its memory may be freed. A message that has begun continues with a copy of the rest: what
// follows could not be distinguished from it otherwise.
void Network::give_up(const Sending &sending) {
    sendings_.erase(sending.number);
    std::deque<Other::Out> &outs = peers_[sending.rank]->out;
    const auto payload = std::find_if(outs.begin(), outs.end(), [&](const Other::Out &out) {
        return out.is_borrowed && out.sending == sending.number;
    });
    if (payload == outs.end()) {
        return;
    }
    if (payload != outs.begin() && std::prev(payload)->size == sizeof(Frame)) {
        outs.erase(std::prev(payload), std::next(payload));
        return;
    }
    try {
        payload->own.assign(payload->data, payload->data + payload->size);
        payload->data = payload->own.data();
        payload->is_borrowed = false;
    } catch (const std::bad_alloc &) {
        lose(*peers_[sending.rank], "was left");
    }
}

void Network::read(Other &from, std::vector<Question> &questions) {
    for (std::size_t done = 0; done < kReadAtOnce;) {
        const bool is_in_frame = from.frame_bytes < sizeof(Frame);
        char *to = nullptr;
        std::size_t size = 0;
        if (is_in_frame) {
            to = reinterpret_cast<char *>(&from.frame) + from.frame_bytes;
            size = sizeof(Frame) - from.frame_bytes;
        } else {
            to = from.payload_to != nullptr ? from.payload_to : discarded_.data();
            size = std::min(from.payload_left, from.payload_to != nullptr ? kReadAtOnce : discarded_.size());
        }
        const ssize_t received = ::recv(from.peer.socket.descriptor(), to, size, MSG_DONTWAIT);
        if (received <= 0) {
            if (received == 0 || (errno != EAGAIN && errno != EINTR)) {
                lose(from, "has ended, or its connection was lost");
            }
            return;
        }
        const auto bytes = static_cast<std::size_t>(received);
        done += bytes;
        if (is_in_frame) {
            from.frame_bytes += bytes;
            if (from.frame_bytes == sizeof(Frame)) {
                take(from, questions);
            }
        } else {
            from.payload_to += from.payload_to != nullptr ? bytes : 0;
            from.payload_left -= bytes;
            if (from.payload_left == 0) {
                take_payload(from);
            }
        }
        if (!from.lost.empty()) {
            return;
        }
    }
}

// Prepares for the payload of the frame, if it has one.
void Network::take(Other &from, std::vector<Question> &questions) {
    from.payload_left = 0;
    from.payload_to = nullptr;
    from.into = nullptr;
    from.arriving = nullptr;
    if (!take_frame(from, questions)) {
        lose(from, "sent something that no rank sends");
    } else if (from.payload_left == 0 && from.lost.empty()) {
        take_payload(from);
    }
}

bool Network::take_frame(Other &from, std::vector<Question> &questions) {
    const Frame &frame = from.frame;
    switch (frame.type) {
        case Type::Deposit:
            if (from.inbox == nullptr || !Inbox::may_hold({frame.address, frame.offer}, frame.size)) {
                return false;
            }
            take_message(from);
            return true;
        case Type::Message:
        case Type::Offer:
            take_message(from);
            return true;
        case Type::Outbox:
            if (from.inbox != nullptr) {
                return false;
            }
            if (auto pages = SharedPages::open(from.peer.process, frame.address, frame.offer)) {
                from.inbox = std::make_unique<Inbox>(std::move(pages));
            }
            queue(from, {Type::Mapped, from.inbox == nullptr ? 1 : 0, {}, {}, 0, 0, 0}, nullptr, 0);
            return true;
        case Type::Mapped:
            return take_mapped(from);
        case Type::Wanted:
            return take_wanted(from);
        case Type::Taken:
            if (const auto offer = sendings_.find(frame.offer); offer != sendings_.end()) {
                offer->second->is_done = true;
                wake_all();
            }
            return true;
        case Type::Question:
            questions.push_back({from.rank, frame.key.number});
            return true;
        case Type::Bye:
            lose(from, "has destroyed the communicator", kForEnd);
            return true;
        case Type::Failed:
        case Type::Answer:
        case Type::Post:
            if (frame.size > kLongestText) {
                return false;
            }
            from.text.resize(frame.size);
            from.payload_to = from.text.data();
            from.payload_left = frame.size;
            return true;
        default:
            return false;
    }
}

// The other rank has mapped this one's outbox, or cannot.
bool Network::take_mapped(Other &from) {
    if (from.outbox == nullptr || from.is_outbox_mapped) {
        return false;
    }
    from.shares_memory = from.is_outbox_mapped = from.frame.code == 0;
    if (from.is_outbox_mapped) {
        from.outbox->close_file();
    } else {
        from.outbox.reset();
    }
    return true;
}

// The other rank asks for what was offered, because it cannot read it.
bool Network::take_wanted(Other &from) {
    const Frame &frame = from.frame;
    const auto offer = sendings_.find(frame.offer);
    if (offer == sendings_.end()) {
        return true;
    }
    if (offer->second->rank != from.rank || offer->second->size != frame.size) {
        return false;
    }
    const Frame answer{Type::Message, 0, frame.key, frame.signature, frame.size, 0, frame.offer};
    queue(from, answer, offer->second->data, frame.size, offer->second);
    return true;
}

// Finds the place of a message: that where it is expected, or a new one.
void Network::take_message(Other &from) {
    const Frame &frame = from.frame;
    const Place place{from.rank, frame.key};
    const bool is_message = frame.type == Type::Message;
    compare(from.rank, frame);
    const auto expected = expected_.find(place);
    if (expected != expected_.end()) {
        Receiving &receiving = *expected->second;
        match(receiving, frame);
        if (!receiving.run->disagreement_) {
            if (is_message) {
                from.into = &receiving;
                from.payload_to = static_cast<char *>(receiving.data);
                from.payload_left = frame.size;
            } else {
                frame.type == Type::Deposit ? take_deposit(receiving, frame) : take_offer(receiving, frame);
                receiving.run->changed_.notify_all();
            }
            if (frame.type == Type::Offer && receiving.address == 0) {
                return;  // the bytes come as a message
            }
            expected_.erase(expected);
            return;
        }
    }
    if (is_message && frame.size > kSentAtOnce) {  // was asked for, and is not wanted any more
        from.payload_left = frame.size;
        return;
    }
    Arrival &arrival = arrived_[place];
    arrival = {frame, {}, !is_message || frame.size == 0, nullptr};
    if (is_message && frame.size > 0) {
        arrival.payload.resize(frame.size);
        from.arriving = &arrival;
        from.payload_to = arrival.payload.data();
        from.payload_left = frame.size;
    }
}

// Ends what has a payload, which may be empty.
void Network::take_payload(Other &from) {
    from.frame_bytes = 0;
    const Frame &frame = from.frame;
    switch (frame.type) {
        case Type::Message:
            if (from.into != nullptr) {
                from.into->is_done = true;
                from.into->run->changed_.notify_all();
            } else if (from.arriving != nullptr) {
                Arrival &arrival = *from.arriving;
                arrival.is_whole = true;
                if (Receiving *const receiving = arrival.awaited_by) {
                    std::copy(arrival.payload.begin(), arrival.payload.end(), static_cast<char *>(receiving->data));
                    receiving->is_done = true;
                    receiving->run->changed_.notify_all();
                    arrived_.erase({from.rank, frame.key});
                }
            }
            break;
        case Type::Failed:
            // Informs the others too: they may hear of the end of this rank before they hear of its reason.
            set_failure({static_cast<HcclResult>(frame.code), std::string(from.text.begin(), from.text.end()),
                         frame.key.number},
                        "");
            break;
        case Type::Answer: {
            const auto question = answers_.find(frame.key.number);
            if (frame.key.number == 0) {
                from.at_failure.assign(from.text.begin(), from.text.end());
            } else if (question != answers_.end()) {  // otherwise it comes too late
                question->second[from.rank].assign(from.text.begin(), from.text.end());
            }
            answered_.notify_all();
            break;
        }
        case Type::Post:
            posts_[{from.rank, frame.key.number}].assign(from.text.begin(), from.text.end());
            answered_.notify_all();
            break;
        default:
            break;
    }
    from.into = nullptr;
    from.arriving = nullptr;
}

// Connects a receiver with an offer: it reads the bytes itself, or asks for them.
void Network::take_offer(Receiving &receiving, const Frame &frame) {
    receiving.offer = frame.offer;
    if (peers_[receiving.rank]->is_readable) {
        receiving.address = frame.address;
    } else {
        ask_for(receiving);
    }
}

void Network::ask_for(Receiving &receiving) {
    receiving.address = 0;
    expected_[{receiving.rank, receiving.key}] = &receiving;
    queue(*peers_[receiving.rank],
          {Type::Wanted, 0, receiving.key, receiving.signature, receiving.size, 0, receiving.offer}, nullptr, 0);
}

void Network::take_deposit(Receiving &receiving, const Frame &frame) {
    const Deposit deposit{frame.address, frame.offer};
    const Inbox &inbox = *peers_[receiving.rank]->inbox;
    if (receiving.in_place != nullptr) {
        *receiving.in_place = inbox.message(deposit);
        receiving.deposit = deposit;
    } else {
        std::memcpy(receiving.data, inbox.message(deposit), frame.size);
        inbox.give_back(deposit);
    }
    receiving.is_done = true;
}

// Notes a disagreement between the two ends of a message.
void Network::match(Receiving &receiving, const Frame &frame) {
    Run &run = *receiving.run;
    if (run.disagreement_) {
        return;
    }
    if (!(receiving.signature == frame.signature) && frame.key.is_direct != 0) {
        run.disagreement_ = {receiving.rank, "sends " + elements_of(frame.signature) + ", this rank receives " +
                                                 elements_of(receiving.signature)};
    } else if (!(receiving.signature == frame.signature)) {
        run.disagreement_ = {receiving.rank,
                             "calls " + text_of(frame.signature) + ", this rank " + text_of(receiving.signature)};
    } else if (receiving.size != frame.size) {
        run.disagreement_ = {receiving.rank, "sends " + std::to_string(frame.size) +
                                                 " bytes, of which this rank takes " + std::to_string(receiving.size)};
    }
    run.changed_.notify_all();
}

// Compares what another rank does under a number with what this one does, or has done.
void Network::compare(std::uint32_t rank, const Frame &frame) {
    if (frame.key.is_direct != 0) {
        return;
    }
    const auto known = recent_.find(frame.key.number);
    if (known == recent_.end() || known->second == frame.signature) {
        return;
    }
    const std::string what = "calls " + text_of(frame.signature) + " as number " + std::to_string(frame.key.number) +
                             ", this rank " + text_of(known->second);
    for (Run *const run : runs_) {
        if (run->number == frame.key.number && run->signature.kind != Kind::SendRecv) {
            run->disagreement_ = {rank, what};
            run->changed_.notify_all();
            return;
        }
    }
    set_failure({HCCL_E_REMOTE, "rank " + std::to_string(rank) + " " + what}, "");
}

void Network::lose(Other &other, const std::string &how, std::chrono::seconds grace) {
    if (!other.lost.empty()) {
        return;
    }
    other.lost = how;
    other.given_up_at = Clock::now() + grace;
    other.out.clear();
    other.peer.socket.shut_down();
    wake_all();
}

// Returns one of several ranks: the one for which none waits any more first.
const Network::Other &Network::first_given_up(const std::vector<std::uint32_t> &ranks) const {
    const auto is_earlier = [&](std::uint32_t one, std::uint32_t other) {
        return peers_[one]->given_up_at < peers_[other]->given_up_at;
    };
    return *peers_[*std::min_element(ranks.begin(), ranks.end(), is_earlier)];
}

void Network::wake_all() {
    for (Run *const run : runs_) {
        run->changed_.notify_all();
    }
    answered_.notify_all();
    if (leader_ != nullptr && leading_ != std::this_thread::get_id()) {
        wake_server();
    }
}

// Lets the thread that polls look at once: the one of a run that leads, or the network's.
void Network::wake_server() {
    is_awaited_ = true;
    if (leader_ == nullptr) {
        urgent_.notify_all();
    }
    const std::uint64_t one = 1;
    if (::write(wake_.descriptor(), &one, sizeof one) < 0 && errno != EAGAIN) {
        assert(errno == EINTR);
    }
}

}  // namespace hccl
