// SPDX-License-Identifier: Apache-2.0
// Types of elements, and element-wise reductions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hccl/hccl.h"

namespace hccl {

// Returns the size of an element in bytes. Refuses an unknown type with HCCL_E_PARA.
std::size_t width_of(HcclDataType type);
const char *name_of(HcclDataType type);  // "float32"
const char *name_of(HcclReduceOp op);    // "sum"

// Refuses a reduction that the product's HCCL does not have: an unknown operation with HCCL_E_PARA, a type with
// HCCL_E_NOT_SUPPORT.
void require_reducible(HcclDataType type, HcclReduceOp op);

// Writes `first op second` for each element; the result may be one of the operands. The order of the operands matters
// for the largest and the smallest of NaNs.
void reduce(HcclDataType type, HcclReduceOp op, void *result, const void *first, const void *second,
            std::size_t elements);

}  // namespace hccl
