/* SPDX-License-Identifier: Apache-2.0 */
/* Channels and queues. */
#define _GNU_SOURCE

#include <spawn.h>
#include <unistd.h>

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

enum { FOR_EVER = -1, PATIENCE_MS = 10000 };

static aclError put_and_get(uint32_t to, uint32_t from, char *data) {
    size_t size = 0;
    const aclError put = acltdtEnqueueData(to, data, SMALLEST, NULL, 0, FOR_EVER, 0);
    return put | acltdtDequeueData(from, data, SMALLEST, &size, NULL, 0, FOR_EVER);
}

static double time_of_queues(uint64_t loops, uint32_t to, uint32_t from) {
    char data[SMALLEST] = "";
    RETURN_TIME_OF(loops, put_and_get(to, from, data));
}

static uint32_t new_queue(void) {
    uint32_t queue = 0;
    OK(acltdtCreateQueue(NULL, &queue));
    return queue;
}

double queue_round_trip(uint64_t loops) {
    const uint32_t queue = new_queue();
    const double taken = time_of_queues(loops, queue, queue);
    OK(acltdtDestroyQueue(queue));
    return taken;
}

/* Starts this program as the one that puts back. It ends when the queues do. */
static void start_other_process(uint32_t to, uint32_t from) {
    char first[16];
    char second[16];
    snprintf(first, sizeof first, "%" PRIu32, to);
    snprintf(second, sizeof second, "%" PRIu32, from);
    char *const command[] = {"bench", PUTS_BACK, first, second, NULL};
    pid_t process = 0;
    require(posix_spawn(&process, "/proc/self/exe", NULL, NULL, command, environ) == 0, "posix_spawn");
    OK(acltdtGrantQueue(to, process, ACL_TDT_QUEUE_PERMISSION_DEQUEUE, 0));
    OK(acltdtGrantQueue(from, process, ACL_TDT_QUEUE_PERMISSION_ENQUEUE, 0));
}

int put_back(const char *first, const char *second) {
    const uint32_t from = (uint32_t)strtoul(first, NULL, 10);
    const uint32_t to = (uint32_t)strtoul(second, NULL, 10);
    uint32_t rights = 0;
    char data[SMALLEST];
    size_t size = 0;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(acltdtAttachQueue(from, PATIENCE_MS, &rights));
    OK(acltdtAttachQueue(to, PATIENCE_MS, &rights));
    while (acltdtDequeueData(from, data, SMALLEST, &size, NULL, 0, FOR_EVER) == ACL_SUCCESS &&
           acltdtEnqueueData(to, data, size, NULL, 0, FOR_EVER, 0) == ACL_SUCCESS) {
    }
    return EXIT_SUCCESS;
}

double queue_round_trip_2_processes(uint64_t loops) {
    static uint32_t to = 0; /* they stay for all samples */
    static uint32_t from = 0;
    static bool are_there = false;
    if (!are_there) {
        to = new_queue();
        from = new_queue();
        start_other_process(to, from);
        are_there = true;
        time_of_queues(1, to, from);
    }
    return time_of_queues(loops, to, from);
}
