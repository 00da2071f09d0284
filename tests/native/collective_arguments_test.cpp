// SPDX-License-Identifier: Apache-2.0
// Wrong arguments of collective communication.
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "collectives_kit.h"
#include "hccl/hccl_comm_config.h"

namespace {

// Alone in its communicator.
HcclComm solitary() {
    HcclRootInfo info;
    HcclComm comm = nullptr;
    CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
    CHECK_HCCL(HCCL_SUCCESS, HcclCommInitRootInfo(1, &info, 0, &comm));
    return comm;
}

void communicators_must_be_live(aclrtStream stream) {
    HcclComm destroyed = solitary();
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(destroyed));
    HcclComm next = solitary();  // perhaps in the memory of the other, which stays unknown
    int garbage = 0;
    const struct {
        HcclComm comm;
        HcclResult code;
        const char *text;
    } cases[] = {{nullptr, HCCL_E_PTR, "comm is NULL"},
                 {&garbage, HCCL_E_PARA, "is not a live communicator"},
                 {destroyed, HCCL_E_PARA, "is not a live communicator"}};
    const Memory<float> memory(16);
    const std::uint64_t one = 1, none = 0;
    constexpr HcclDataType kType = HCCL_DATA_TYPE_FP32;
    constexpr HcclReduceOp kSum = HCCL_REDUCE_SUM;
    void *const data = memory.data();
    for (const auto &[comm, code, text] : cases) {
        std::uint32_t number = 0;
        char name[COMM_NAME_MAX_LENGTH];
        HcclResult error = HCCL_SUCCESS;
        HcclSendRecvItem item{HCCL_SEND, data, 1, kType, 0};
        HcclComm parent = comm, made = nullptr;
        const auto refused = [&, expected = code, part = text](HcclResult answer) {
            CHECK_REFUSED(expected, part, answer);
        };
        refused(HcclAllReduce(data, data, 1, kType, kSum, comm, stream));
        refused(HcclReduce(data, data, 1, kType, kSum, 0, comm, stream));
        refused(HcclReduceScatter(data, data, 1, kType, kSum, comm, stream));
        refused(HcclReduceScatterV(data, &one, &none, data, 1, kType, kSum, comm, stream));
        refused(HcclBroadcast(data, 1, kType, 0, comm, stream));
        refused(HcclScatter(data, data, 1, kType, 0, comm, stream));
        refused(HcclAllGather(data, data, 1, kType, comm, stream));
        refused(HcclAllGatherV(data, 1, data, &one, &none, kType, comm, stream));
        refused(HcclAlltoAll(data, 1, kType, data, 1, kType, comm, stream));
        refused(HcclAlltoAllV(data, &one, &none, kType, data, &one, &none, kType, comm, stream));
        refused(HcclAlltoAllVC(data, &one, kType, data, kType, comm, stream));
        refused(HcclBarrier(comm, stream));
        refused(HcclSend(data, 1, kType, 0, comm, stream));
        refused(HcclRecv(data, 1, kType, 0, comm, stream));
        refused(HcclBatchSendRecv(&item, 1, comm, stream));
        refused(HcclGetRankSize(comm, &number));
        refused(HcclGetRankId(comm, &number));
        refused(HcclGetCommName(comm, name));
        refused(HcclGetCommAsyncError(comm, &error));
        refused(HcclCreateSubCommConfig(&parent, 1, &number, 1, 0, nullptr, &made));
        refused(HcclCommDestroy(comm));
    }
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(next));
}

