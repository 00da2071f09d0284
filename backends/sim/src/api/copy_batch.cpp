// SPDX-License-Identifier: Apache-2.0
// Batches of copies between host and device (memory_cmo_allocator.md section 3).
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "api/entry.h"
#include "memory/memory.h"
#include "tasks/copy.h"

using namespace aclsim;

namespace {

constexpr std::size_t kNone = SIZE_MAX;      // value of *failIndex if no single item failed
constexpr std::size_t kLongestBatch = 4096;  // limit of the synchronous form
constexpr std::size_t kAnyLength = SIZE_MAX;

// Arguments of one call. attributes[k] describes the items from first_items[k] on.
struct Batch {
    void **destinations;
    std::size_t *limits;
    void **sources;
    std::size_t *sizes;
    std::size_t length;
    aclrtMemcpyBatchAttr *attributes;
    std::size_t *first_items;
    std::size_t attribute_count;
    bool may_have_empty = false;  // the driver takes empty items of the synchronous form
};

bool is_reserved_zero(const aclrtMemcpyBatchAttr &attribute) {
    return std::all_of(std::begin(attribute.rsv), std::end(attribute.rsv), [](std::uint8_t byte) { return byte == 0; });
}

// Checks of the ACL layer. Returns false if all items are empty.
bool check_arrays(const Batch &batch) {
    require(batch.sizes, "sizes");
    if (batch.length == 0) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "numBatches is 0");
    }
    if (std::all_of(batch.sizes, batch.sizes + batch.length, [](std::size_t size) { return size == 0; })) {
        return false;
    }
    require(batch.destinations, "dsts");
    require(batch.limits, "destMaxs");
    require(batch.sources, "srcs");
    require(batch.attributes, "attrs");
    require(batch.first_items, "attrsIndexes");
    for (std::size_t i = 0; i < batch.length; ++i) {
        if (batch.limits[i] < batch.sizes[i]) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "item %zu: %zu bytes do not fit into a destination of %zu", i,
                              batch.sizes[i], batch.limits[i]);
        }
    }
    // Limit the loop to the number of items: a larger number of attributes is refused below, and the array may be
    // shorter than that number.
    for (std::size_t k = 0; k < std::min(batch.attribute_count, batch.length); ++k) {
        if (!is_reserved_zero(batch.attributes[k])) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "attribute %zu: the reserved bytes must be 0", k);
        }
    }
    return true;
}

// Checks of the runtime layer before it examines the items.
void check_attributes(const Batch &batch, std::size_t longest) {
    if (batch.attribute_count == 0 || batch.attribute_count > batch.length) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "numAttrs must be 1 to numBatches, not %zu", batch.attribute_count);
    }
    if (batch.length > longest) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%zu items are more than %zu", batch.length, longest);
    }
    for (std::size_t k = 0; k < batch.attribute_count; ++k) {
        const std::size_t first = batch.first_items[k];
        const bool is_in_order = k == 0 ? first == 0 : first > batch.first_items[k - 1];
        if (!is_in_order || first >= batch.length) {
            fail(ACL_ERROR_RT_PARAM_INVALID,
                 "attrsIndexes[%zu] is %zu; the indexes must start with 0, rise, and stay below numBatches", k, first);
        }
    }
}

// Checks that an address is at the declared location. Pageable memory counts as host memory; the id of a host is
// ignored.
bool is_at(Simulator &sim, const void *address, const aclrtMemLocation &declared) REQUIRES(engine_lock) {
    const Location location = sim.memory.space().locate(address);
    switch (declared.type) {
        case ACL_MEM_LOCATION_TYPE_HOST:
        case ACL_MEM_LOCATION_TYPE_HOST_NUMA:
            return location.place == Place::Pinned || location.place == Place::Unregistered;
        case ACL_MEM_LOCATION_TYPE_DEVICE:
            return location.place == Place::Device && declared.id < sim.machine.devices.size() &&
                   sim.machine.devices[declared.id]->physical_id == location.device;
        default:
            return false;
    }
}

bool is_device(const aclrtMemLocation &location) { return location.type == ACL_MEM_LOCATION_TYPE_DEVICE; }

