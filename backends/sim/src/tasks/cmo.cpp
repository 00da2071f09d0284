// SPDX-License-Identifier: Apache-2.0
#include "tasks/cmo.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/core.h"
#include "memory/memory.h"

namespace aclsim {
namespace {

constexpr std::size_t kCacheLine = 64;
// Opcode of PREFETCH; the other types follow (memory_cmo_allocator.md section 6.1).
constexpr std::uint32_t kFirstOpcode = 6;

constexpr CmoDescriptor kShortDescriptor{/*size=*/32, /*address=*/16, /*length=*/12, /*head=*/8};
constexpr CmoDescriptor kLongDescriptor{/*size=*/64, /*address=*/32, /*length=*/48, /*head=*/28};

// Prefetches with the processor's instruction, which, like the device's, accepts any address and never faults: the
// range may be unknown to the runtime, or unmapped. Anything beyond the size of the cache would only evict the
// beginning.
void prefetch(const CacheRange &range) {
    const auto *bytes = static_cast<const char *>(range.address);
    const std::uint64_t end = std::min<std::uint64_t>(range.length, config().product->l2_bytes);
    for (std::uint64_t offset = 0; offset < end; offset += kCacheLine) {
        __builtin_prefetch(bytes + offset);
    }
}

// Treats write-back, flush and invalidation as no-ops, because memory is coherent.
void operate(aclrtCmoType type, const CacheRange &range) {
    if (type == ACL_RT_CMO_TYPE_PREFETCH) {
        prefetch(range);
    }
}

}  // namespace

// --- descriptors -----------------------------------------------------------------------------------------------------

const CmoDescriptor &CmoDescriptor::of_product() {
    return config().product->has(kHasLongDescriptors) ? kLongDescriptor : kShortDescriptor;
}

void CmoDescriptor::write(void *descriptor, const CacheRange &range) const {
    auto *bytes = static_cast<unsigned char *>(descriptor);
    std::memset(bytes, 0, size);
    std::memcpy(bytes + address, &range.address, sizeof range.address);
    std::memcpy(bytes + length, &range.length, sizeof range.length);
}

void CmoDescriptor::write_head(void *descriptor, aclrtCmoType type) const {
    const std::uint32_t opcode = kFirstOpcode + static_cast<std::uint32_t>(type);
    std::memset(descriptor, 0, head);
    std::memcpy(descriptor, &opcode, sizeof opcode);
}

CacheRange CmoDescriptor::read(const void *descriptor) const {
    const auto *bytes = static_cast<const unsigned char *>(descriptor);
    CacheRange range{};
    std::memcpy(&range.address, bytes + address, sizeof range.address);
    std::memcpy(&range.length, bytes + length, sizeof range.length);
    return range;
}

// --- barriers --------------------------------------------------------------------------------------------------------

std::shared_ptr<CmoBarriers::Operation> CmoBarriers::add(std::uint32_t id, const Stream &stream) {
    auto operation = std::make_shared<Operation>(Operation{Ref<const Stream>(stream), false, {}});
    operations_[id].push_back(operation);
    return operation;
}

const CmoBarriers::Operations *CmoBarriers::find(std::uint32_t id) const {
    const auto found = operations_.find(id);
    return found == operations_.end() ? nullptr : &found->second;
}

void CmoBarriers::complete(Core &core, Operation &operation) {
    operation.is_done = true;
    waiters_.wake(core);
}

bool CmoBarrierTask::try_pass() {
    return std::all_of(operations_.begin(), operations_.end(), [](const auto &it) { return it->is_done; });
}

void CmoBarrierTask::note_passed(const Stream &stream) {
    for (const auto &operation : operations_) {
        core_.note_edge({operation->task, stream.point(*this), Ordering::Barrier});
    }
}

// Reports the newest task, which is never earlier than the operation: the position of the operation in its stream
// depends on the execution of the model.
void CmoBarrierTask::add_causes(Causes &causes) const {
    for (const auto &operation : operations_) {
        if (!operation->is_done) {
            causes.list.push_back({operation->stream.get(), operation->stream->submitted});
        }
    }
}

// --- operations ------------------------------------------------------------------------------------------------------

void CmoTask::run() { operate(type_, range_); }

Start DescribedCmoTask::start(Stream &stream) {
    const CmoDescriptor &layout = CmoDescriptor::of_product();
    if (!memory_.space().is_live(descriptor_, layout.size)) {  // freed after the call
        memory_.core.note_found(stream, *this, {descriptor_, layout.size, AccessMode::Read, "cmoDesc"}, false);
        result = ACL_ERROR_RT_DRV_INTERNAL_ERROR;
        return Start::Done;
    }
    range_ = layout.read(descriptor_);
    if (memory_.space().locate(range_.address).place != Place::Unregistered) {
        memory_.core.note_found(stream, *this, {range_.address, range_.length, AccessMode::Read, "src"}, true);
    }
    return Start::Run;
}

void DescribedCmoTask::run() { operate(type_, range_); }

}  // namespace aclsim
