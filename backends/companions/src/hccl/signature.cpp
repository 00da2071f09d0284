// SPDX-License-Identifier: Apache-2.0
#include "hccl/signature.h"

#include <cstddef>

#include "hccl/data_type.h"

namespace hccl {

const char *name_of(Kind kind) {
    constexpr const char *kNames[] = {"HcclAllReduce",      "HcclReduce",    "HcclReduceScatter", "HcclReduceScatterV",
                                      "HcclBroadcast",      "HcclScatter",   "HcclAllGather",     "HcclAllGatherV",
                                      "HcclAlltoAll",       "HcclAlltoAllV", "HcclAlltoAllVC",    "HcclBarrier",
                                      "a send or a receive"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string elements_of(const Signature &signature) {
    return std::to_string(signature.count) + " " + name_of(static_cast<HcclDataType>(signature.type));
}

std::string text_of(const Signature &signature) {
    std::string text = name_of(signature.kind);
    const Kind kind = signature.kind;
    if (kind == Kind::Barrier) {
        return text;
    }
    if (kind == Kind::AllReduce || kind == Kind::Reduce || kind == Kind::ReduceScatter ||
        kind == Kind::ReduceScatterV) {
        text += std::string(", ") + name_of(static_cast<HcclReduceOp>(signature.op)) + " of";
    } else {
        text += ",";
    }
    text += " " + elements_of(signature);
    if (kind == Kind::Broadcast || kind == Kind::Scatter || kind == Kind::Reduce) {
        text += ", root " + std::to_string(signature.root);
    }
    return text;
}

}  // namespace hccl
