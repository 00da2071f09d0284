// Lookup of data items and datasets.
#pragma once

#include "api/entry.h"
#include "memory/tensor_item.h"

namespace aclsim {

// Rejects a pointer that is not a live object as an invalid argument. The real runtime follows any pointer.
template <class T>
T &require_tensor_object(Simulator &sim, const void *handle, const char *name, const char *what) REQUIRES(engine_lock) {
    require(handle, name);
    T *const found = sim.core.registry().find<T>(const_cast<void *>(handle));
    if (found == nullptr) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%s: %p is not a live %s", name, handle, what);
    }
    return *found;
}

inline DataItem &require_item(Simulator &sim, const acltdtDataItem *item) REQUIRES(engine_lock) {
    return require_tensor_object<DataItem>(sim, item, "dataItem", "data item");
}

inline Dataset &require_dataset(Simulator &sim, const acltdtDataset *dataset) REQUIRES(engine_lock) {
    return require_tensor_object<Dataset>(sim, dataset, "dataset", "dataset");
}

}  // namespace aclsim
