// Data movement: copies and fills, as tasks and at once.
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

// Asks a long movement of data to end early: the queue of the task's stream was dropped.
class Interruption {
  public:
    Interruption() = default;  // never asks
    Interruption(const Stream &stream, std::uint64_t sequence) : dropped_(&stream.dropped), sequence_(sequence) {}
    bool is_requested() const { return dropped_ != nullptr && dropped_->load(std::memory_order_relaxed) >= sequence_; }

  private:
    const std::atomic<std::uint64_t> *dropped_ = nullptr;
    std::uint64_t sequence_ = 0;
};

// height rows of width bytes; a plain copy is one row.
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
    // false when it was interrupted.
    bool move(const Interruption &interruption = {}) const;
};

// count repetitions of a pattern of 1 or 4 bytes.
struct Pattern {
    void *destination;
    std::uint32_t value;
    std::size_t unit;
    std::size_t count;

    bool write(const Interruption &interruption = {}) const;
};

// What a profile has a cost for.
inline Work work_of(aclrtMemcpyKind direction, const Transfer &transfer) {
    const Cost cost = direction == ACL_MEMCPY_HOST_TO_DEVICE     ? Cost::CopyHostToDevice
                      : direction == ACL_MEMCPY_DEVICE_TO_HOST   ? Cost::CopyDeviceToHost
                      : direction == ACL_MEMCPY_DEVICE_TO_DEVICE ? Cost::CopyDeviceToDevice
                                                                 : Cost::None;
    return {cost, transfer.width * transfer.height};
}
inline Work work_of(const Pattern &pattern) { return {Cost::Fill, pattern.unit * pattern.count}; }

// Is it done in a tenth of a microsecond? A worker would need longer to hear of it.
constexpr bool is_instant(std::size_t bytes) { return bytes <= 4 << 10; }

// What a worker does with memory, or the submitter if it is instant. An abort ends it between two pieces.
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
    // How long it takes depends on how many bytes are moved.
    explicit DataTask(std::size_t bytes) : bytes_(bytes) {}
    void set_bytes(std::size_t bytes) { bytes_ = bytes; }  // known when it starts
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

// ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: the source was read before the call returned.
class BufferedCopyTask final : public CopyTask {
  public:
    BufferedCopyTask(void *destination, std::vector<unsigned char> buffer)
        : CopyTask(Transfer::plain(destination, buffer.data(), buffer.size()), ACL_MEMCPY_HOST_TO_DEVICE),
          buffer_(std::move(buffer)) {}

  private:
    std::vector<unsigned char> buffer_;  // moving it keeps its address
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

// All below with the engine lock held.

// The kind that the runtime makes of the caller's kind and the two places: memory_cmo_allocator.md section 3.
// Fails with ACL_ERROR_RT_PARAM_INVALID where the table has no answer.
aclrtMemcpyKind correct_kind(Memory &memory, aclrtMemcpyKind kind, const void *destination, const void *source)
    REQUIRES(engine_lock);

// What the driver would find wrong with the addresses of a copy: memory that is not live, or, between two devices, that
// the current one has no access to.
void require_ranges(Memory &memory, const Transfer &transfer) REQUIRES(engine_lock);

// An asynchronous copy as the runtime does it: with pageable memory on the host side it waits for the stream and
// copies at once (the "pageable rule"), else it is a task.
void copy_in_stream(Memory &memory, Lock &lock, Stream &stream, const Transfer &transfer, aclrtMemcpyKind corrected)
    REQUIRES(engine_lock);

// In the calling thread, without the lock.
void copy_now(Memory &memory, Lock &lock, const Transfer *transfers, std::size_t count) REQUIRES(engine_lock);
inline void copy_now(Memory &memory, Lock &lock, const Transfer &transfer) REQUIRES(engine_lock) {
    copy_now(memory, lock, &transfer, 1);
}
void fill_now(Memory &memory, Lock &lock, const Pattern &pattern) REQUIRES(engine_lock);

}  // namespace aclsim
