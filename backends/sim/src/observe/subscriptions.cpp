#include "observe/subscriptions.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/thread.h"
#include "machine/context.h"
#include "support/error.h"
#include "support/text.h"

namespace aclsim {

class RecordPipe {
  public:
    // A write of this size never blocks once poll() has found the pipe writable.
    static constexpr std::size_t kAtOnce = PIPE_BUF / sizeof(OperatorRecord);
    static constexpr std::size_t kMostWaiting = 200000;

    explicit RecordPipe(int file) : file_(file) {}

    void add(const OperatorRecord &record) {
        const std::lock_guard<std::mutex> guard(mutex_);
        if (waiting_.size() < kMostWaiting && !is_broken_) {
            waiting_.push_back(record);
            if (waiting_.size() == 1) {
                changed_.notify_all();
            }
        }
    }

    // Body of the writer's thread.
    void write_all() {
        std::unique_lock<std::mutex> guard(mutex_);
        while (!is_broken_) {
            changed_.wait(guard, [&] { return !waiting_.empty() || is_closed_; });
            if (waiting_.empty() || is_abandoned_) {
                break;
            }
            write_some(guard);
        }
        has_ended_ = true;
        changed_.notify_all();
    }

    // Lets the writer finish, for a second at most, and closes the descriptor.
    void close_after_all() {
        std::unique_lock<std::mutex> guard(mutex_);
        is_closed_ = true;
        changed_.notify_all();
        if (!changed_.wait_for(guard, std::chrono::seconds(1), [&] { return has_ended_; })) {
            is_abandoned_ = true;
            changed_.wait_for(guard, std::chrono::milliseconds(10 * kPollMilliseconds), [&] { return has_ended_; });
        }
        ::close(file_);
    }

  private:
    static constexpr int kPollMilliseconds = 50;

    void write_some(std::unique_lock<std::mutex> &guard) {
        const std::vector<OperatorRecord> next(
            waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(kAtOnce, waiting_.size())));
        const std::size_t sent = sent_;
        guard.unlock();
        pollfd polled{file_, POLLOUT, 0};
        const int ready = poll(&polled, 1, kPollMilliseconds);
        ssize_t written = 0;
        bool has_failed = ready < 0 && errno != EINTR;
        if (ready > 0) {
            const auto *const bytes = reinterpret_cast<const char *>(next.data());
            written = ::write(file_, bytes + sent, next.size() * sizeof(OperatorRecord) - sent);
            has_failed = written < 0 && errno != EINTR && errno != EAGAIN;
        }
        guard.lock();
        is_broken_ = has_failed;  // the reader is gone; SIGPIPE is blocked in this thread
        const std::size_t done = sent_ + static_cast<std::size_t>(std::max<ssize_t>(written, 0));
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(done / sizeof(OperatorRecord)));
        sent_ = done % sizeof(OperatorRecord);
    }

    const int file_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<OperatorRecord> waiting_;
    std::size_t sent_ = 0;  // bytes of the first record that were written: a socket may take a part of it
    bool is_closed_ = false;
    bool is_abandoned_ = false;
    bool is_broken_ = false;
    bool has_ended_ = false;
};

std::uint32_t OperatorRecord::expected_signature() const {
    constexpr std::uint32_t kBasis = 2166136261U, kPrime = 16777619U;  // FNV-1a
    std::uint32_t hash = kBasis;
    const auto *const bytes = reinterpret_cast<const unsigned char *>(this);
    for (std::size_t i = sizeof signature; i < sizeof *this; ++i) {
        hash = (hash ^ bytes[i]) * kPrime;
    }
    return hash;
}

std::uint64_t OperatorNames::add(std::string type, std::string name) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const std::uint64_t number = ++added_;
    texts_[kType][number] = std::move(type);
    texts_[kName][number] = std::move(name);
    for (auto &texts : texts_) {
        if (texts.size() > kMost) {
            texts.erase(texts.begin());
        }
    }
    return number;
}

std::optional<std::string> OperatorNames::find(std::uint64_t number, Part part) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = texts_[part].find(number);
    return found == texts_[part].end() ? std::nullopt : found->second;
}

void OperatorNames::forget(std::uint64_t number, Part part) {
    const std::lock_guard<std::mutex> guard(mutex_);
    texts_[part].erase(number);
}

void Subscriptions::subscribe(std::uint32_t model, const SubscribeConfig &config) {
    const int file = *config.descriptor;
    const int flags = fcntl(file, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "descriptor %d is not open for writing", file);
    }
    const auto pipe = std::make_shared<RecordPipe>(file);
    const bool is_first = models_.empty();
    models_[model] = {config.has_times, pipe};
    if (!start_thread([pipe] { pipe->write_all(); })) {
        models_.erase(model);
        fail_unremembered(ACL_ERROR_PROFILING_FAILURE, "the host has no thread for a subscription");
    }
    if (is_first) {
        core_.add_observer(*this);
    }
    were_used_ = true;
}

void Subscriptions::unsubscribe(Lock &lock, std::uint32_t model) {
    const auto pipe = models_.at(model).pipe;
    models_.erase(model);
    if (models_.empty()) {
        core_.remove_observer(*this);
        times_.clear();
    }
    const Unlocked unlocked(lock);
    pipe->close_after_all();
}

void Subscriptions::submitted(const Moment &now, const Stream &stream, const Task &task, const Submission &) {
    times_.submitted(now, stream, task);
}

void Subscriptions::started(const Moment &now, const Stream &stream, const Task &task, std::uint32_t) {
    times_.started(now, stream, task);
}

void Subscriptions::ended(const Moment &now, const Stream &stream, const Task &task, std::uint32_t) {
    TaskTimes::Times times{};
    if (!times_.take(stream, task, times)) {
        return;
    }
    TaskLabel label;
    task.details().label(stream, label);
    const auto found = models_.find(label.model);
    if (found == models_.end()) {
        return;
    }
    const auto in_us = [](Time::duration time) {
        return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
    };
    const std::string type = label.name.empty() ? task.info().name : label.name;
    OperatorRecord record{};
    record.model = label.model;
    record.flag = ACL_SUBSCRIBE_OP;
    record.thread = task.submitter;
    record.number = names.add(type, label.op_info.empty() ? type : shown(label.op_info));
    if (found->second.has_times) {
        record.start_us = in_us(times.started.time_since_epoch());
        record.end_us = in_us(now.time().time_since_epoch());
        record.duration_us = record.end_us - record.start_us;
    }
    record.device = device_of(stream).user_id;
    record.signature = record.expected_signature();
    found->second.pipe->add(record);
}

void Subscriptions::dropped(const Moment &, const Stream &stream, const Task &task, aclError) {
    times_.forget(stream, task);
}

void Subscriptions::fact_lost(const Moment &) {
    if (!has_lost_facts_.exchange(true)) {
        std::fputs("ascend_rt simulator, subscription: the host is out of memory; records are missing\n", stderr);
    }
}

}  // namespace aclsim
