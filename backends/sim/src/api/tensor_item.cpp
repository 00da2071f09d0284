// SPDX-License-Identifier: Apache-2.0
// Data items and datasets (tensor_channels.md sections 1 and 2). They are objects of the host and need neither aclInit
// nor a device.
#include "api/tensor_item.h"

#include <algorithm>

using namespace aclsim;

namespace {

constexpr std::size_t kMostDimensions = 128;

void require_dimensions(const void *dims, std::size_t count) {
    if ((dims == nullptr) != (count == 0)) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "dims is %sNULL, but dimNum is %zu", dims == nullptr ? "" : "not ",
                          count);
    }
}

// Returns an answer about an item; `none` if the item is not live.
template <class Value, class Member>
Value ask_item(Function function, const acltdtDataItem *item, Value none, Member member) {
    Value value = none;
    ungated_entry(function,
                  [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { value = member(require_item(sim, item)); });
    return value;
}

template <class Value, class Member>
Value ask_dataset(Function function, const acltdtDataset *dataset, Value none, Member member) {
    Value value = none;
    ungated_entry(function,
                  [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { value = member(require_dataset(sim, dataset)); });
    return value;
}

}  // namespace

acltdtDataItem *acltdtCreateDataItem(acltdtTensorType tdtType, const int64_t *dims, size_t dimNum, aclDataType dataType,
                                     void *data, size_t size) {
    void *handle = nullptr;
    ungated_entry(Function::acltdtCreateDataItem, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_dimensions(dims, dimNum);
        if (dimNum > kMostDimensions) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu dimensions are more than %zu", dimNum, kMostDimensions);
        }
        const bool is_tensor = tdtType == ACL_TENSOR_DATA_TENSOR;
        if (!is_tensor && dims != nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "an item of tensor type %d has no dimensions",
                              static_cast<int>(tdtType));
        }
        require_supported();
        const auto item = make_ref<DataItem>();
        item->type = tdtType;
        if (is_tensor) {  // another item has neither a shape nor data
            item->dimensions.assign(dims, dims + dimNum);
            item->data_type = dataType;
            item->data = data;
            item->size = size;
        }
        sim.core.registry().add(item);
        handle = item->handle();
    });
    return static_cast<acltdtDataItem *>(handle);
}

aclError acltdtDestroyDataItem(acltdtDataItem *dataItem) {
    return ungated_entry(Function::acltdtDestroyDataItem, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        DataItem &item = require_item(sim, dataItem);
        if (item.belongs_to_set) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "the item was received, and ends with its dataset");
        }
        sim.core.registry().remove(item);
    });
}

acltdtTensorType acltdtGetTensorTypeFromItem(const acltdtDataItem *dataItem) {
    return ask_item(Function::acltdtGetTensorTypeFromItem, dataItem, ACL_TENSOR_DATA_UNDEFINED,
                    [](const DataItem &item) { return item.type; });
}

aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem *dataItem) {
    return ask_item(Function::acltdtGetDataTypeFromItem, dataItem, ACL_DT_UNDEFINED,
                    [](const DataItem &item) { return item.data_type; });
}

void *acltdtGetDataAddrFromItem(const acltdtDataItem *dataItem) {
    return ask_item<void *>(Function::acltdtGetDataAddrFromItem, dataItem, nullptr,
                            [](const DataItem &item) { return item.received != nullptr ? item.received : item.data; });
}

size_t acltdtGetDataSizeFromItem(const acltdtDataItem *dataItem) {
    return ask_item<size_t>(Function::acltdtGetDataSizeFromItem, dataItem, 0,
                            [](const DataItem &item) { return item.size; });
}

size_t acltdtGetDimNumFromItem(const acltdtDataItem *dataItem) {
    return ask_item<size_t>(Function::acltdtGetDimNumFromItem, dataItem, 0,
                            [](const DataItem &item) { return item.dimensions.size(); });
}

aclError acltdtGetDimsFromItem(const acltdtDataItem *dataItem, int64_t *dims, size_t dimNum) {
    return ungated_entry(Function::acltdtGetDimsFromItem, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const DataItem &item = require_item(sim, dataItem);
        require_dimensions(dims, dimNum);
        if (dimNum < item.dimensions.size()) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "the item has %zu dimensions, dims has room for %zu",
                              item.dimensions.size(), dimNum);
        }
        std::copy(item.dimensions.begin(), item.dimensions.end(), dims);
    });
}

// Slices are made by operators of devices, which the simulator does not run: no item has any.
aclError acltdtGetSliceInfoFromItem(const acltdtDataItem *dataItem, size_t *sliceNum, size_t *sliceId) {
    return ungated_entry(Function::acltdtGetSliceInfoFromItem, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_item(sim, dataItem);
        require(sliceNum, "sliceNum");
        require(sliceId, "sliceId");
        *sliceNum = *sliceId = 0;
    });
}

acltdtDataset *acltdtCreateDataset() {
    void *handle = nullptr;
    ungated_entry(Function::acltdtCreateDataset, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_supported();
        const auto set = make_ref<Dataset>(sim.memory);
        sim.core.registry().add(set);
        handle = set->handle();
    });
    return static_cast<acltdtDataset *>(handle);
}

aclError acltdtDestroyDataset(acltdtDataset *dataset) {
    return ungated_entry(Function::acltdtDestroyDataset, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        Dataset &set = require_dataset(sim, dataset);
        set.clear_received();
        sim.core.registry().remove(set);
    });
}

aclError acltdtAddDataItem(acltdtDataset *dataset, acltdtDataItem *dataItem) {
    return ungated_entry(Function::acltdtAddDataItem, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        Dataset &set = require_dataset(sim, dataset);
        set.add(require_item(sim, dataItem));
    });
}

acltdtDataItem *acltdtGetDataItem(const acltdtDataset *dataset, size_t index) {
    void *handle = nullptr;
    ungated_entry(Function::acltdtGetDataItem, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const auto &items = require_dataset(sim, dataset).items();
        if (index >= items.size()) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "the set has %zu items, so none with index %zu", items.size(),
                              index);
        }
        handle = items[index];
    });
    return static_cast<acltdtDataItem *>(handle);
}

size_t acltdtGetDatasetSize(const acltdtDataset *dataset) {
    return ask_dataset<size_t>(Function::acltdtGetDatasetSize, dataset, 0,
                               [](const Dataset &set) REQUIRES(engine_lock) { return set.items().size(); });
}

// Only devices name the sets that they send.
const char *acltdtGetDatasetName(const acltdtDataset *dataset) {
    return ask_dataset<const char *>(Function::acltdtGetDatasetName, dataset, nullptr,
                                     [](const Dataset &) { return ""; });
}
