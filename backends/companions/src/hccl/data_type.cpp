// SPDX-License-Identifier: Apache-2.0
#include "hccl/data_type.h"

#include <algorithm>
#include <string>

#include "refusal.h"
#include "support/number_format.h"

using aclsim::Bfloat16;
using aclsim::Half;
using aclsim::Plain;
using companions::refuse;

namespace hccl {
namespace {

// Products whose HCCL reduces a type (documentation of HcclAllReduce, CANN 8.5).
enum Products : unsigned {
    k910 = 1U << 0,
    k910B = 1U << 1,  // and 910C
    k310P = 1U << 2,
    k950 = 1U << 3,
    kNone = 0,
    kAll = k910 | k910B | k310P | k950,
};

struct DataType {
    HcclDataType type;
    const char *name;
    std::size_t width;
    unsigned sum;      // products that add
    unsigned product;  // products that multiply
    unsigned extreme;  // products that find the largest and the smallest
};

constexpr DataType kTypes[] = {
    {HCCL_DATA_TYPE_INT8, "int8", 1, kAll, kAll, kAll},
    {HCCL_DATA_TYPE_INT16, "int16", 2, k910B | k310P | k950, k950, k910B | k950},
    {HCCL_DATA_TYPE_INT32, "int32", 4, kAll, kAll, kAll},
    {HCCL_DATA_TYPE_FP16, "float16", 2, kAll, kAll, kAll},
    {HCCL_DATA_TYPE_FP32, "float32", 4, kAll, kAll, kAll},
    {HCCL_DATA_TYPE_INT64, "int64", 8, k910 | k910B, k910 | k910B, k910 | k910B},
    {HCCL_DATA_TYPE_UINT64, "uint64", 8, kNone, kNone, kNone},
    {HCCL_DATA_TYPE_UINT8, "uint8", 1, kNone, kNone, kNone},
    {HCCL_DATA_TYPE_UINT16, "uint16", 2, kNone, kNone, kNone},
    {HCCL_DATA_TYPE_UINT32, "uint32", 4, kNone, kNone, kNone},
    {HCCL_DATA_TYPE_FP64, "float64", 8, kNone, kNone, kNone},
    {HCCL_DATA_TYPE_BFP16, "bfloat16", 2, k910B | k950, k950, k910B | k950},
    {HCCL_DATA_TYPE_INT128, "int128", 16, kNone, kNone, kNone},
    {HCCL_DATA_TYPE_HIF8, "hifloat8", 1, kNone, kNone, kNone},
    {HCCL_DATA_TYPE_FP8E4M3, "float8_e4m3", 1, kNone, kNone, kNone},
    {HCCL_DATA_TYPE_FP8E5M2, "float8_e5m2", 1, kNone, kNone, kNone},
    {HCCL_DATA_TYPE_FP8E8M0, "float8_e8m0", 1, kNone, kNone, kNone},
};

const DataType &find(HcclDataType type) {
    const auto *const found =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](const DataType &each) { return each.type == type; });
    if (found == std::end(kTypes)) {
        refuse(HCCL_E_PARA, "there is no data type " + std::to_string(static_cast<int>(type)));
    }
    return *found;
}

unsigned product_of_machine() {
    const std::string name = aclrtGetSocName();
    const auto begins = [&](const char *prefix) { return name.rfind(prefix, 0) == 0; };
    if (begins("Ascend310P")) {
        return k310P;
    }
    if (begins("Ascend950")) {
        return k950;
    }
    return begins("Ascend910B") || begins("Ascend910_93") ? k910B : k910;
}

template <class Stored, class Operation>
void apply(void *result, const void *first, const void *second, std::size_t elements, Operation operation) {
    auto *const to = static_cast<Stored *>(result);
    const auto *const one = static_cast<const Stored *>(first);
    const auto *const other = static_cast<const Stored *>(second);
    for (std::size_t i = 0; i < elements; ++i) {
        to[i] = operation(one[i], other[i]);
    }
}

