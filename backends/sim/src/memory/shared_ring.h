// SPDX-License-Identifier: Apache-2.0
// Queue of several processes, in shared memory.
//
// Every step is taken under a lock that the kernel releases however its owner ends. A message exists when the number of
// messages says so, and its buffers are parts of the queue (support/shared_memory.h), so that a process killed in the
// middle of a step loses at most the message that it was about to put or take. Other processes may write any value to
// the memory: every number is read once and checked.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/ring.h"
#include "support/shared_memory.h"
#include "support/shared_turn.h"

namespace aclsim {

struct PartInfo;

class SharedRing final : public Ring {
  public:
    static constexpr std::uint32_t kMostSlots = 8192;
    static std::unique_ptr<SharedRing> create(const QueueAttributes &attributes) REQUIRES(engine_lock);
    // Returns nullptr if the queue does not exist any more, or the memory is not one.
    static std::unique_ptr<SharedRing> open(std::uint64_t number) REQUIRES(engine_lock);
    ~SharedRing() override;

    std::uint64_t number() const { return memory_->number(); }
    std::uint32_t count() override REQUIRES(engine_lock);
    Front front() override REQUIRES(engine_lock);
    void put(Message &message) override REQUIRES(engine_lock);
    Message take() override REQUIRES(engine_lock);
    std::uint32_t depth() const override { return depth_; }
    bool overwrites() const override { return overwrites_; }
    bool is_open() const override;
    std::vector<Message> close() override REQUIRES(engine_lock);
    std::uint64_t changes() const override;
    bool is_shared() const override { return true; }
    std::uint32_t rights() const override;
    std::atomic<std::uint32_t> &routes() override;

    // Adds the rights to those that the process has; it has them after it has attached. Fails with
    // ACL_ERROR_RT_RESOURCE_ALLOC_FAIL if too many processes have some.
    void grant(pid_t process, std::uint32_t rights) REQUIRES(engine_lock);
    // Makes this process a user of the queue; returns false if it was granted no right.
    bool attach() REQUIRES(engine_lock);
    // Returns the number of a process with one of the rights that has ended, or 0. Each is returned once.
    pid_t find_ended(std::uint32_t rights) REQUIRES(engine_lock);

  protected:
    void begin() override REQUIRES(engine_lock);
    void end() override REQUIRES(engine_lock);

  private:
    struct Member;
    struct Slot;
    struct Shared;
    explicit SharedRing(std::shared_ptr<SharedMemory> memory);
    Shared &shared() const;
    bool is_whole() const;
    void require_whole() const;
    [[noreturn]] void fail_damaged() const;
    Slot &slot(std::uint64_t position) const;
    // Returns a copy of the slot, whose numbers are in their ranges.
    Slot checked_slot(std::uint64_t position) const REQUIRES(engine_lock);
    std::string part_name(std::uint64_t position, std::size_t index) const;
    // Describes the buffers of the message in a slot, of which that is a copy.
    std::vector<PartInfo> parts_of(const Slot &slot, std::uint64_t position) const REQUIRES(engine_lock);
    std::size_t member_byte(std::size_t index) const;
    bool has_ended(std::size_t index) REQUIRES(engine_lock);
    void join(std::size_t index, std::uint32_t rights) REQUIRES(engine_lock);
    std::optional<std::size_t> find_row(pid_t process) REQUIRES(engine_lock);

    const std::shared_ptr<SharedMemory> memory_;
    std::uint32_t depth_ = 0;
    bool overwrites_ = false;
    std::optional<std::size_t> own_row_;
    std::optional<SharedTurn> turn_;
};

}  // namespace aclsim
