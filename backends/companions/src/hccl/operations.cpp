// SPDX-License-Identifier: Apache-2.0
// Functions that submit operations of communicators to streams.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "hccl/data_type.h"
#include "hccl/entry.h"
#include "support/thread_state.h"

using namespace hccl;

namespace {

void require_fitting(std::uint64_t count, std::size_t width, std::uint32_t ranks) {
    if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / width / ranks) {
        refuse(HCCL_E_PARA, "there is no memory of " + std::to_string(count) + " elements for each of " +
                                std::to_string(ranks) + " ranks");
    }
}

void require_root(const Communicator &communicator, std::uint32_t root) {
    if (root >= communicator.size()) {
        refuse(HCCL_E_PARA, "there is no rank " + std::to_string(root) + " of " + std::to_string(communicator.size()));
    }
}

void require_buffer(const void *buffer, std::uint64_t count, const char *name) {
    if (count > 0) {
        require(buffer, name);
    }
}

Signature sign(Kind kind, HcclDataType type, std::uint64_t count, std::uint32_t root = 0,
               HcclReduceOp op = HCCL_REDUCE_SUM) {
    return {kind, static_cast<std::uint8_t>(type), static_cast<std::uint8_t>(op), 0, root, count};
}

Operand reads(const void *address, std::uint64_t count, std::size_t width, const char *name = "sendBuf") {
    return {address, ACLSIM_ACCESS_READ, name, count, width};
}

Operand writes(const void *address, std::uint64_t count, std::size_t width, const char *name = "recvBuf") {
    return {address, ACLSIM_ACCESS_WRITE, name, count, width};
}

// Slices of a buffer, one for each rank, from arrays of counts and of displacements in elements.
struct Parts {
    std::vector<Slice> slices;
    std::uint64_t begin = 0;  // begin of the part that they cover, in elements
    std::uint64_t end = 0;

    Parts(std::uint32_t ranks, const void *counts, const void *displacements, std::size_t width) {
        const auto *const count = static_cast<const std::uint64_t *>(counts);
        const auto *const displacement = static_cast<const std::uint64_t *>(displacements);
        begin = std::numeric_limits<std::uint64_t>::max();
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            require_fitting(count[rank], width, 2);
            require_fitting(displacement[rank], width, 2);
            slices.push_back({displacement[rank] * width, count[rank] * width});
            if (count[rank] > 0) {
                begin = std::min(begin, displacement[rank]);
                end = std::max(end, displacement[rank] + count[rank]);
            }
        }
        begin = std::min(begin, end);
    }
    Operand operand(const void *buffer, aclsimAccessMode mode, const char *name, std::size_t width) const {
        return {static_cast<const char *>(buffer) + begin * width, mode, name, end - begin, width};
    }
};

struct Pair {
    HcclSendRecvType direction;
    void *buffer;
    std::uint64_t count;
    HcclDataType type;
    std::uint32_t rank;
};

Message message_of(const Communicator &communicator, const Pair &pair) {
    if (pair.direction != HCCL_SEND && pair.direction != HCCL_RECV) {
        refuse(HCCL_E_PARA,
               "sendRecvType " + std::to_string(static_cast<int>(pair.direction)) + " is neither a send nor a receive");
    }
    const std::size_t width = width_of(pair.type);
    require_root(communicator, pair.rank);
    require_fitting(pair.count, width, 1);
    require_buffer(pair.buffer, pair.count, "buf");
    return {pair.direction == HCCL_SEND, pair.rank, 0, sign(Kind::SendRecv, pair.type, pair.count), pair.buffer,
            pair.count * width};
}

// Messages of a rank to itself must be in one call, in which the sends and receives match.
void require_matching(const Communicator &communicator, const std::vector<Message> &messages) {
    std::vector<std::size_t> sent, received;
    for (const Message &message : messages) {
        if (message.rank == communicator.rank()) {
            (message.is_sent ? sent : received).push_back(message.size);
        }
    }
    if (sent != received) {
        refuse(HCCL_E_PARA, "rank " + std::to_string(communicator.rank()) +
                                " sends to itself what it does not receive in the same call");
    }
}