// The largest and the smallest are operands as they are stored: a conversion would change the bits of NaN.
template <class Format>
void apply(HcclReduceOp op, void *result, const void *first, const void *second, std::size_t elements) {
    using Stored = typename Format::Stored;
    switch (op) {
        case HCCL_REDUCE_SUM:
            return apply<Stored>(result, first, second, elements,
                                 [](Stored a, Stored b) { return Format::store(Format::load(a) + Format::load(b)); });
        case HCCL_REDUCE_PROD:
            return apply<Stored>(result, first, second, elements,
                                 [](Stored a, Stored b) { return Format::store(Format::load(a) * Format::load(b)); });
        case HCCL_REDUCE_MAX:
            return apply<Stored>(result, first, second, elements,
                                 [](Stored a, Stored b) { return Format::load(a) < Format::load(b) ? b : a; });
        default:
            return apply<Stored>(result, first, second, elements,
                                 [](Stored a, Stored b) { return Format::load(b) < Format::load(a) ? b : a; });
    }
}

// Integers wrap around.
template <class T>
struct Wrapping {
    using Stored = T;
    static T load(T stored) { return stored; }
    template <class Wide>
    static T store(Wide number) {
        return static_cast<T>(number);
    }
};

}  // namespace

std::size_t width_of(HcclDataType type) { return find(type).width; }

const char *name_of(HcclDataType type) { return find(type).name; }

const char *name_of(HcclReduceOp op) {
    switch (op) {
        case HCCL_REDUCE_SUM:
            return "sum";
        case HCCL_REDUCE_PROD:
            return "prod";
        case HCCL_REDUCE_MAX:
            return "max";
        case HCCL_REDUCE_MIN:
            return "min";
        default:
            return "no reduction";
    }
}

void require_reducible(HcclDataType type, HcclReduceOp op) {
    const DataType &data = find(type);
    unsigned products = kNone;
    switch (op) {
        case HCCL_REDUCE_SUM:
            products = data.sum;
            break;
        case HCCL_REDUCE_PROD:
            products = data.product;
            break;
        case HCCL_REDUCE_MAX:
        case HCCL_REDUCE_MIN:
            products = data.extreme;
            break;
        default:
            refuse(HCCL_E_PARA, "there is no reduction " + std::to_string(static_cast<int>(op)));
    }
    if ((products & product_of_machine()) == 0) {
        refuse(HCCL_E_NOT_SUPPORT, std::string("HCCL on ") + aclrtGetSocName() + " has no reduction " + name_of(op) +
                                       " of " + data.name + "; use another type");
    }
}

void reduce(HcclDataType type, HcclReduceOp op, void *result, const void *first, const void *second,
            std::size_t elements) {
    switch (type) {
        case HCCL_DATA_TYPE_INT8:
            return apply<Wrapping<std::int8_t>>(op, result, first, second, elements);
        case HCCL_DATA_TYPE_INT16:
            return apply<Wrapping<std::int16_t>>(op, result, first, second, elements);
        case HCCL_DATA_TYPE_INT32:
            // Unsigned where the result is the same: signed overflow is undefined.
            return op == HCCL_REDUCE_SUM || op == HCCL_REDUCE_PROD
                       ? apply<Wrapping<std::uint32_t>>(op, result, first, second, elements)
                       : apply<Wrapping<std::int32_t>>(op, result, first, second, elements);
        case HCCL_DATA_TYPE_INT64:
            return op == HCCL_REDUCE_SUM || op == HCCL_REDUCE_PROD
                       ? apply<Wrapping<std::uint64_t>>(op, result, first, second, elements)
                       : apply<Wrapping<std::int64_t>>(op, result, first, second, elements);
        case HCCL_DATA_TYPE_FP16:
            return apply<Half>(op, result, first, second, elements);
        case HCCL_DATA_TYPE_BFP16:
            return apply<Bfloat16>(op, result, first, second, elements);
        default:
            return apply<Plain<float>>(op, result, first, second, elements);  // the only type that is left
    }
}

}  // namespace hccl
