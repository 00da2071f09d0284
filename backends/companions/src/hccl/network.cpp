// SPDX-License-Identifier: Apache-2.0
#include "hccl/network.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "hccl/connection.h"
#include "hccl/descriptors.h"
#include "refusal.h"

namespace hccl {
namespace {

constexpr std::chrono::milliseconds kForFarewell{200};
constexpr std::chrono::milliseconds kForNextLead{5};

}  // namespace

Network::Network(std::vector<Peer> peers, std::uint32_t rank, std::function<std::string()> status)
    : rank_(rank),
      status_(std::move(status)),
      wake_(open_descriptor([] { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); })) {
    if (!wake_.is_open()) {
        companions::refuse(HCCL_E_SYSCALL, std::string("eventfd: ") + std::strerror(errno));
    }
    for (std::uint32_t each = 0; each < peers.size(); ++each) {
        peers_.push_back(each == rank ? nullptr : std::make_unique<Other>(each, std::move(peers[each])));
    }
    if (peers_.size() > 1) {
        thread_ = std::thread([this] { serve(); });
    }
}

Network::~Network() {
    if (thread_.joinable()) {
        close({HCCL_E_UNAVAIL, "the communicator does not exist any more"});
    }
}

void Network::fail(const Failure &failure, const std::string &status) {
    const std::lock_guard<std::mutex> guard(mutex_);
    set_failure(failure, status.substr(0, kLongestText));
}

void Network::set_failure(const Failure &failure, const std::string &status) {
    if (failure_) {
        return;
    }
    failure_ = failure;
    const std::string text = failure.text.substr(0, kLongestText);
    for (const auto &other : peers_) {
        if (other != nullptr) {
            if (!status.empty()) {
                queue(*other, {Type::Answer, 0, {}, {}, status.size(), 0, 0}, status.data(), status.size());
            }
            queue(*other, {Type::Failed, failure.code, {failure.number, 0, 0, 0}, {}, text.size(), 0, 0}, text.data(),
                  text.size());
        }
    }
    wake_all();
}

std::optional<Failure> Network::failure() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return failure_;
}

std::map<std::uint32_t, std::string> Network::ask(const Run &run) {
    std::unique_lock<std::mutex> lock(mutex_);
    stop_leading(run);  // another thread reads the answers
    const std::vector<std::uint32_t> ranks = run.concerned();
    const std::uint64_t number = ++questions_asked_;
    auto &answers = answers_[number];
    for (const std::uint32_t rank : ranks) {
        queue(*peers_[rank], {Type::Question, 0, {number, 0, 0, 0}, {}, 0, 0, 0}, nullptr, 0);
    }
    wake_server();
    const auto has_spoken = [&](std::uint32_t rank) {
        return answers.count(rank) > 0 || !peers_[rank]->at_failure.empty() || !peers_[rank]->lost.empty();
    };
    answered_.wait_for(lock, kForAnswers, [&] {
        return run.is_cancelled_ || is_closing_ || std::all_of(ranks.begin(), ranks.end(), has_spoken);
    });
    std::map<std::uint32_t, std::string> result;
    for (const std::uint32_t rank : ranks) {
        const Other &other = *peers_[rank];
        if (!other.at_failure.empty()) {
            result[rank] = "is " + other.at_failure;  // it may have left the operation since
        } else if (answers.count(rank) > 0) {
            result[rank] = "is " + answers[rank];
        } else if (other.lost.empty() && !run.is_cancelled_ && !is_closing_) {
            result[rank] = "does not answer";
        }
    }
    answers_.erase(number);
    return result;
}

void Network::post(std::uint32_t rank, std::uint64_t number, const std::string &text) {
    const std::lock_guard<std::mutex> guard(mutex_);
    queue(*peers_[rank], {Type::Post, 0, {number, 0, 0, 0}, {}, text.size(), 0, 0}, text.data(), text.size());
}

std::string Network::await_post(std::uint32_t rank, std::uint64_t number, Time deadline) {
    std::unique_lock<std::mutex> lock(mutex_);
    wake_server();
    for (;;) {
        const auto found = posts_.find({rank, number});
        if (found != posts_.end()) {
            std::string text = std::move(found->second);
            posts_.erase(found);
            return text;
        }
        if (failure_) {
            throw Failure(*failure_);
        }
        const Other &other = *peers_[rank];
        const Time until = std::min(deadline, other.given_up_at);
        if (Clock::now() >= until) {
            throw other.lost.empty()
                ? Failure{HCCL_E_TIMEOUT, "rank " + std::to_string(rank) + " did not take part in time"}
                : other.loss();
        }
        answered_.wait_until(lock, std::min(until, Clock::now() + std::chrono::seconds(1)));
    }
}

