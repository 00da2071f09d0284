// SPDX-License-Identifier: Apache-2.0
// Cache operations (memory_cmo_allocator.md section 6). Plain operations take any stream that is not bound to a model;
// the others take only bound streams.
#include "tasks/cmo.h"

#include "api/entry.h"
#include "memory/memory.h"
#include "tasks/model.h"

using namespace aclsim;

namespace {

constexpr std::size_t kCmoDescriptorAlignment = 64;

bool is_type(aclrtCmoType type) { return type >= ACL_RT_CMO_TYPE_PREFETCH && type <= ACL_RT_CMO_TYPE_FLUSH; }

[[noreturn]] void refuse_type(aclrtCmoType type) {
    fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "there is no cache operation %d", static_cast<int>(type));
}

CacheRange range_of(const void *address, std::size_t size) { return {address, static_cast<std::uint32_t>(size)}; }

void require_bound_to_model(const ContextStream &stream) REQUIRES(engine_lock) {
    if (stream.keeper == nullptr) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %u is not bound to a model; see aclmdlRIBindStream", stream.id);
    }
    if (stream.is_hidden) {  // graphs_kernels.md section B1 [obs]
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a captured graph has no cache operations with barriers");
    }
}

// Checks place and alignment of a descriptor. The runtime checks neither, but the hardware requires both.
void require_cmo_descriptor(Simulator &sim, const void *descriptor, AccessMode mode) REQUIRES(engine_lock) {
    const std::size_t size = CmoDescriptor::of_product().size;
    const bool is_device = sim.memory.space().locate(descriptor).place == Place::Device;
    if (!is_device || !sim.memory.space().is_live(descriptor, size) ||
        reinterpret_cast<std::uintptr_t>(descriptor) % kCmoDescriptorAlignment != 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "cmoDesc %p is not %zu bytes of live device memory, aligned to %zu%s",
             descriptor, size, kCmoDescriptorAlignment, explain_address(sim.memory, descriptor).c_str());
    }
    note_use(sim.memory, descriptor, size, mode, "cmoDesc");
}

// Checks the barrier id. Barriers name operations that drop data; all other operations have id 0.
void require_tag(aclrtCmoType type, std::uint32_t id) {
    const bool is_known = is_type(type);
    const bool is_tagged = type == ACL_RT_CMO_TYPE_INVALID;
    if (is_known && is_tagged != (id != 0)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "barrierId %u: ACL_RT_CMO_TYPE_INVALID takes one above 0, other types take 0",
             id);
    }
}

// Returns the operations that the barrier waits for: those in the model at the time of the call that have its ids.
CmoBarriers::Operations operations_of(const CmoBarriers &barriers, const aclrtBarrierTaskInfo &info)
    REQUIRES(engine_lock) {
    CmoBarriers::Operations operations;
    for (std::size_t i = 0; i < info.barrierNum; ++i) {
        const CmoBarriers::Operations *found = barriers.find(info.cmoInfo[i].barrierId);
        if (found == nullptr) {
            fail(ACL_ERROR_RT_STREAM_MODEL, "no operation of the stream's model has the barrierId %u of entry %zu",
                 info.cmoInfo[i].barrierId, i);
        }
        operations.insert(operations.end(), found->begin(), found->end());
    }
    return operations;
}

}  // namespace

aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream) {
    return entry(Function::aclrtCmoAsync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(src, "src");
        require_size(size);
        require_supported();
        if (!is_type(cmoType)) {
            refuse_type(cmoType);
        }
        ContextStream &on = require_own_stream(sim, stream);
        if (on.keeper != nullptr && !on.is_hidden) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                              "stream %u is bound to a model; use aclrtCmoAsyncWithDesc", on.id);
        }
        note_use(sim.memory, src, size, AccessMode::Read, "src");
        sim.core.admit(lock, on);
        sim.core.submit(on, CmoTask(cmoType, range_of(src, size)));
    });
}

