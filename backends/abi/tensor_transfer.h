/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor data transfer channels (API reference 17-01, 25-03). */
/* @library libacl_tdt_channel.so: the functions that the runtime's own library does not have */
/* @refused without a virtual instance, API reference 17-01: acltdtCreateChannel */
#pragma once

#include "base.h"

typedef struct acltdtDataset acltdtDataset;

typedef struct acltdtDataItem acltdtDataItem;

typedef struct acltdtChannelHandle acltdtChannelHandle;

typedef enum acltdtTensorType {
    ACL_TENSOR_DATA_UNDEFINED = -1,
    ACL_TENSOR_DATA_TENSOR = 0,
    ACL_TENSOR_DATA_END_OF_SEQUENCE = 1,
    ACL_TENSOR_DATA_ABNORMAL = 2,
    ACL_TENSOR_DATA_SLICE_TENSOR = 3,
    ACL_TENSOR_DATA_END_TENSOR = 4,
} acltdtTensorType;

aclError acltdtAddDataItem(acltdtDataset *dataset, acltdtDataItem *dataItem); /* 910B 910C 910 950 */
aclError acltdtCleanChannel(acltdtChannelHandle *handle); /* 910B 910C 910 950 */
acltdtChannelHandle *acltdtCreateChannel(uint32_t deviceId, const char *name); /* 910 */
acltdtChannelHandle *acltdtCreateChannelWithCapacity(
    uint32_t deviceId, const char *name, size_t capacity); /* 910B 910C 910 950 */
acltdtDataItem *acltdtCreateDataItem(
    acltdtTensorType tdtType, const int64_t *dims, size_t dimNum, aclDataType dataType, void *data, size_t size); /* 910B 910C 910 950 */
acltdtDataset *acltdtCreateDataset(void); /* 910B 910C 910 950 */
aclError acltdtDestroyChannel(acltdtChannelHandle *handle); /* 910B 910C 910 950 */
aclError acltdtDestroyDataItem(acltdtDataItem *dataItem); /* 910B 910C 910 950 */
aclError acltdtDestroyDataset(acltdtDataset *dataset); /* 910B 910C 910 950 */
void *acltdtGetDataAddrFromItem(const acltdtDataItem *dataItem); /* 910B 910C 910 950 */
acltdtDataItem *acltdtGetDataItem(const acltdtDataset *dataset, size_t index); /* 910B 910C 910 950 */
size_t acltdtGetDataSizeFromItem(const acltdtDataItem *dataItem); /* 910B 910C 910 950 */
aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem *dataItem); /* 910B 910C 910 950 */
const char *acltdtGetDatasetName(const acltdtDataset *dataset); /* 910B 910C 910 950 */
size_t acltdtGetDatasetSize(const acltdtDataset *dataset); /* 910B 910C 910 950 */
size_t acltdtGetDimNumFromItem(const acltdtDataItem *dataItem); /* 910B 910C 910 950 */
aclError acltdtGetDimsFromItem(const acltdtDataItem *dataItem, int64_t *dims, size_t dimNum); /* 910B 910C 910 950 */
aclError acltdtGetSliceInfoFromItem(
    const acltdtDataItem *dataItem, size_t *sliceNum, size_t *sliceId); /* 910B 910C 910 950 */
acltdtTensorType acltdtGetTensorTypeFromItem(const acltdtDataItem *dataItem); /* 910B 910C 910 950 */
aclError acltdtQueryChannelSize(const acltdtChannelHandle *handle, size_t *size); /* 910B 910C 910 950 */
aclError acltdtReceiveTensor(
    const acltdtChannelHandle *handle, acltdtDataset *dataset, int32_t timeout); /* 910B 910C 910 950 */
aclError acltdtSendTensor(
    const acltdtChannelHandle *handle, const acltdtDataset *dataset, int32_t timeout); /* 910B 910C 910 950 */
aclError acltdtStopChannel(acltdtChannelHandle *handle); /* 910B 910C 910 950 */