// Sends and receives that a thread calls between HcclGroupStart and HcclGroupEnd begin together.
struct Group {
    struct Part {
        std::shared_ptr<Communicator> communicator;
        aclrtContext context;  // context of the calls: a thread may be the ranks of several devices
        aclrtStream stream;
        std::vector<Message> messages;
    };
    int depth = 0;
    std::vector<Part> parts;
};

Group &present_group() { return aclsim::ThreadState<Group>::get(); }

// Returns nullptr if the thread has none.
aclrtContext present_context() {
    aclrtContext context = nullptr;
    return aclrtGetCurrentContext(&context) == ACL_SUCCESS ? context : nullptr;
}

void switch_to(aclrtContext context) {
    if (context != nullptr && context != present_context() && aclrtSetCurrentContext(context) != ACL_SUCCESS) {
        const char *const text = aclGetRecentErrMsg();
        refuse(HCCL_E_RUNTIME, text == nullptr ? "" : text);
    }
}

void submit(std::shared_ptr<Communicator> communicator, std::vector<Message> messages, const char *name,
            aclrtStream stream) {
    Group &group = present_group();
    if (group.depth == 0) {
        require_matching(*communicator, messages);
        return communicator->submit(std::move(messages), name, stream);
    }
    aclrtContext context = present_context();
    for (Group::Part &part : group.parts) {
        if (part.communicator == communicator && part.context == context && part.stream == stream) {
            part.messages.insert(part.messages.end(), messages.begin(), messages.end());
            return;
        }
    }
    group.parts.push_back({std::move(communicator), context, stream, std::move(messages)});
}

}  // namespace

HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                         HcclComm comm, aclrtStream stream) {
    return checked("HcclAllReduce", [&] {
        const auto communicator = find(comm);
        require_reducible(dataType, op);
        const std::size_t width = width_of(dataType);
        require_fitting(count, width, 1);
        require_buffer(sendBuf, count, "sendBuf");
        require_buffer(recvBuf, count, "recvBuf");
        communicator->submit({"HcclAllReduce",
                              sign(Kind::AllReduce, dataType, count, 0, op),
                              {reads(sendBuf, count, width), writes(recvBuf, count, width)},
                              all_reduce(sendBuf, recvBuf, {dataType, op, count})},
                             stream);
    });
}

HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                      uint32_t root, HcclComm comm, aclrtStream stream) {
    return checked("HcclReduce", [&] {
        const auto communicator = find(comm);
        require_reducible(dataType, op);
        const std::size_t width = width_of(dataType);
        require_root(*communicator, root);
        require_fitting(count, width, 1);
        require_buffer(sendBuf, count, "sendBuf");
        std::vector<Operand> operands{reads(sendBuf, count, width)};
        if (communicator->rank() == root) {
            require_buffer(recvBuf, count, "recvBuf");
            operands.push_back(writes(recvBuf, count, width));
        }
        communicator->submit({"HcclReduce", sign(Kind::Reduce, dataType, count, root, op), std::move(operands),
                              reduce(sendBuf, recvBuf, {dataType, op, count}, root)},
                             stream);
    });
}

HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op,
                             HcclComm comm, aclrtStream stream) {
    return checked("HcclReduceScatter", [&] {
        const auto communicator = find(comm);
        const std::uint32_t size = communicator->size();
        require_reducible(dataType, op);
        const std::size_t width = width_of(dataType);
        require_fitting(recvCount, width, size);
        require_buffer(sendBuf, recvCount, "sendBuf");
        require_buffer(recvBuf, recvCount, "recvBuf");
        communicator->submit(
            {"HcclReduceScatter",
             sign(Kind::ReduceScatter, dataType, recvCount, 0, op),
             {reads(sendBuf, recvCount * size, width), writes(recvBuf, recvCount, width)},
             reduce_scatter(sendBuf, equal_slices(size, recvCount * width), recvBuf, {dataType, op, recvCount})},
            stream);
    });
}

HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls, void *recvBuf,
                              uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                              aclrtStream stream) {
    return checked("HcclReduceScatterV", [&] {
        const auto communicator = find(comm);
        require_reducible(dataType, op);
        const std::size_t width = width_of(dataType);
        require(sendCounts, "sendCounts");
        require(sendDispls, "sendDispls");
        const Parts parts(communicator->size(), sendCounts, sendDispls, width);
        require_fitting(recvCount, width, 1);
        if (parts.slices[communicator->rank()].size != recvCount * width) {
            refuse(HCCL_E_PARA, "recvCount is " + std::to_string(recvCount) + ", sendCounts of this rank " +
                                    std::to_string(parts.slices[communicator->rank()].size / width));
        }
        require_buffer(sendBuf, parts.end, "sendBuf");
        require_buffer(recvBuf, recvCount, "recvBuf");
        communicator->submit(
            {"HcclReduceScatterV",
             sign(Kind::ReduceScatterV, dataType, total_of(parts.slices) / width, 0, op),
             {parts.operand(sendBuf, ACLSIM_ACCESS_READ, "sendBuf", width), writes(recvBuf, recvCount, width)},
             reduce_scatter(sendBuf, parts.slices, recvBuf, {dataType, op, recvCount})},
            stream);
    });
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                         aclrtStream stream) {
    return checked("HcclBroadcast", [&] {
        const auto communicator = find(comm);
        const std::size_t width = width_of(dataType);
        require_root(*communicator, root);
        require_fitting(count, width, 1);
        require_buffer(buf, count, "buf");
        const bool is_root = communicator->rank() == root;
        communicator->submit({"HcclBroadcast",
                              sign(Kind::Broadcast, dataType, count, root),
                              {is_root ? reads(buf, count, width, "buf") : writes(buf, count, width, "buf")},
                              broadcast(buf, count * width, root)},
                             stream);
    });
}

HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root,
                       HcclComm comm, aclrtStream stream) {
    return checked("HcclScatter", [&] {
        const auto communicator = find(comm);
        const std::size_t width = width_of(dataType);
        require_root(*communicator, root);
        require_fitting(recvCount, width, communicator->size());
        require_buffer(recvBuf, recvCount, "recvBuf");
        std::vector<Operand> operands{writes(recvBuf, recvCount, width)};
        if (communicator->rank() == root) {
            require_buffer(sendBuf, recvCount, "sendBuf");
            operands.push_back(reads(sendBuf, recvCount * communicator->size(), width));
        }
        communicator->submit({"HcclScatter", sign(Kind::Scatter, dataType, recvCount, root), std::move(operands),
                              scatter(sendBuf, recvBuf, recvCount * width, root)},
                             stream);
    });
}

HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
                         aclrtStream stream) {
    return checked("HcclAllGather", [&] {
        const auto communicator = find(comm);
        const std::uint32_t size = communicator->size();
        const std::size_t width = width_of(dataType);
        require_fitting(sendCount, width, size);
        require_buffer(sendBuf, sendCount, "sendBuf");
        require_buffer(recvBuf, sendCount, "recvBuf");
        communicator->submit({"HcclAllGather",
                              sign(Kind::AllGather, dataType, sendCount),
                              {reads(sendBuf, sendCount, width), writes(recvBuf, sendCount * size, width)},
                              exchange(sendBuf, std::vector<Slice>(size, Slice{0, sendCount * width}), recvBuf,
                                       equal_slices(size, sendCount * width))},
                             stream);
    });
}

HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts,
                          const void *recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream) {
    return checked("HcclAllGatherV", [&] {
        const auto communicator = find(comm);
        const std::size_t width = width_of(dataType);
        require_fitting(sendCount, width, 1);
        require(recvCounts, "recvCounts");
        require(recvDispls, "recvDispls");
        const Parts parts(communicator->size(), recvCounts, recvDispls, width);
        if (parts.slices[communicator->rank()].size != sendCount * width) {
            refuse(HCCL_E_PARA, "sendCount is " + std::to_string(sendCount) + ", recvCounts of this rank " +
                                    std::to_string(parts.slices[communicator->rank()].size / width));
        }
        require_buffer(sendBuf, sendCount, "sendBuf");
        require_buffer(recvBuf, parts.end, "recvBuf");
        communicator->submit(
            {"HcclAllGatherV",
             sign(Kind::AllGatherV, dataType, 0),
             {reads(sendBuf, sendCount, width), parts.operand(recvBuf, ACLSIM_ACCESS_WRITE, "recvBuf", width)},
             exchange(sendBuf, std::vector<Slice>(parts.slices.size(), Slice{0, sendCount * width}), recvBuf,
                      parts.slices)},
            stream);
    });
}

HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType, const void *recvBuf,
                        uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
    return checked("HcclAlltoAll", [&] {
        const auto communicator = find(comm);
        const std::uint32_t size = communicator->size();
        const std::size_t width = width_of(sendType);
        if (sendType != recvType || sendCount != recvCount) {
            refuse(HCCL_E_PARA, "what is sent and what is received differ in type or count");
        }
        require_fitting(sendCount, width, size);
        require_buffer(sendBuf, sendCount, "sendBuf");
        require_buffer(recvBuf, sendCount, "recvBuf");
        communicator->submit({"HcclAlltoAll",
                              sign(Kind::AlltoAll, sendType, sendCount),
                              {reads(sendBuf, sendCount * size, width), writes(recvBuf, sendCount * size, width)},
                              exchange(sendBuf, equal_slices(size, sendCount * width), const_cast<void *>(recvBuf),
                                       equal_slices(size, sendCount * width))},
                             stream);
    });
}

HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls, HcclDataType sendType,
                         const void *recvBuf, const void *recvCounts, const void *rdispls, HcclDataType recvType,
                         HcclComm comm, aclrtStream stream) {
    return checked("HcclAlltoAllV", [&] {
        const auto communicator = find(comm);
        const std::size_t width = width_of(sendType);
        if (sendType != recvType) {
            refuse(HCCL_E_PARA, "sendType and recvType differ");
        }
        require(sendCounts, "sendCounts");
        require(sdispls, "sdispls");
        require(recvCounts, "recvCounts");
        require(rdispls, "rdispls");
        const Parts sent(communicator->size(), sendCounts, sdispls, width);
        const Parts received(communicator->size(), recvCounts, rdispls, width);
        const std::uint32_t rank = communicator->rank();
        if (sent.slices[rank].size != received.slices[rank].size) {
            refuse(HCCL_E_PARA,
                   "rank " + std::to_string(rank) + " sends " + std::to_string(sent.slices[rank].size / width) +
                       " elements to itself, and receives " + std::to_string(received.slices[rank].size / width));
        }
        require_buffer(sendBuf, sent.end, "sendBuf");
        require_buffer(recvBuf, received.end, "recvBuf");
        communicator->submit({"HcclAlltoAllV",
                              sign(Kind::AlltoAllV, sendType, 0),
                              {sent.operand(sendBuf, ACLSIM_ACCESS_READ, "sendBuf", width),
                               received.operand(recvBuf, ACLSIM_ACCESS_WRITE, "recvBuf", width)},
                              exchange(sendBuf, sent.slices, const_cast<void *>(recvBuf), received.slices)},
                             stream);
    });
}