// Returns an item after all checks that the specification prescribes for it, and those of the driver.
Transfer require_item(Simulator &sim, const Batch &batch, std::size_t i, const aclrtMemcpyBatchAttr &attribute)
    REQUIRES(engine_lock) {
    const Transfer item = Transfer::plain(batch.destinations[i], batch.sources[i], batch.sizes[i]);
    if ((item.width == 0 && !batch.may_have_empty) || item.destination == nullptr || item.source == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "item %zu is empty or has a NULL address", i);
    }
    if (!is_at(sim, item.destination, attribute.dstLoc) || !is_at(sim, item.source, attribute.srcLoc)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "item %zu: an address is not where its attribute says", i);
    }
    if (is_device(attribute.dstLoc) == is_device(attribute.srcLoc)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "item %zu does not cross between host and device", i);
    }
    require_not_lost(require_device(sim, (is_device(attribute.dstLoc) ? attribute.dstLoc : attribute.srcLoc).id));
    if (item.width != 0) {
        require_ranges(sim.memory, item);
    }
    return item;
}

// Calls the function with every item and its direction. On failure, fail_index identifies the failing item.
template <class Function>
void for_each_item(Simulator &sim, const Batch &batch, std::size_t &fail_index, Function function)
    REQUIRES(engine_lock) {
    std::size_t k = 0;
    for (std::size_t i = 0; i < batch.length; ++i) {
        k += k + 1 < batch.attribute_count && batch.first_items[k + 1] == i ? 1 : 0;
        const aclrtMemcpyBatchAttr &attribute = batch.attributes[k];
        sim.core.note_item();
        try {
            function(require_item(sim, batch, i, attribute),
                     is_device(attribute.dstLoc) ? ACL_MEMCPY_HOST_TO_DEVICE : ACL_MEMCPY_DEVICE_TO_HOST);
        } catch (...) {
            fail_index = i;
            throw;
        }
    }
}

// Runs the checks that both forms make before examining the items, then the body.
template <class Body>
aclError batch_entry(Function function, const Batch &batch, std::size_t longest, std::size_t *failIndex, Body body) {
    return entry(function, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(failIndex, "failIndex");
        if (!check_arrays(batch)) {
            *failIndex = kNone;
            return;
        }
        require_supported();
        *failIndex = kNone;
        check_attributes(batch, longest);
        body(sim, lock);
    });
}

// Checks all items before copying the first, because the driver copies them in one call.
aclError copy_batch(Function function, Batch batch, std::size_t *failIndex) {
    batch.may_have_empty = true;
    return batch_entry(
        function, batch, kLongestBatch, failIndex, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
            std::vector<Transfer> items;
            for_each_item(sim, batch, *failIndex,
                          [&](const Transfer &item, aclrtMemcpyKind) { items.push_back(item); });
            if (const Context *context = current_context(sim)) {
                sim.machine.capture_modes.require_permitted(*context, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
            }
            copy_now(sim.memory, lock, items.data(), items.size());
        });
}

// Queues one item after the other: items before a failing one stay queued.
aclError copy_batch_async(Function function, const Batch &batch, std::size_t *failIndex, aclrtStream stream) {
    return batch_entry(function, batch, kAnyLength, failIndex, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_own_stream(sim, stream);
        sim.core.note_batch();
        for_each_item(sim, batch, *failIndex,
                      [&](const Transfer &item, aclrtMemcpyKind direction) REQUIRES(engine_lock) {
                          // Look up the stream each time: another thread may destroy it while an item waits for it.
                          copy_in_stream(sim.memory, lock, require_own_stream(sim, stream), item, direction);
                      });
    });
}

}  // namespace

aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                          aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex) {
    return copy_batch(Function::aclrtMemcpyBatch,
                      {dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs}, failIndex);
}

aclError aclrtMemcpyBatchV2(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                            aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs) {
    size_t untold = 0;
    return copy_batch(Function::aclrtMemcpyBatchV2,
                      {dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs}, &untold);
}

aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                               aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex,
                               aclrtStream stream) {
    return copy_batch_async(Function::aclrtMemcpyBatchAsync,
                            {dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs}, failIndex,
                            stream);
}

aclError aclrtMemcpyBatchAsyncV2(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                                 aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs,
                                 aclrtStream stream) {
    size_t untold = 0;
    return copy_batch_async(Function::aclrtMemcpyBatchAsyncV2,
                            {dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs}, &untold, stream);
}
