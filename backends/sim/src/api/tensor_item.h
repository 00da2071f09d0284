// SPDX-License-Identifier: Apache-2.0
// Lookup of data items and datasets.
#pragma once

#include "api/entry.h"
#include "memory/tensor_item.h"

namespace aclsim {

inline DataItem &require_item(Simulator &sim, const acltdtDataItem *item) REQUIRES(engine_lock) {
    return require_object<DataItem>(sim, item, "dataItem");
}

inline Dataset &require_dataset(Simulator &sim, const acltdtDataset *dataset) REQUIRES(engine_lock) {
    return require_object<Dataset>(sim, dataset, "dataset");
}

}  // namespace aclsim