void Network::close(const Failure &failure) {
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        failure_ = failure_ ? failure_ : failure;
        is_closing_ = true;
        for (const auto &other : peers_) {
            if (other != nullptr) {
                queue(*other, {Type::Bye, 0, {}, {}, 0, 0, 0}, nullptr, 0);
            }
        }
        wake_all();
        wake_server();
        led_no_more_.notify_all();
        urgent_.notify_all();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

struct Network::Polled {
    std::vector<pollfd> descriptors;  // the first is the event's
    std::vector<Other *> others;
};

// Returns true if something is to be sent.
bool Network::prepare(Polled &polled) {
    // When all is over, each thread that polls has to notice it: none takes the event from another one.
    polled.descriptors.assign(1, {is_closing_ ? -1 : wake_.descriptor(), POLLIN, 0});
    polled.others.clear();
    bool is_sending = false;
    for (const auto &other : peers_) {
        if (other == nullptr || !other->lost.empty()) {
            continue;
        }
        is_sending = is_sending || !other->out.empty();
        const auto events = static_cast<short>(POLLIN | (other->out.empty() ? 0 : POLLOUT));
        polled.descriptors.push_back({other->peer.socket.descriptor(), events, 0});
        polled.others.push_back(other.get());
    }
    return is_sending;
}

// Waits until no run leads. A rank that calls one operation after the other leads again soon: to wake this thread in
// between costs as much as a small operation.
void Network::await_turn(std::unique_lock<std::mutex> &lock) {
    const auto is_urgent = [&] { return is_closing_ || (is_awaited_ && leader_ == nullptr); };
    while (!is_urgent() && (leader_ != nullptr || leads_seen_ != leads_)) {
        if (leads_seen_ == leads_) {  // one that takes long
            led_no_more_.wait(lock, [&] { return leader_ == nullptr || is_closing_; });
        } else {
            leads_seen_ = leads_;
            urgent_.wait_for(lock, kForNextLead, is_urgent);
        }
    }
    is_awaited_ = false;
}

void Network::serve() {
    Polled polled;
    std::vector<Question> questions;
    Time farewell = kNever;
    for (;;) {
        {
            std::unique_lock<std::mutex> lock(mutex_);
            await_turn(lock);
            const bool is_sending = prepare(polled);
            if (is_closing_) {
                farewell = std::min(farewell, Clock::now() + kForFarewell);
                if (!is_sending || Clock::now() >= farewell) {
                    break;
                }
            }
        }
        ::poll(polled.descriptors.data(), polled.descriptors.size(), farewell == kNever ? -1 : 10);
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            if (leader_ == nullptr || is_closing_) {  // otherwise it has been woken, too
                look(polled, questions);
            }
        }
        answer(questions);
        questions.clear();
    }
}

// --- a run that leads ------------------------------------------------------------------------------------------------

// Returns true if the run leads: its thread reads from the connections until it ends.
bool Network::lead(const Run &run) {
    if (leader_ == nullptr && thread_.joinable() && !is_closing_) {
        ++leads_;
        leader_ = &run;
    }
    if (leader_ != &run) {
        return false;
    }
    leading_ = std::this_thread::get_id();
    return true;
}

void Network::stop_leading(const Run &run) {
    if (leader_ == &run) {
        leader_ = nullptr;
        leading_ = {};
        if (std::any_of(peers_.begin(), peers_.end(),
                        [](const std::unique_ptr<Other> &it) { return it != nullptr && !it->out.empty(); })) {
            wake_server();  // which may have begun to poll before
        }
        find_leader();
    }
}

// Lets another thread read from the connections if none does: that of a run that waits, or the network's.
void Network::find_leader() {
    if (leader_ != nullptr) {
        return;
    }
    const auto waiting = std::find_if(runs_.begin(), runs_.end(), [](const Run *run) { return run->is_waiting_; });
    if (waiting != runs_.end()) {
        (*waiting)->changed_.notify_all();
    } else {
        led_no_more_.notify_all();
        if (is_awaited_) {
            urgent_.notify_all();
        }
    }
}

// Polls once.
void Network::wait_as_leader(std::unique_lock<std::mutex> &lock, Time deadline) {
    constexpr int kMost = 1000;  // milliseconds
    Polled polled;
    std::vector<Question> questions;
    prepare(polled);
    lock.unlock();
    int timeout = kMost;
    if (deadline != kNever) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        timeout = static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, kMost));
    }
    ::poll(polled.descriptors.data(), polled.descriptors.size(), timeout);
    lock.lock();
    look(polled, questions);
    if (!questions.empty()) {
        lock.unlock();
        answer(questions);
        lock.lock();
    }
}

void Network::answer(const std::vector<Question> &questions) {
    try {
        for (const Question &question : questions) {
            const std::string text = status_().substr(0, kLongestText);
            const std::lock_guard<std::mutex> guard(mutex_);
            queue(*peers_[question.rank], {Type::Answer, 0, {question.number, 0, 0, 0}, {}, text.size(), 0, 0},
                  text.data(), text.size());
        }
    } catch (const std::bad_alloc &) {
        return;  // the rank does not wait long for an answer
    }
}

// Does what the ranks were polled for.
void Network::look(Polled &polled, std::vector<Question> &questions) {
    std::uint64_t count = 0;
    if ((polled.descriptors[0].revents & POLLIN) != 0 && !is_closing_ &&
        ::read(wake_.descriptor(), &count, sizeof count) < 0) {
        count = 0;  // another look has taken it
    }
    try {
        for (std::size_t i = 0; i < polled.others.size(); ++i) {
            const short events = polled.descriptors[i + 1].revents;
            Other &other = *polled.others[i];
            if ((events & POLLOUT) != 0) {
                flush(other);
            }
            if ((events & ~POLLOUT) != 0 && other.lost.empty()) {
                read(other, questions);
            }
        }
    } catch (const std::bad_alloc &) {
        fail_for_memory();
    }
}

// Allocates nothing: the texts are short.
void Network::fail_for_memory() {
    if (!failure_) {
        failure_ = Failure{HCCL_E_MEMORY, "host out of RAM"};
    }
    for (const auto &other : peers_) {
        if (other != nullptr) {
            lose(*other, "was left");
        }
    }
}

}  // namespace hccl
