// SPDX-License-Identifier: Apache-2.0
// Data items and datasets: the tensors that a channel carries (tensor_channels.md sections 1 and 2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "abi/acl.h"
#include "engine/registry.h"
#include "memory/memory.h"

namespace aclsim {

// Pinned memory for internal use, which aclrtFreeHost does not free.
struct PinnedRelease {
    Memory *memory = nullptr;
    void operator()(void *address) const REQUIRES(engine_lock);
};
using PinnedBlock = std::unique_ptr<void, PinnedRelease>;

// Releases the lock while the host returns pages. Fails with ACL_ERROR_RT_MEMORY_ALLOCATION if there is no room.
PinnedBlock allocate_pinned_block(Memory &memory, Lock &lock, std::uint64_t size) REQUIRES(engine_lock);

struct DataItem final : public Object {
    static constexpr Kind kKind = Kind::DataItem;
    acltdtTensorType type = ACL_TENSOR_DATA_TENSOR;
    std::vector<std::int64_t> dimensions;
    aclDataType data_type = ACL_DT_UNDEFINED;
    std::size_t size = 0;
    void *data = nullptr;         // the program's memory, whose content a send copies
    void *received = nullptr;     // memory of the set that received the item
    bool belongs_to_set = false;  // it ends with that set
};

// Set of items. It does not own the items that the program adds, but those that it receives, and their memory.
class Dataset final : public Object {
  public:
    static constexpr Kind kKind = Kind::Dataset;
    enum class Side : std::uint8_t { Unknown, Host, Device };

    explicit Dataset(Memory &memory) : memory_(memory) {}
    // All items with data must be on the same side: device memory, or memory of the host.
    void add(const DataItem &item) REQUIRES(engine_lock);
    // Returns the handles of the items. The program may have destroyed its own.
    const std::vector<void *> &items() const REQUIRES(engine_lock) { return items_; }
    // Replaces what was received before, and takes the block over. Fails, without a change, if the host has no memory.
    void receive(const std::vector<Ref<DataItem>> &items, PinnedBlock &block) REQUIRES(engine_lock);
    bool has_own_items() const REQUIRES(engine_lock) { return !has_received_ && !items_.empty(); }
    // Ends the received items.
    void clear_received() REQUIRES(engine_lock);

  private:
    Side side_of(const DataItem &item) REQUIRES(engine_lock);

    Memory &memory_;
    std::vector<void *> items_ GUARDED_BY(engine_lock);
    Side side_ GUARDED_BY(engine_lock) = Side::Unknown;
    bool has_received_ GUARDED_BY(engine_lock) = false;
    PinnedBlock block_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