aclError aclrtCmoAsyncWithBarrier(void *src, size_t size, aclrtCmoType cmoType, uint32_t barrierId,
                                  aclrtStream stream) {
    return entry(Function::aclrtCmoAsyncWithBarrier, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(src, "src");
        require_supported();
        if (size == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "size is 0");
        }
        require_tag(cmoType, barrierId);
        if (!is_type(cmoType)) {
            refuse_type(cmoType);
        }
        ContextStream &on = require_own_stream(sim, stream);
        require_bound_to_model(on);
        note_use(sim.memory, src, size, AccessMode::Read, "src");
        sim.core.admit(lock, on);
        if (cmoType == ACL_RT_CMO_TYPE_INVALID) {
            CmoBarriers &barriers = model_of(on)->barriers;
            sim.core.submit(on, TaggedCmoTask(sim.core, barriers, barriers.add(barrierId, on)));
        } else {
            sim.core.submit(on, CmoTask(cmoType, range_of(src, size)));
        }
    });
}

aclError aclrtCmoWaitBarrier(aclrtBarrierTaskInfo *taskInfo, aclrtStream stream, uint32_t) {
    return entry(Function::aclrtCmoWaitBarrier, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(taskInfo, "taskInfo");
        if (taskInfo->barrierNum == 0 || taskInfo->barrierNum > ACL_RT_CMO_MAX_BARRIER_NUM) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu barriers are not 1 to %d", taskInfo->barrierNum,
                              ACL_RT_CMO_MAX_BARRIER_NUM);
        }
        for (std::size_t i = 0; i < taskInfo->barrierNum; ++i) {
            const aclrtBarrierCmoInfo &info = taskInfo->cmoInfo[i];
            if (info.cmoType != ACL_RT_CMO_TYPE_INVALID || info.barrierId == 0) {
                fail(ACL_ERROR_RT_PARAM_INVALID, "entry %zu is not of ACL_RT_CMO_TYPE_INVALID with a barrierId above 0",
                     i);
            }
        }
        require_supported();
        ContextStream &on = require_own_stream(sim, stream);
        require_bound_to_model(on);
        auto operations = operations_of(model_of(on)->barriers, *taskInfo);
        sim.core.admit(lock, on);
        sim.core.submit(on, CmoBarrierTask(sim.core, model_of(on)->barriers, std::move(operations)));
    });
}

aclError aclrtCmoGetDescSize(size_t *size) {
    return entry(Function::aclrtCmoGetDescSize, [&](Simulator &, Lock &) {
        require_supported();
        if (size == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "size is NULL");
        }
        *size = CmoDescriptor::of_product().size;
    });
}

aclError aclrtCmoSetDesc(void *cmoDesc, void *src, size_t size) {
    return entry(Function::aclrtCmoSetDesc, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_supported();
        if (cmoDesc == nullptr || src == nullptr || size == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "cmoDesc or src is NULL, or size is 0");
        }
        require_working_context(sim);
        require_cmo_descriptor(sim, cmoDesc, AccessMode::Write);
        note_use(sim.memory, src, size, AccessMode::None, "src");
        CmoDescriptor::of_product().write(cmoDesc, range_of(src, size));
    });
}

aclError aclrtCmoAsyncWithDesc(void *cmoDesc, aclrtCmoType cmoType, aclrtStream stream, const void *reserve) {
    return entry(Function::aclrtCmoAsyncWithDesc, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (reserve != nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "reserve must be NULL");
        }
        require_supported();
        if (stream != nullptr) {
            require_handle<ContextStream>(sim, stream, "stream");
        }
        if (cmoDesc == nullptr || !is_type(cmoType)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "cmoDesc is NULL, or there is no cache operation %d",
                 static_cast<int>(cmoType));
        }
        ContextStream &on = require_own_stream(sim, stream);
        require_bound_to_model(on);
        require_cmo_descriptor(sim, cmoDesc, AccessMode::ReadWrite);  // write_head() below completes it
        sim.core.admit(lock, on);
        CmoDescriptor::of_product().write_head(cmoDesc, cmoType);
        sim.core.submit(on, DescribedCmoTask(sim.memory, cmoType, cmoDesc));
    });
}