void operands_must_fit(const Rank &rank) {
    const HcclComm comm = rank.comm;
    const aclrtStream stream = rank.stream;
    const Memory<float> memory(64);
    void *const data = memory.data();
    constexpr HcclDataType kType = HCCL_DATA_TYPE_FP32;
    constexpr HcclReduceOp kSum = HCCL_REDUCE_SUM;
    constexpr auto kNoType = static_cast<HcclDataType>(13);
    constexpr std::uint64_t kHuge = 1ULL << 62;
    const std::uint64_t counts[] = {1, 1}, places[] = {0, 1}, matrix[] = {1, 1, 1, 1};
    const std::uint64_t huge[] = {kHuge, kHuge};

    // Types and reductions.
    for (const HcclDataType type : {kNoType, HCCL_DATA_TYPE_RESERVED}) {
        CHECK_REFUSED(HCCL_E_PARA, "no data type", HcclAllReduce(data, data, 1, type, kSum, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type", HcclReduce(data, data, 1, type, kSum, 0, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type", HcclReduceScatter(data, data, 1, type, kSum, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type",
                      HcclReduceScatterV(data, counts, places, data, 1, type, kSum, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type", HcclBroadcast(data, 1, type, 0, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type", HcclScatter(data, data, 1, type, 0, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type", HcclAllGather(data, data, 1, type, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type", HcclAllGatherV(data, 1, data, counts, places, type, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type", HcclAlltoAll(data, 1, type, data, 1, type, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type",
                      HcclAlltoAllV(data, counts, places, type, data, counts, places, type, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type", HcclAlltoAllVC(data, matrix, type, data, type, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type", HcclSend(data, 1, type, 1, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no data type", HcclRecv(data, 1, type, 1, comm, stream));
    }
    CHECK_REFUSED(HCCL_E_PARA, "no reduction 4",
                  HcclAllReduce(data, data, 1, kType, static_cast<HcclReduceOp>(4), comm, stream));
    CHECK_REFUSED(HCCL_E_PARA, "no reduction 255",
                  HcclReduce(data, data, 1, kType, HCCL_REDUCE_RESERVED, 0, comm, stream));
    for (const HcclDataType type : {HCCL_DATA_TYPE_UINT8, HCCL_DATA_TYPE_UINT64, HCCL_DATA_TYPE_FP64}) {
        CHECK_REFUSED(HCCL_E_NOT_SUPPORT, "use another type", HcclAllReduce(data, data, 1, type, kSum, comm, stream));
        CHECK_REFUSED(HCCL_E_NOT_SUPPORT, "no reduction max",
                      HcclReduceScatter(data, data, 1, type, HCCL_REDUCE_MAX, comm, stream));
    }
    CHECK_REFUSED(HCCL_E_NOT_SUPPORT, "no reduction prod of bfloat16",
                  HcclReduce(data, data, 1, HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_PROD, 0, comm, stream));
    CHECK_REFUSED(HCCL_E_PARA, "differ", HcclAlltoAll(data, 1, kType, data, 1, HCCL_DATA_TYPE_INT32, comm, stream));
    CHECK_REFUSED(HCCL_E_PARA, "differ", HcclAlltoAll(data, 1, kType, data, 2, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PARA, "differ",
                  HcclAlltoAllV(data, counts, places, kType, data, counts, places, HCCL_DATA_TYPE_INT32, comm, stream));
    CHECK_REFUSED(HCCL_E_PARA, "differ", HcclAlltoAllVC(data, matrix, kType, data, HCCL_DATA_TYPE_INT32, comm, stream));
    const std::vector<std::uint64_t> more(2, counts[0] + 1);
    CHECK_REFUSED(HCCL_E_PARA, "elements to itself, and receives",
                  HcclAlltoAllV(data, counts, places, kType, data, more.data(), places, kType, comm, stream));

    // Ranks.
    for (const std::uint32_t other : {2U, UINT32_MAX}) {
        CHECK_REFUSED(HCCL_E_PARA, "there is no rank", HcclReduce(data, data, 1, kType, kSum, other, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "there is no rank", HcclBroadcast(data, 1, kType, other, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "there is no rank", HcclScatter(data, data, 1, kType, other, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "there is no rank", HcclSend(data, 1, kType, other, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "there is no rank", HcclRecv(data, 1, kType, other, comm, stream));
    }
    CHECK_REFUSED(HCCL_E_PARA, "sends to itself", HcclSend(data, 1, kType, rank.number, comm, stream));
    CHECK_REFUSED(HCCL_E_PARA, "sends to itself", HcclRecv(data, 1, kType, rank.number, comm, stream));

    // NULL.
    CHECK_REFUSED(HCCL_E_PTR, "sendBuf is NULL", HcclAllReduce(nullptr, data, 1, kType, kSum, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "recvBuf is NULL", HcclAllReduce(data, nullptr, 1, kType, kSum, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "sendBuf is NULL", HcclReduce(nullptr, data, 1, kType, kSum, 0, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "recvBuf is NULL", HcclReduce(data, nullptr, 1, kType, kSum, rank.number, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "sendBuf is NULL", HcclReduceScatter(nullptr, data, 1, kType, kSum, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "recvBuf is NULL", HcclReduceScatter(data, nullptr, 1, kType, kSum, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "sendCounts is NULL",
                  HcclReduceScatterV(data, nullptr, places, data, 1, kType, kSum, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "sendDispls is NULL",
                  HcclReduceScatterV(data, counts, nullptr, data, 1, kType, kSum, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "sendBuf is NULL",
                  HcclReduceScatterV(nullptr, counts, places, data, 1, kType, kSum, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "buf is NULL", HcclBroadcast(nullptr, 1, kType, 0, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "recvBuf is NULL", HcclScatter(data, nullptr, 1, kType, 0, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "sendBuf is NULL", HcclScatter(nullptr, data, 1, kType, rank.number, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "sendBuf is NULL", HcclAllGather(nullptr, data, 1, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "recvBuf is NULL", HcclAllGather(data, nullptr, 1, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "recvCounts is NULL",
                  HcclAllGatherV(data, 1, data, nullptr, places, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "recvDispls is NULL",
                  HcclAllGatherV(data, 1, data, counts, nullptr, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "sendBuf is NULL", HcclAlltoAll(nullptr, 1, kType, data, 1, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "recvBuf is NULL", HcclAlltoAll(data, 1, kType, nullptr, 1, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "sendCounts is NULL",
                  HcclAlltoAllV(data, nullptr, places, kType, data, counts, places, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "rdispls is NULL",
                  HcclAlltoAllV(data, counts, places, kType, data, counts, nullptr, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "sendCountMatrix is NULL",
                  HcclAlltoAllVC(data, nullptr, kType, data, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "buf is NULL", HcclSend(nullptr, 1, kType, 1, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "sendRecvInfo is NULL", HcclBatchSendRecv(nullptr, 1, comm, stream));
    CHECK_REFUSED(HCCL_E_PTR, "rankSize is NULL", HcclGetRankSize(comm, nullptr));
    CHECK_REFUSED(HCCL_E_PTR, "rank is NULL", HcclGetRankId(comm, nullptr));
    CHECK_REFUSED(HCCL_E_PTR, "commName is NULL", HcclGetCommName(comm, nullptr));
    CHECK_REFUSED(HCCL_E_PTR, "asyncError is NULL", HcclGetCommAsyncError(comm, nullptr));

    // Counts that overflow, and those that are only too large.
    for (const std::uint64_t count : {kHuge, UINT64_MAX, kHuge / 2}) {
        CHECK_REFUSED(HCCL_E_PARA, "no memory of", HcclAllReduce(data, data, count, kType, kSum, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no memory of", HcclReduce(data, data, count, kType, kSum, 0, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no memory of", HcclReduceScatter(data, data, count, kType, kSum, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no memory of",
                      HcclReduceScatterV(data, counts, places, data, count, kType, kSum, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no memory of", HcclBroadcast(data, count, kType, 0, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no memory of", HcclScatter(data, data, count, kType, 0, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no memory of", HcclAllGather(data, data, count, kType, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no memory of",
                      HcclAllGatherV(data, count, data, counts, places, kType, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no memory of", HcclAlltoAll(data, count, kType, data, count, kType, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "no memory of", HcclSend(data, count, kType, 1, comm, stream));
    }
    CHECK_REFUSED(HCCL_E_PARA, "no memory of",
                  HcclReduceScatterV(data, huge, places, data, 1, kType, kSum, comm, stream));
    CHECK_REFUSED(HCCL_E_PARA, "no memory of",
                  HcclAlltoAllV(data, counts, huge, kType, data, counts, places, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PARA, "no memory of",
                  HcclAlltoAllVC(data, std::vector<std::uint64_t>(4, kHuge).data(), kType, data, kType, comm, stream));
    CHECK_REFUSED(HCCL_E_PARA, "sendCounts of this rank 1",
                  HcclReduceScatterV(data, counts, places, data, 2, kType, kSum, comm, stream));
    CHECK_REFUSED(HCCL_E_PARA, "recvCounts of this rank 1",
                  HcclAllGatherV(data, 2, data, counts, places, kType, comm, stream));
    for (const std::uint64_t count : {kHuge >> 22, kHuge >> 4}) {
        CHECK_REFUSED(HCCL_E_PARA, "sendBuf", HcclAllReduce(data, data, count, kType, kSum, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "buf", HcclBroadcast(data, count, kType, 0, comm, stream));
    }

    // Memory of the host, and memory that was freed.
    float plain[64] = {};
    void *pinned = nullptr, *freed = nullptr;
    CHECK_OK(aclrtMallocHost(&pinned, 256));
    CHECK_OK(aclrtMalloc(&freed, 256, ACL_MEM_MALLOC_NORMAL_ONLY));
    CHECK_OK(aclrtFree(freed));
    for (void *const wrong : {static_cast<void *>(plain), pinned}) {
        CHECK_REFUSED(HCCL_E_PARA, "sendBuf, ", HcclAllReduce(wrong, data, 1, kType, kSum, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "is not memory of a device",
                      HcclAllReduce(data, wrong, 1, kType, kSum, comm, stream));
        CHECK_REFUSED(HCCL_E_PARA, "is not memory of a device", HcclSend(wrong, 1, kType, 1, comm, stream));
    }
    CHECK_REFUSED(HCCL_E_PARA, "recvBuf", HcclAllReduce(data, freed, 1, kType, kSum, comm, stream));
    CHECK_OK(aclrtFreeHost(pinned));

    // Streams.
    CHECK_HCCL(HCCL_E_RUNTIME, HcclAllReduce(data, data, 1, kType, kSum, comm, plain));
    CHECK_HCCL(HCCL_E_RUNTIME, HcclBarrier(comm, plain));
}

// The text that refuses names both devices.
void streams_and_memory_must_be_of_the_device(const Rank &rank) {
    constexpr HcclDataType kType = HCCL_DATA_TYPE_FP32;
    constexpr HcclReduceOp kSum = HCCL_REDUCE_SUM;
    const Memory<float> own(64);
    CHECK_OK(aclrtSetDevice(1));
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    {
        const Memory<float> other(64);
        const std::string text = "is of device 1, the communicator of device 0";
        for (const aclrtStream each : {stream, static_cast<aclrtStream>(nullptr)}) {
            CHECK_REFUSED(HCCL_E_PARA, "the stream " + text,
                          HcclAllReduce(own.data(), own.data(), 1, kType, kSum, rank.comm, each));
            CHECK_REFUSED(HCCL_E_PARA, "the stream " + text, HcclBarrier(rank.comm, each));
        }
        CHECK_OK(aclrtSetDevice(0));
        const std::string memory = "is memory of device 1, the communicator of device 0";
        CHECK_REFUSED(HCCL_E_PARA, memory,
                      HcclAllReduce(other.data(), own.data(), 1, kType, kSum, rank.comm, rank.stream));
        CHECK_REFUSED(HCCL_E_PARA, memory,
                      HcclAllReduce(own.data(), other.data(), 1, kType, kSum, rank.comm, rank.stream));
        CHECK_REFUSED(HCCL_E_PARA, memory, HcclSend(other.data(), 1, kType, 1, rank.comm, rank.stream));
        CHECK_HCCL(HCCL_E_RUNTIME, HcclBarrier(rank.comm, stream));
        CHECK_OK(aclrtSetDevice(1));
    }
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtResetDevice(1));  // leaves it to the thread of rank 1
    CHECK_OK(aclrtSetDevice(0));
}

// Works with memory that all devices use.
void managed_memory_may_be_used(const Rank &rank) {
    float *data = nullptr;
    CHECK_OK(aclrtMemAllocManaged(reinterpret_cast<void **>(&data), 64, ACL_RT_MEM_ATTACH_GLOBAL));
    *data = static_cast<float>(rank.number);
    CHECK_HCCL(HCCL_SUCCESS,
               HcclAllReduce(data, data, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, rank.comm, rank.stream));
    rank.synchronize();
    CHECK(*data == 1.0F);
    CHECK_OK(aclrtFree(data));
}

void groups_must_be_whole(const Rank &rank) {
    const Memory<float> memory(64);
    constexpr HcclDataType kType = HCCL_DATA_TYPE_FP32;
    CHECK_REFUSED(HCCL_E_PARA, "has not called HcclGroupStart", HcclGroupEnd());
    // A send to the rank itself is missing: the message to the other rank is not sent either.
    CHECK_HCCL(HCCL_SUCCESS, HcclGroupStart());
    HcclComm other = solitary();
    CHECK_HCCL(HCCL_SUCCESS, HcclSend(memory.data(), 1, kType, 1 - rank.number, rank.comm, rank.stream));
    CHECK_HCCL(HCCL_SUCCESS, HcclSend(memory.data(), 1, kType, 0, other, rank.stream));
    CHECK_REFUSED(HCCL_E_PARA, "sends to itself", HcclGroupEnd());
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(other));
    CHECK_REFUSED(HCCL_E_PARA, "has not called HcclGroupStart", HcclGroupEnd());
    // The same if a later part names memory of the host, or a stream that ends before the group does.
    std::vector<float> of_host(1);
    aclrtStream second = nullptr;
    CHECK_OK(aclrtCreateStream(&second));
    for (const bool is_live : {true, false}) {
        CHECK_HCCL(HCCL_SUCCESS, HcclGroupStart());
        CHECK_HCCL(HCCL_SUCCESS, HcclSend(memory.data(), 1, kType, 1 - rank.number, rank.comm, rank.stream));
        void *const target = is_live ? static_cast<void *>(of_host.data()) : memory.data();
        CHECK_HCCL(HCCL_SUCCESS, HcclRecv(target, 1, kType, 1 - rank.number, rank.comm, second));
        if (is_live) {
            CHECK_REFUSED(HCCL_E_PARA, "is not memory of a device", HcclGroupEnd());
        } else {
            CHECK_OK(aclrtDestroyStream(second));
            CHECK_REFUSED(HCCL_E_RUNTIME, "stream", HcclGroupEnd());
        }
    }
    HcclSendRecvItem items[] = {{HCCL_SEND, memory.data(), 1, kType, 1 - rank.number},
                                {static_cast<HcclSendRecvType>(2), memory.data(), 1, kType, 1 - rank.number}};
    CHECK_REFUSED(HCCL_E_PARA, "neither a send nor a receive", HcclBatchSendRecv(items, 2, rank.comm, rank.stream));
}

// After all of these the communicator works as if there had been none: nothing was submitted, and nothing was counted.
void wrong_arguments_submit_nothing() {
    with_ranks(2, [](const Rank &rank) {
        if (rank.number == 0) {
            communicators_must_be_live(rank.stream);
            operands_must_fit(rank);
            streams_and_memory_must_be_of_the_device(rank);
            groups_must_be_whole(rank);
            aclrtStreamStatus status{};
            CHECK_OK(aclrtStreamQuery(rank.stream, &status));
            CHECK(status == ACL_STREAM_STATUS_COMPLETE);
        }
        managed_memory_may_be_used(rank);
        const Memory<float> value(std::vector<float>(kLargeCount, 2.0F)), message(std::vector<float>(3, 5.0F));
        CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, value));
        HcclSendRecvItem items[] = {{HCCL_SEND, value.data(), 3, HCCL_DATA_TYPE_FP32, 1 - rank.number},
                                    {HCCL_RECV, message.data(), 3, HCCL_DATA_TYPE_FP32, 1 - rank.number}};
        CHECK_HCCL(HCCL_SUCCESS, HcclBatchSendRecv(items, 2, rank.comm, rank.stream));
        rank.synchronize();
        CHECK(value.get() == std::vector<float>(kLargeCount, 4.0F));
        CHECK(message.get() == std::vector<float>(3, 4.0F));
        CHECK(rank.async_error() == HCCL_SUCCESS);
    });
}

void communicators_need_right_arguments() {
    HcclRootInfo info{}, garbage{};
    HcclComm comm = nullptr, comms[2] = {};
    CHECK_REFUSED(HCCL_E_PTR, "rootInfo is NULL", HcclGetRootInfo(nullptr));
    CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
    CHECK_REFUSED(HCCL_E_PTR, "rootInfo is NULL", HcclCommInitRootInfo(1, nullptr, 0, &comm));
    CHECK_REFUSED(HCCL_E_PTR, "comm is NULL", HcclCommInitRootInfo(1, &info, 0, nullptr));
    CHECK_REFUSED(HCCL_E_PARA, "there is no rank 0 of 0", HcclCommInitRootInfo(0, &info, 0, &comm));
    CHECK_REFUSED(HCCL_E_PARA, "there is no rank 1 of 1", HcclCommInitRootInfo(1, &info, 1, &comm));
    CHECK_REFUSED(HCCL_E_PARA, "there is no rank", HcclCommInitRootInfo(UINT32_MAX, &info, 0, &comm));
    CHECK_REFUSED(HCCL_E_PARA, "not written by HcclGetRootInfo", HcclCommInitRootInfo(1, &garbage, 0, &comm));
    std::memset(&garbage, 'x', sizeof garbage);
    CHECK_REFUSED(HCCL_E_PARA, "not written by HcclGetRootInfo", HcclCommInitRootInfo(1, &garbage, 0, &comm));

    HcclCommConfig config{};
    CHECK_REFUSED(HCCL_E_PARA, "HcclCommConfigInit", HcclCommInitRootInfoConfig(1, &info, 0, &config, &comm));
    HcclCommConfigInit(&config);
    config.hcclExecTimeOut = -2;
    CHECK_REFUSED(HCCL_E_PARA, "hcclExecTimeOut is -2", HcclCommInitRootInfoConfig(1, &info, 0, &config, &comm));
    config.hcclExecTimeOut = 5;
    std::strcpy(config.hcclCommName, "trainers");
    CHECK_REFUSED(HCCL_E_PARA, "2 roots for 1 ranks", HcclCommInitRootInfoScalable(1, 2, &info, 0, 0, &config, &comm));
    CHECK_HCCL(HCCL_SUCCESS, HcclCommInitRootInfoConfig(1, &info, 0, &config, &comm));
    char name[COMM_NAME_MAX_LENGTH];
    CHECK_HCCL(HCCL_SUCCESS, HcclGetCommName(comm, name));
    CHECK(std::string(name) == "trainers");

    std::uint32_t ranks[] = {0, 0};
    HcclComm made = nullptr;
    CHECK_REFUSED(HCCL_E_PTR, "comm is NULL", HcclCreateSubCommConfig(nullptr, 1, ranks, 1, 0, nullptr, &made));
    CHECK_REFUSED(HCCL_E_PTR, "subComm is NULL", HcclCreateSubCommConfig(&comm, 1, ranks, 1, 0, nullptr, nullptr));
    CHECK_REFUSED(HCCL_E_PTR, "rankIds is NULL", HcclCreateSubCommConfig(&comm, 1, nullptr, 1, 0, nullptr, &made));
    CHECK_REFUSED(HCCL_E_PARA, "different ranks", HcclCreateSubCommConfig(&comm, 2, ranks, 1, 0, nullptr, &made));
    CHECK_REFUSED(HCCL_E_PARA, "there is no rank", HcclCreateSubCommConfig(&comm, 1, ranks, 1, 1, nullptr, &made));
    ranks[0] = 1;
    CHECK_REFUSED(HCCL_E_PARA, "different ranks", HcclCreateSubCommConfig(&comm, 1, ranks, 1, 0, nullptr, &made));
    CHECK_HCCL(HCCL_E_NOT_SUPPORT, HcclCommSuspend(comm));
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(comm));

    std::int32_t devices[] = {0, 0};
    CHECK_REFUSED(HCCL_E_PTR, "devices is NULL", HcclCommInitAll(1, nullptr, comms));
    CHECK_REFUSED(HCCL_E_PTR, "comms is NULL", HcclCommInitAll(1, devices, nullptr));
    CHECK_REFUSED(HCCL_E_PARA, "there is no rank", HcclCommInitAll(0, devices, comms));
    CHECK_REFUSED(HCCL_E_PARA, "twice", HcclCommInitAll(2, devices, comms));
    for (const std::int32_t wrong : {-1, 99}) {
        devices[1] = wrong;
        CHECK_REFUSED(HCCL_E_PARA, "devices are not numbers", HcclCommInitAll(2, devices, comms));
    }

    CHECK_REFUSED(HCCL_E_PTR, "clusterInfo is NULL", HcclCommInitClusterInfo(nullptr, 0, &comm));
    CHECK_REFUSED(HCCL_E_OPEN_FILE_FAILURE, "no_such_file", HcclCommInitClusterInfo("no_such_file.json", 0, &comm));
    char path[] = "/tmp/rank_table_XXXXXX";
    const int file = mkstemp(path);
    CHECK(file >= 0);
    const std::pair<const char *, const char *> tables[] = {
        {"[", "is not JSON"},
        {"{}", "has no server_list"},
        {R"({"server_list": []})", "no device with rank_id 0"},
        {R"({"server_list": [{"server_id": "127.0.0.1"}]})", "has no device"},
        {R"({"server_list": [{"device": [{"rank_id": "0"}]}]})", "has no server_id"},
        {R"({"server_list": [{"server_id": "127.0.0.1", "device": [{"rank_id": "1"}]}]})", "no device with rank_id 0"}};
    for (const auto &[text, part] : tables) {
        std::ofstream(path) << text;
        CHECK_REFUSED(HCCL_E_PARA, part, HcclCommInitClusterInfo(path, 0, &comm));
    }
    close(file);
    unlink(path);

    std::thread([&info] {  // has no device
        HcclComm none = nullptr;
        CHECK_REFUSED(HCCL_E_RUNTIME, "no device", HcclCommInitRootInfo(1, &info, 0, &none));
    })
        .join();
}

}  // namespace

int main() {
    const Watchdog watchdog("collective_arguments_test", 3 * kLongEnough);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    wrong_arguments_submit_nothing();
    communicators_need_right_arguments();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
