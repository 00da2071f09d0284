// SPDX-License-Identifier: Apache-2.0
// Allocators of the application (memory_cmo_allocator.md section 8). Calls do not check devices, contexts or streams: a
// registration belongs to the value of a stream handle.
#include "memory/allocator.h"

#include "api/entry.h"
#include "memory/memory.h"

using namespace aclsim;

namespace {

// Rejects a pointer that is not a descriptor as an invalid argument. The real runtime follows any pointer.
AllocatorDesc &require_desc(Simulator &sim, aclrtAllocatorDesc desc) REQUIRES(engine_lock) {
    require(desc, "allocatorDesc");
    AllocatorDesc *found = sim.core.registry().find<AllocatorDesc>(desc);
    if (found == nullptr) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%p is not a live allocator descriptor", desc);
    }
    return *found;
}

template <class Value>
aclError set_field(Function function, aclrtAllocatorDesc desc, Value Allocator::*field, Value value, const char *name) {
    return ungated_entry(function, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        AllocatorDesc &found = require_desc(sim, desc);
        if (value == nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "%s is NULL", name);
        }
        found.allocator.*field = value;
    });
}

template <class Value>
void require_set(Value value, const char *setter) {
    if (value == nullptr) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "the descriptor is incomplete: call %s first", setter);
    }
}

template <class Value>
void give(Value *out, Value value) {
    if (out != nullptr) {
        *out = value;
    }
}

}  // namespace

aclrtAllocatorDesc aclrtAllocatorCreateDesc() {
    aclrtAllocatorDesc handle = nullptr;
    ungated_entry(Function::aclrtAllocatorCreateDesc, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const auto desc = make_ref<AllocatorDesc>();
        sim.core.registry().add(desc);
        handle = desc->handle();
    });
    return handle;
}

aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc allocatorDesc) {
    return ungated_entry(Function::aclrtAllocatorDestroyDesc, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.core.registry().remove(require_desc(sim, allocatorDesc));
    });
}

aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocator allocator) {
    return set_field(Function::aclrtAllocatorSetObjToDesc, allocatorDesc, &Allocator::object, allocator, "allocator");
}

aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorAllocFunc func) {
    return set_field(Function::aclrtAllocatorSetAllocFuncToDesc, allocatorDesc, &Allocator::allocate, func, "func");
}

aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorFreeFunc func) {
    return set_field(Function::aclrtAllocatorSetFreeFuncToDesc, allocatorDesc, &Allocator::release, func, "func");
}

aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorAllocAdviseFunc func) {
    return set_field(Function::aclrtAllocatorSetAllocAdviseFuncToDesc, allocatorDesc, &Allocator::advise, func, "func");
}

aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                     aclrtAllocatorGetAddrFromBlockFunc func) {
    return set_field(Function::aclrtAllocatorSetGetAddrFromBlockFuncToDesc, allocatorDesc, &Allocator::address_of, func,
                     "func");
}

aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc allocatorDesc) {
    return ungated_entry(Function::aclrtAllocatorRegister, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(stream, "stream");
        const Allocator &allocator = require_desc(sim, allocatorDesc).allocator;
        require_set(allocator.object, "aclrtAllocatorSetObjToDesc");
        require_set(allocator.allocate, "aclrtAllocatorSetAllocFuncToDesc");
        require_set(allocator.release, "aclrtAllocatorSetFreeFuncToDesc");
        require_set(allocator.address_of, "aclrtAllocatorSetGetAddrFromBlockFuncToDesc");
        require_supported();
        sim.memory.allocators.add(stream, {allocatorDesc, allocator});
    });
}

aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc *allocatorDesc, aclrtAllocator *allocator,
                                   aclrtAllocatorAllocFunc *allocFunc, aclrtAllocatorFreeFunc *freeFunc,
                                   aclrtAllocatorAllocAdviseFunc *allocAdviseFunc,
                                   aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc) {
    return ungated_entry(Function::aclrtAllocatorGetByStream, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(allocatorDesc, "allocatorDesc");
        require(stream, "stream");
        require_supported();
        const Allocators::Registration *found = sim.memory.allocators.find(stream);
        if (found == nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "no allocator is registered for stream %p", stream);
        }
        *allocatorDesc = found->desc;
        give(allocator, found->allocator.object);
        give(allocFunc, found->allocator.allocate);
        give(freeFunc, found->allocator.release);
        give(allocAdviseFunc, found->allocator.advise);
        give(getAddrFromBlockFunc, found->allocator.address_of);
    });
}

aclError aclrtAllocatorUnregister(aclrtStream stream) {
    return ungated_entry(Function::aclrtAllocatorUnregister, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(stream, "stream");
        require_supported();
        sim.memory.allocators.remove(stream);
    });
}

aclError aclsimRunOperator(aclrtStream stream, size_t workspaceBytes) {
    return entry(Function::aclsimRunOperator, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        run_operator(sim.memory, lock, require_own_stream(sim, stream), workspaceBytes);
    });
}
