// SPDX-License-Identifier: Apache-2.0
// Variables of device programs (memory_cmo_allocator.md section 10).
#include "memory/symbol.h"

#include "api/copy.h"
#include "api/entry.h"
#include "memory/memory.h"

using namespace aclsim;

namespace {

// Copy between a part of a variable and memory of the caller.
struct SymbolCopy {
    const void *symbol;
    std::size_t count;
    std::size_t offset;
    aclrtMemcpyKind kind;
    aclrtMemcpyKind direction;  // direction of the function
};

void require_direction(const SymbolCopy &access) {
    if (access.kind != access.direction && access.kind != ACL_MEMCPY_DEFAULT) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "copy kind %d does not fit the function",
                          static_cast<int>(access.kind));
    }
}

// Returns the address of the part on the current device.
unsigned char *require_part(Simulator &sim, const SymbolCopy &access) REQUIRES(engine_lock) {
    const std::uint64_t size = sim.memory.symbols.size_of(access.symbol);
    const Device &device = require_current_device(sim);
    if (access.count > SIZE_MAX - access.offset) {
        fail_unremembered(ACL_ERROR_FAILURE, "offset %zu and count %zu wrap around", access.offset, access.count);
    }
    if (access.offset + access.count > size) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu bytes from %zu on are not inside the variable's %llu",
                          access.count, access.offset, static_cast<unsigned long long>(size));
    }
    return static_cast<unsigned char *>(sim.memory.symbols.address_of(access.symbol, device)) + access.offset;
}

// Checks the arguments, then calls copy, which copies without a stream or in the order of one.
template <class Copy>
aclError copy_from(Function function, void *dst, std::size_t limit, const SymbolCopy &access, Copy copy) {
    return entry(function, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (access.count == 0) {
            return;
        }
        require(access.symbol, "symbol");
        require(dst, "dst");
        require_supported();
        if (access.count > limit) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu bytes do not fit into a destination of %zu", access.count,
                              limit);
        }
        require_direction(access);
        copy(sim, lock, Transfer::plain(dst, require_part(sim, access), access.count));
    });
}

template <class Copy>
aclError copy_to(Function function, const void *src, const SymbolCopy &access, Copy copy) {
    return entry(function, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (access.count == 0) {
            return;
        }
        require(access.symbol, "symbol");
        require(src, "src");
        require_supported();
        require_direction(access);
        copy(sim, lock, Transfer::plain(require_part(sim, access), src, access.count));
    });
}

auto in_order_of(aclrtStream stream, aclrtMemcpyKind direction) {
    return [stream, direction](Simulator &sim, Lock &lock, const Transfer &transfer)
               REQUIRES(engine_lock) { copy_block_in_stream(sim, lock, stream, transfer, direction); };
}

}  // namespace

aclError aclrtGetSymbolAddress(const void *symbol, void **devPtr) {
    return entry(Function::aclrtGetSymbolAddress, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(symbol, "symbol");
        require(devPtr, "devPtr");
        require_supported();
        sim.memory.symbols.size_of(symbol);  // report an unknown symbol before a missing context
        *devPtr = sim.memory.symbols.address_of(symbol, require_current_device(sim));
    });
}

aclError aclrtGetSymbolSize(const void *symbol, size_t *size) {
    return entry(Function::aclrtGetSymbolSize, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(symbol, "symbol");
        require(size, "size");
        require_supported();
        const std::uint64_t bytes = sim.memory.symbols.size_of(symbol);
        require_context(sim);
        *size = bytes;
    });
}

aclError aclrtMemcpyFromSymbol(void *dst, size_t dstMax, const void *symbol, size_t count, size_t offset,
                               aclrtMemcpyKind kind) {
    return copy_from(Function::aclrtMemcpyFromSymbol, dst, dstMax,
                     {symbol, count, offset, kind, ACL_MEMCPY_DEVICE_TO_HOST}, copy_block);
}

aclError aclrtMemcpyFromSymbolAsync(void *dst, size_t dstMax, const void *symbol, size_t count, size_t offset,
                                    aclrtMemcpyKind kind, aclrtStream stream) {
    return copy_from(Function::aclrtMemcpyFromSymbolAsync, dst, dstMax,
                     {symbol, count, offset, kind, ACL_MEMCPY_DEVICE_TO_HOST},
                     in_order_of(stream, ACL_MEMCPY_DEVICE_TO_HOST));
}

aclError aclrtMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset, aclrtMemcpyKind kind) {
    return copy_to(Function::aclrtMemcpyToSymbol, src, {symbol, count, offset, kind, ACL_MEMCPY_HOST_TO_DEVICE},
                   copy_block);
}

aclError aclrtMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset,
                                  aclrtMemcpyKind kind, aclrtStream stream) {
    return copy_to(Function::aclrtMemcpyToSymbolAsync, src, {symbol, count, offset, kind, ACL_MEMCPY_HOST_TO_DEVICE},
                   in_order_of(stream, ACL_MEMCPY_HOST_TO_DEVICE));
}

aclError aclsimRegisterSymbol(const void *symbol, const void *content, size_t size) {
    return entry(Function::aclsimRegisterSymbol, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(symbol, "symbol");
        require(content, "content");
        require_size(size);
        if (size > config().product->memory_bytes) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu bytes are more than a device has", size);
        }
        const auto *bytes = static_cast<const unsigned char *>(content);
        sim.memory.symbols.add(symbol, {bytes, bytes + size});
    });
}

aclError aclsimUnregisterSymbol(const void *symbol) {
    return entry(Function::aclsimUnregisterSymbol, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(symbol, "symbol");
        sim.memory.symbols.remove(symbol);
    });
}
