// SPDX-License-Identifier: Apache-2.0
// Data movement: copies and fills, as tasks or within the call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/stream.h"
#include "engine/task.h"
#include "memory/extent.h"

namespace aclsim {

class ContextStream;
class Memory;

// Request to end a long transfer early, because the queue of the task's stream was dropped.
class Interruption {
  public:
    Interruption() = default;  // never requests it
    Interruption(const Stream &stream, std::uint64_t sequence) : dropped_(&stream.dropped), sequence_(sequence) {}
    bool is_requested() const { return dropped_ != nullptr && dropped_->load(std::memory_order_relaxed) >= sequence_; }

  private:
    const std::atomic<std::uint64_t> *dropped_ = nullptr;
    std::uint64_t sequence_ = 0;
};

// Transfer of `height` rows of `width` bytes; a plain copy has one row.
struct Transfer {
    void *destination;
    std::size_t destination_pitch;
    const void *source;
    std::size_t source_pitch;
    std::size_t width;
    std::size_t height;

    static Transfer plain(void *destination, const void *source, std::size_t count) {
        return {destination, count, source, count, count, 1};
    }
    // Returns false if the transfer was interrupted.
    bool move(const Interruption &interruption = {}) const;
};

// Fill with `count` repetitions of a pattern of 1 or 4 bytes.
struct Pattern {
    void *destination;
    std::uint32_t value;
    std::size_t unit;
    std::size_t count;

    bool write(const Interruption &interruption = {}) const;
};

// Work for which a profile specifies a cost.
inline Work work_of(aclrtMemcpyKind direction, const Transfer &transfer) {
    const Cost cost = direction == ACL_MEMCPY_HOST_TO_DEVICE     ? Cost::CopyHostToDevice
                      : direction == ACL_MEMCPY_DEVICE_TO_HOST   ? Cost::CopyDeviceToHost
                      : direction == ACL_MEMCPY_DEVICE_TO_DEVICE ? Cost::CopyDeviceToDevice
                                                                 : Cost::None;
    return {cost, transfer.width * transfer.height};
}
inline Work work_of(const Pattern &pattern) { return {Cost::Fill, pattern.unit * pattern.count}; }

// Returns true if the transfer takes about a tenth of a microsecond, less than handing it over to a worker.
constexpr bool is_instant(std::size_t bytes) { return bytes <= 4 << 10; }

// Work on memory by a worker, or by the submitting thread if it is instant. Aborts take effect between two pieces.
class DataTask : public Task {
  public:
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        interruption_ = {stream, sequence};
        return Start::Run;
    }
    bool run_at_once() final REQUIRES(engine_lock) { return is_instant(bytes_) && perform({}); }
    void run() final { was_cut_short = !perform(interruption_); }
    bool is_brief() const final { return bytes_ <= kBriefBytes; }

  protected:
    static constexpr std::size_t kUnknown = SIZE_MAX;
    // The number of bytes determines the cost.
    explicit DataTask(std::size_t bytes) : bytes_(bytes) {}
    void set_bytes(std::size_t bytes) { bytes_ = bytes; }  // known when the task starts
    virtual bool perform(const Interruption &interruption) const = 0;

  private:
    static constexpr std::size_t kBriefBytes = 4 << 20;

    std::size_t bytes_;
    Interruption interruption_;
};

class CopyTask : public DataTask {
  public:
    CopyTask(const Transfer &transfer, aclrtMemcpyKind direction)
        : DataTask(transfer.width * transfer.height), transfer_(transfer), direction_(direction) {}
    static constexpr TaskInfo kInfo{"MEMCPY", "a copy"};
    const TaskInfo &info() const final { return kInfo; }
    Work work() const final { return work_of(direction_, transfer_); }
    bool stays_in_shard(const Stream &) const override REQUIRES(engine_lock) { return true; }

  protected:
    bool perform(const Interruption &interruption) const override { return transfer_.move(interruption); }
    Transfer transfer_;

  private:
    const aclrtMemcpyKind direction_;
};

// ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: copies from a buffer, because the source was read before the call returned.
class BufferedCopyTask final : public CopyTask {
  public:
    BufferedCopyTask(void *destination, std::vector<unsigned char> buffer)
        : CopyTask(Transfer::plain(destination, buffer.data(), buffer.size()), ACL_MEMCPY_HOST_TO_DEVICE),
          buffer_(std::move(buffer)) {}

  private:
    std::vector<unsigned char> buffer_;  // keeps its address when the task is moved
};

class FillTask final : public DataTask {
  public:
    explicit FillTask(const Pattern &pattern) : DataTask(pattern.unit * pattern.count), pattern_(pattern) {}
    static constexpr TaskInfo kInfo{"MEMSET", "a fill of memory"};
    const TaskInfo &info() const override { return kInfo; }
    Work work() const override { return work_of(pattern_); }
    bool stays_in_shard(const Stream &) const override REQUIRES(engine_lock) { return true; }

  protected:
    bool perform(const Interruption &interruption) const override { return pattern_.write(interruption); }

  private:
    Pattern pattern_;
};

// Fails with ACL_ERROR_RT_PARAM_INVALID.
void require_fits(std::size_t count, std::size_t limit);

// Functions that require the engine lock.

// Returns the effective kind for the caller's kind and the two locations (memory_cmo_allocator.md section 3). Fails
// with ACL_ERROR_RT_PARAM_INVALID if the table has no entry.
aclrtMemcpyKind correct_kind(Memory &memory, aclrtMemcpyKind kind, const void *destination, const void *source)
    REQUIRES(engine_lock);

// Performs the driver's checks of the addresses of a copy: memory that is not live or, between two devices, not
// accessible to the current one.
void require_ranges(Memory &memory, const Transfer &transfer) REQUIRES(engine_lock);

// Performs an asynchronous copy as the runtime does: with pageable memory on the host side it waits for the stream and
// copies within the call (the "pageable rule"); otherwise it submits a task.
void copy_in_stream(Memory &memory, Lock &lock, Stream &stream, const Transfer &transfer, aclrtMemcpyKind corrected)
    REQUIRES(engine_lock);

// Copies in the calling thread, with the engine lock released.
void copy_now(Memory &memory, Lock &lock, const Transfer *transfers, std::size_t count) REQUIRES(engine_lock);
inline void copy_now(Memory &memory, Lock &lock, const Transfer &transfer) REQUIRES(engine_lock) {
    copy_now(memory, lock, &transfer, 1);
}
void fill_now(Memory &memory, Lock &lock, const Pattern &pattern) REQUIRES(engine_lock);

}  // namespace aclsim