// The matrix has what each rank, a row, sends to each rank.
HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType, const void *recvBuf,
                          HcclDataType recvType, HcclComm comm, aclrtStream stream) {
    return checked("HcclAlltoAllVC", [&] {
        const auto communicator = find(comm);
        const std::uint32_t size = communicator->size();
        const std::size_t width = width_of(sendType);
        if (sendType != recvType) {
            refuse(HCCL_E_PARA, "sendType and recvType differ");
        }
        require(sendCountMatrix, "sendCountMatrix");
        const auto *const matrix = static_cast<const std::uint64_t *>(sendCountMatrix);
        std::vector<Slice> from, to;
        std::uint64_t sent = 0, received = 0;
        for (std::uint32_t other = 0; other < size; ++other) {
            const std::uint64_t out = matrix[std::size_t{communicator->rank()} * size + other];
            const std::uint64_t in = matrix[std::size_t{other} * size + communicator->rank()];
            require_fitting(out, width, size);
            require_fitting(in, width, size);
            from.push_back({sent * width, out * width});
            to.push_back({received * width, in * width});
            sent += out;
            received += in;
        }
        require_buffer(sendBuf, sent, "sendBuf");
        require_buffer(recvBuf, received, "recvBuf");
        communicator->submit({"HcclAlltoAllVC",
                              sign(Kind::AlltoAllVC, sendType, 0),
                              {reads(sendBuf, sent, width), writes(recvBuf, received, width)},
                              exchange(sendBuf, from, const_cast<void *>(recvBuf), to)},
                             stream);
    });
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
    return checked("HcclBarrier", [&] {
        const auto communicator = find(comm);
        communicator->submit({"HcclBarrier", {Kind::Barrier}, {}, barrier(communicator->size())}, stream);
    });
}

HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
                    aclrtStream stream) {
    return checked("HcclSend", [&] {
        const auto communicator = find(comm);
        submit(communicator, {message_of(*communicator, {HCCL_SEND, sendBuf, count, dataType, destRank})}, "HcclSend",
               stream);
    });
}

HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
                    aclrtStream stream) {
    return checked("HcclRecv", [&] {
        const auto communicator = find(comm);
        submit(communicator, {message_of(*communicator, {HCCL_RECV, recvBuf, count, dataType, srcRank})}, "HcclRecv",
               stream);
    });
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream) {
    return checked("HcclBatchSendRecv", [&] {
        const auto communicator = find(comm);
        require(sendRecvInfo, "sendRecvInfo");
        std::vector<Message> messages;
        for (std::uint32_t i = 0; i < itemNum; ++i) {
            const HcclSendRecvItem &item = sendRecvInfo[i];
            messages.push_back(
                message_of(*communicator, {item.sendRecvType, item.buf, item.count, item.dataType, item.remoteRank}));
        }
        submit(communicator, std::move(messages), "HcclBatchSendRecv", stream);
    });
}

HcclResult HcclGroupStart(void) {
    return checked("HcclGroupStart", [] { ++present_group().depth; });
}

HcclResult HcclGroupEnd(void) {
    return checked("HcclGroupEnd", [&] {
        Group &group = present_group();
        if (group.depth == 0) {
            refuse(HCCL_E_PARA, "the thread has not called HcclGroupStart");
        }
        if (--group.depth > 0) {
            return;
        }
        std::vector<Group::Part> parts = std::exchange(group.parts, {});
        const struct AtEnd {
            aclrtContext context = present_context();
            ~AtEnd() {
                if (context != nullptr) {
                    aclrtSetCurrentContext(context);
                }
            }
        } at_end;
        for (const Group::Part &part : parts) {  // all, before the first is submitted
            require_matching(*part.communicator, part.messages);
            switch_to(part.context);
            part.communicator->require_submittable(part.messages, part.stream);
        }
        for (Group::Part &part : parts) {
            switch_to(part.context);
            part.communicator->submit(std::move(part.messages), "HcclBatchSendRecv", part.stream);
        }
    });
}
