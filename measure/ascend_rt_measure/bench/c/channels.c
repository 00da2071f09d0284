/* SPDX-License-Identifier: Apache-2.0 */
/* Channels. */
#include "bench.h"

enum { CONTENT = 4 * KIB };

static aclError send(acltdtChannelHandle *channel) {
    const int64_t shape = CONTENT;
    acltdtDataset *const dataset = acltdtCreateDataset();
    acltdtDataItem *const item =
        acltdtCreateDataItem(ACL_TENSOR_DATA_TENSOR, &shape, 1, ACL_UINT8, the.memory, CONTENT);
    const aclError added = acltdtAddDataItem(dataset, item);
    const aclError sent = acltdtSendTensor(channel, dataset, 0);
    return added | sent | acltdtDestroyDataItem(item) | acltdtDestroyDataset(dataset);
}

static aclError receive(acltdtChannelHandle *channel) {
    int64_t shape = 0;
    acltdtDataset *const dataset = acltdtCreateDataset();
    const aclError received = acltdtReceiveTensor(channel, dataset, 0);
    const size_t size = acltdtGetDatasetSize(dataset);
    acltdtDataItem *const item = acltdtGetDataItem(dataset, size - 1);
    const bool is_tensor = acltdtGetTensorTypeFromItem(item) == ACL_TENSOR_DATA_TENSOR;
    const bool is_known = acltdtGetDataTypeFromItem(item) == ACL_UINT8 && acltdtGetDimNumFromItem(item) == 1;
    const void *const data = acltdtGetDataAddrFromItem(item);
    const size_t bytes = acltdtGetDataSizeFromItem(item);
    const aclError shaped = acltdtGetDimsFromItem(item, &shape, 1);
    require(is_tensor && is_known && bytes == CONTENT && shape == CONTENT, "an item arrived as it was sent");
    memcpy(the.copy, data, bytes);
    return received | shaped | acltdtDestroyDataset(dataset);
}

static aclError send_and_receive(acltdtChannelHandle *channel) { return send(channel) | receive(channel); }

static double time_of_channel(uint64_t loops, acltdtChannelHandle *channel) {
    RETURN_TIME_OF(loops, send_and_receive(channel));
}

double send_receive_4KiB(uint64_t loops) {
    acltdtChannelHandle *const channel = acltdtCreateChannelWithCapacity(0, "bench", 2);
    require(channel != NULL, "acltdtCreateChannelWithCapacity");
    const double taken = time_of_channel(loops, channel);
    OK(acltdtDestroyChannel(channel));
    return taken;
}
