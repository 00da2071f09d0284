// SPDX-License-Identifier: Apache-2.0
#include "observe/record_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "support/error.h"
#include "support/standard_error.h"
#include "support/text.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

// A write of this size never blocks once poll() has found the pipe writable.
constexpr std::size_t kAtOnce = PIPE_BUF / sizeof(OperatorRecord) * sizeof(OperatorRecord);
constexpr std::size_t kMostWaiting = 200000;  // operators of one shard
constexpr std::chrono::milliseconds kGathering(1);
constexpr std::chrono::milliseconds kPatience(1000);  // for a reader, when the subscription ends
constexpr int kPollMilliseconds = 50;

std::uint64_t in_us(Time::duration time) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

std::optional<std::pair<dev_t, ino_t>> identity_of(int descriptor) {
    struct stat status{};
    if (fstat(descriptor, &status) != 0) {
        return std::nullopt;
    }
    return std::pair(status.st_dev, status.st_ino);
}

}  // namespace

// Takes whole words: readers check the records of a whole buffer in each call (profiling.md section 8).
std::uint32_t OperatorRecord::expected_signature() const {
    constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15;
    std::array<std::uint64_t, sizeof(OperatorRecord) / sizeof(std::uint64_t)> words{};
    std::memcpy(words.data(), this, sizeof *this);
    words[0] &= ~std::uint64_t{UINT32_MAX};  // the signature itself, on little-endian hosts
    std::uint64_t hash = 0;
    for (const std::uint64_t word : words) {
        hash = (hash ^ word) * kPrime;
        hash ^= hash >> 32;
    }
    return static_cast<std::uint32_t>(hash);
}

std::uint64_t OperatorNames::add(std::string type, std::string name) {
    const std::lock_guard<std::mutex> guard(mutex_);
    texts_.push_back({std::move(type), std::move(name)});
    if (texts_.size() > kMost) {
        texts_.pop_front();
        ++oldest_;
    }
    return oldest_ + texts_.size() - 1;
}

const std::optional<std::string> *OperatorNames::text_of(std::uint64_t number, Part part) const {
    const std::uint64_t index = number - oldest_;  // a number that is too old becomes a large one
    return index < texts_.size() ? &texts_[index][part] : nullptr;
}

std::optional<std::string> OperatorNames::find(std::uint64_t number, Part part) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto *const text = text_of(number, part);
    return text == nullptr ? std::nullopt : *text;
}

void OperatorNames::forget(std::uint64_t number, Part part) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (text_of(number, part) != nullptr) {
        texts_[number - oldest_][part].reset();
    }
}

RecordPipe::RecordPipe(Core &core, OperatorNames &names, const Settings &settings)
    : core_(core),
      names_(names),
      settings_(settings),
      file_(fcntl(settings.descriptor, F_DUPFD_CLOEXEC, 0)),
      identity_(identity_of(file_)) {
    if (file_ < 0) {
        fail_unremembered(ACL_ERROR_PROFILING_FAILURE, "cannot duplicate descriptor %d: %s", settings.descriptor,
                          std::strerror(errno));
    }
}

RecordPipe::~RecordPipe() { close_own(); }

void RecordPipe::close_own() {
    if (file_ >= 0) {
        ::close(std::exchange(file_, -1));
    }
}

void RecordPipe::add(std::uint32_t shard, EndedOperator ended) {
    std::vector<EndedOperator> &list = parts_[shard].ended;
    if (list.size() >= kMostWaiting || is_broken_.load(std::memory_order_relaxed)) {
        return;
    }
    list.push_back(std::move(ended));
    if (list.size() == 1) {
        const std::lock_guard<std::mutex> guard(mutex_);
        has_news_ = true;
        changed_.notify_all();
    }
}

// Waits for the first of some operators, and a little longer for others. Returns false after the end of the
// subscription: what is there is the rest.
bool RecordPipe::gather() {
    std::unique_lock<std::mutex> guard(mutex_);
    changed_.wait(guard, [&] { return has_news_ || is_closed_; });
    changed_.wait_for(guard, kGathering, [&] { return is_closed_; });
    has_news_ = false;
    return !is_closed_;
}

void RecordPipe::take(Parts &taken) {
    const Lock lock = core_.acquire();
    for (std::size_t shard = 0; shard < parts_.size(); ++shard) {
        parts_[shard].ended.swap(taken[shard].ended);
    }
}

OperatorRecord RecordPipe::record_of(EndedOperator &ended) const {
    OperatorRecord record{};
    record.model = settings_.model;
    record.flag = ACL_SUBSCRIBE_OP;
    record.thread = ended.thread;
    record.device = ended.device;
    if (settings_.has_times) {
        record.start_us = in_us(ended.started.time_since_epoch());
        record.end_us = in_us(ended.ended.time_since_epoch());
        record.duration_us = record.end_us - record.start_us;
    }
    std::string name = ended.information.empty() ? ended.type : shown(ended.information);
    record.number = names_.add(std::move(ended.type), std::move(name));
    record.signature = record.expected_signature();
    return record;
}

void RecordPipe::write_all() {
    Parts taken;
    std::vector<OperatorRecord> records;
    for (bool goes_on = true; goes_on && !is_broken_;) {
        goes_on = gather();
        take(taken);
        try {
            for (Part &part : taken) {
                for (EndedOperator &ended : part.ended) {
                    records.push_back(record_of(ended));
                }
            }
        } catch (const std::bad_alloc &) {
            lose("the host is out of memory");
        }
        for (Part &part : taken) {
            part.ended.clear();  // keeps its memory for the next exchange
        }
        write(records);
        records.clear();
    }
    const std::lock_guard<std::mutex> guard(mutex_);
    close_own();
    has_ended_ = true;
    changed_.notify_all();
}

bool RecordPipe::wait_until_writable() const {
    pollfd polled{file_, POLLOUT, 0};
    while (!is_abandoned_) {
        const int ready = poll(&polled, 1, kPollMilliseconds);
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return true;  // a failure is that of the write which follows
        }
    }
    return false;
}

// SIGPIPE is blocked in this thread. A socket may take a part of a record.
void RecordPipe::write(const std::vector<OperatorRecord> &records) {
    const auto *bytes = reinterpret_cast<const char *>(records.data());
    std::size_t left = records.size() * sizeof(OperatorRecord);
    while (left > 0 && wait_until_writable()) {
        const ssize_t written = ::write(file_, bytes, std::min(left, kAtOnce));
        if (written < 0 && errno != EINTR && errno != EAGAIN) {
            is_broken_ = true;
            if (errno != EPIPE) {  // the reader may go when it has read enough
                lose(std::strerror(errno));
            }
            return;
        }
        bytes += std::max<ssize_t>(written, 0);
        left -= static_cast<std::size_t>(std::max<ssize_t>(written, 0));
    }
}

void RecordPipe::lose(const char *reason) {
    if (!std::exchange(has_lost_some_, true)) {
        print_error("ascend_rt simulator, subscription of model %u: records are missing: %s\n", settings_.model,
                    reason);
    }
}

void RecordPipe::close_after_all() {
    const Uncancelled uncancelled;
    std::unique_lock<std::mutex> guard(mutex_);
    is_closed_ = true;
    changed_.notify_all();
    if (!changed_.wait_for(guard, kPatience, [&] { return has_ended_; })) {
        is_abandoned_ = true;
        changed_.wait_for(guard, std::chrono::milliseconds(10 * kPollMilliseconds), [&] { return has_ended_; });
    }
    if (identity_of(settings_.descriptor) == identity_) {  // else the program has closed it
        ::close(settings_.descriptor);
    }
}

}  // namespace aclsim
