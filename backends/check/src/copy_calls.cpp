// SPDX-License-Identifier: Apache-2.0
// Copies, fills and reductions.
#include <algorithm>
#include <cstring>

#include "call.h"
#include "operands.h"

using namespace aclsim::wrapped;
using aclsim::Access;

namespace {

std::uint64_t size_of(aclDataType type) {
    switch (type) {
        case ACL_INT8:
        case ACL_UINT8:
            return 1;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16:
            return 2;
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32:
            return 4;
        default:
            return 8;
    }
}

// Parts of a batch are not ordered among each other.
void add_batch(Check &check, void **dsts, void **srcs, const size_t *sizes, size_t count, aclrtStream stream) {
    const std::uint64_t batch = check.new_batch();
    bool is_pageable = false;
    Points tasks;
    for (size_t i = 0; i < count; ++i) {
        const auto target = check.operands_of({writes(dsts[i], sizes[i])});
        const auto source = check.operands_of({reads(srcs[i], sizes[i])});
        is_pageable = is_pageable || target.empty() || source.empty();
        auto both = target;
        both.insert(both.end(), source.begin(), source.end());
        tasks.push_back(check.add_task(stream, std::move(both), batch));
    }
    if (is_pageable) {
        check.learn(tasks);
    }
}

std::vector<Access> of_batch(void **dsts, void **srcs, const size_t *sizes, size_t count) {
    std::vector<Access> accesses;
    for (size_t i = 0; i < count; ++i) {
        for (Access access : {writes(dsts[i], sizes[i]), reads(srcs[i], sizes[i])}) {
            access.item = static_cast<std::uint32_t>(i + 1);
            accesses.push_back(access);
        }
    }
    return accesses;
}

std::vector<Access> of_copy(void *dst, const void *src, size_t count) {
    return {writes(dst, count), reads(src, count)};
}

std::vector<Access> of_rows(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height) {
    return {rows(writes(dst, 0), width, height, dpitch), rows(reads(src, 0), width, height, spitch)};
}

// A number of elements in memory of the device is unseen, and so are the written bytes then.
std::vector<Access> of_random(const aclrtRandomNumTaskInfo &info) {
    constexpr std::uint64_t kCounterSize = 16;
    std::uint64_t count = 0;
    if (info.randomNum.isAddr == 0) {
        std::memcpy(&count, info.randomNum.valueOrAddr, std::min<std::size_t>(info.randomNum.size, sizeof count));
    }
    const bool is_mask = info.randomNumFuncParaInfo.funcType == ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK;
    const std::uint64_t size = is_mask ? (count + 7) / 8 : count * size_of(info.dataType);
    return {writes(info.randomResultAddr, size, "randomResultAddr"),
            reads(info.randomCounterAddr, kCounterSize, "randomCounterAddr")};
}

}  // namespace

// --- blocking: accesses of the host ----------------------------------------------------------------------------------

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind) {
    return FORWARD(aclrtMemcpy, check.access(of_copy(dst, src, count)), dst, destMax, src, count, kind);
}

aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
    return FORWARD(aclrtMemcpy2d, check.access(of_rows(dst, dpitch, src, spitch, width, height)), dst, dpitch, src,
                   spitch, width, height, kind);
}

aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                          aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex) {
    return FORWARD(aclrtMemcpyBatch, check.access(of_batch(dsts, srcs, sizes, numBatches)), dsts, destMaxs, srcs, sizes,
                   numBatches, attrs, attrsIndexes, numAttrs, failIndex);
}

aclError aclrtMemcpyBatchV2(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                            aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs) {
    return FORWARD(aclrtMemcpyBatchV2, check.access(of_batch(dsts, srcs, sizes, numBatches)), dsts, destMaxs, srcs,
                   sizes, numBatches, attrs, attrsIndexes, numAttrs);
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
    return FORWARD(aclrtMemset, check.access({writes(devPtr, count, "devPtr")}), devPtr, maxCount, value, count);
}

aclError aclrtMemsetD32(void *ptr, size_t memSize, uint32_t value, size_t N) {
    return FORWARD(aclrtMemsetD32, check.access({writes(ptr, 4 * N, "ptr")}), ptr, memSize, value, N);
}

// --- in streams ------------------------------------------------------------------------------------------------------

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
    return FORWARD(aclrtMemcpyAsync, check.add_copy(of_copy(dst, src, count), kind, stream), dst, destMax, src, count,
                   kind, stream);
}

aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                                       aclrtStream stream) {
    return FORWARD(aclrtMemcpyAsyncWithCondition, check.add_copy(of_copy(dst, src, count), kind, stream), dst, destMax,
                   src, count, kind, stream);
}

aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream) {
    return FORWARD(aclrtMemcpy2dAsync, check.add_copy(of_rows(dst, dpitch, src, spitch, width, height), kind, stream),
                   dst, dpitch, src, spitch, width, height, kind, stream);
}

aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                               aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex,
                               aclrtStream stream) {
    return FORWARD(aclrtMemcpyBatchAsync, add_batch(check, dsts, srcs, sizes, numBatches, stream), dsts, destMaxs, srcs,
                   sizes, numBatches, attrs, attrsIndexes, numAttrs, failIndex, stream);
}

aclError aclrtMemcpyBatchAsyncV2(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                                 aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs,
                                 aclrtStream stream) {
    return FORWARD(aclrtMemcpyBatchAsyncV2, add_batch(check, dsts, srcs, sizes, numBatches, stream), dsts, destMaxs,
                   srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, stream);
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    return FORWARD(aclrtMemsetAsync,
                   check.add_task(stream, check.operands_on_device({writes(devPtr, count, "devPtr")})), devPtr,
                   maxCount, value, count, stream);
}

aclError aclrtMemsetD32Async(void *ptr, size_t memSize, uint32_t value, size_t N, aclrtStream stream) {
    return FORWARD(aclrtMemsetD32Async, check.add_task(stream, check.operands_on_device({writes(ptr, 4 * N, "ptr")})),
                   ptr, memSize, value, N, stream);
}

aclError aclrtReduceAsync(void *dst, const void *src, uint64_t count, aclrtReduceKind kind, aclDataType type,
                          aclrtStream stream, void *reserve) {
    return FORWARD(aclrtReduceAsync,
                   check.add_task(stream, check.operands_on_device(of_copy(dst, src, count * size_of(type)))), dst, src,
                   count, kind, type, stream, reserve);
}

// --- copies of symbols: only their other side is known ---------------------------------------------------------------

aclError aclrtMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset, aclrtMemcpyKind kind) {
    return FORWARD(aclrtMemcpyToSymbol, check.access({reads(src, count)}), symbol, src, count, offset, kind);
}

aclError aclrtMemcpyFromSymbol(void *dst, size_t dstMax, const void *symbol, size_t count, size_t offset,
                               aclrtMemcpyKind kind) {
    return FORWARD(aclrtMemcpyFromSymbol, check.access({writes(dst, count)}), dst, dstMax, symbol, count, offset, kind);
}

aclError aclrtMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset,
                                  aclrtMemcpyKind kind, aclrtStream stream) {
    return FORWARD(aclrtMemcpyToSymbolAsync, check.add_copy({reads(src, count)}, kind, stream), symbol, src, count,
                   offset, kind, stream);
}

aclError aclrtMemcpyFromSymbolAsync(void *dst, size_t dstMax, const void *symbol, size_t count, size_t offset,
                                    aclrtMemcpyKind kind, aclrtStream stream) {
    return FORWARD(aclrtMemcpyFromSymbolAsync, check.add_copy({writes(dst, count)}, kind, stream), dst, dstMax, symbol,
                   count, offset, kind, stream);
}

// --- copies whose addresses are in memory of the device --------------------------------------------------------------

aclError aclrtMemcpyAsyncWithDesc(void *desc, aclrtMemcpyKind kind, aclrtStream stream) {
    return FORWARD(aclrtMemcpyAsyncWithDesc, check.add_unseen_copy(stream), desc, kind, stream);
}

aclError aclrtMemcpyAsyncWithOffset(void **dst, size_t destMax, size_t dstDataOffset, const void **src, size_t count,
                                    size_t srcDataOffset, aclrtMemcpyKind kind, aclrtStream stream) {
    return FORWARD(aclrtMemcpyAsyncWithOffset, check.add_unseen_copy(stream), dst, destMax, dstDataOffset, src, count,
                   srcDataOffset, kind, stream);
}

// --- random numbers --------------------------------------------------------------------------------------------------

aclError aclrtRandomNumAsync(const aclrtRandomNumTaskInfo *taskInfo, const aclrtStream stream, void *reserve) {
    return FORWARD(aclrtRandomNumAsync, check.add_task(stream, check.operands_on_device(of_random(*taskInfo))),
                   taskInfo, stream, reserve);
}
