// SPDX-License-Identifier: Apache-2.0
// Collective communication: threads as ranks, each with a device. Results are compared with those of a plain loop.
#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>

#include "collectives_kit.h"

namespace {

// Nothing, less than an element for each rank, a message that is sent at once, and one that is offered first.
constexpr std::size_t kCounts[] = {0, 1, 5, 1000, 40009};
// More than the piece of a chunk that is reduced at once, and more than Gloo's segments.
constexpr std::size_t kMany = 1200000;
constexpr HcclReduceOp kOperations[] = {HCCL_REDUCE_SUM, HCCL_REDUCE_PROD, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN};

template <class T>
void a_reduction_is_that_of_a_loop(const Rank &rank, HcclDataType type, HcclReduceOp op, std::size_t count) {
    const std::vector<T> expected = reduced<T>(op, rank.size, count), own = content_of<T>(rank.number, count);
    const Memory<T> from(own), to(count), in_place(own);
    CHECK_HCCL(HCCL_SUCCESS, HcclAllReduce(from.data(), to.data(), count, type, op, rank.comm, rank.stream));
    CHECK_HCCL(HCCL_SUCCESS, HcclAllReduce(in_place.data(), in_place.data(), count, type, op, rank.comm, rank.stream));
    const std::vector<T> before(count, T{9});
    const Memory<T> first(before), last(before);
    CHECK_HCCL(HCCL_SUCCESS, HcclReduce(from.data(), first.data(), count, type, op, 0, rank.comm, rank.stream));
    CHECK_HCCL(HCCL_SUCCESS,
               HcclReduce(from.data(), last.data(), count, type, op, rank.size - 1, rank.comm, rank.stream));
    rank.synchronize();
    CHECK(to.get() == expected);
    CHECK(in_place.get() == expected);
    CHECK(from.get() == own);
    CHECK(first.get() == (rank.number == 0 ? expected : before));
    CHECK(last.get() == (rank.number == rank.size - 1 ? expected : before));
}

template <class T>
void reductions_are_those_of_a_loop(const Rank &rank, HcclDataType type) {
    for (const HcclReduceOp op : kOperations) {
        if (type == HCCL_DATA_TYPE_INT16 && op == HCCL_REDUCE_PROD) {
            continue;  // not on 910B
        }
        a_reduction_is_that_of_a_loop<T>(rank, type, op, 5);
        a_reduction_is_that_of_a_loop<T>(rank, type, op, 40009);
    }
}

// Small integers in the formats of 16 bits.
std::uint16_t half_of(int number) {
    constexpr std::uint16_t kOne = 15 << 10;
    if (number == 0) {
        return 0;
    }
    const auto magnitude = static_cast<unsigned>(std::abs(number));
    int exponent = 0;
    while (magnitude >> (exponent + 1) != 0) {
        ++exponent;
    }
    const unsigned fraction = (magnitude << 10 >> exponent) & 0x3FFU;
    return static_cast<std::uint16_t>((number < 0 ? 0x8000U : 0U) | (kOne + (static_cast<unsigned>(exponent) << 10)) |
                                      fraction);
}

std::uint16_t bfloat16_of(int number) {
    const auto single = static_cast<float>(number);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof bits);
    return static_cast<std::uint16_t>(bits >> 16);
}

void formats_of_16_bits_are_reduced(const Rank &rank) {
    const auto stored = [](const std::vector<int> &numbers, std::uint16_t (*store)(int)) {
        std::vector<std::uint16_t> content(numbers.size());
        std::transform(numbers.begin(), numbers.end(), content.begin(), store);
        return content;
    };
    const struct {
        HcclDataType type;
        std::uint16_t (*store)(int);
    } formats[] = {{HCCL_DATA_TYPE_FP16, half_of}, {HCCL_DATA_TYPE_BFP16, bfloat16_of}};
    for (const auto &[type, store] : formats) {
        for (const HcclReduceOp op : {HCCL_REDUCE_SUM, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN}) {
            constexpr std::size_t kCount = 1001;
            const Memory<std::uint16_t> value(stored(content_of<int>(rank.number, kCount), store));
            CHECK_HCCL(HCCL_SUCCESS,
                       HcclAllReduce(value.data(), value.data(), kCount, type, op, rank.comm, rank.stream));
            rank.synchronize();
            CHECK(value.get() == stored(reduced<int>(op, rank.size, kCount), store));
        }
    }
}

// The result has the bits of the operand that Gloo keeps: that of the next rank, unless the comparison is true.
void an_extreme_keeps_the_bits_of_its_operand(const Rank &rank) {
    const struct {
        HcclDataType type;
        std::uint16_t nan, one;
    } formats[] = {{HCCL_DATA_TYPE_FP16, 0xFD23, half_of(1)}, {HCCL_DATA_TYPE_BFP16, 0xFFA3, bfloat16_of(1)}};
    for (const auto &[type, nan, one] : formats) {
        for (const HcclReduceOp op : {HCCL_REDUCE_MAX, HCCL_REDUCE_MIN}) {
            const std::vector<std::uint16_t> all(1001, nan), none(1001, one);
            const Memory<std::uint16_t> both(all), some(rank.number == 0 ? all : none);
            for (const Memory<std::uint16_t> *const value : {&both, &some}) {
                CHECK_HCCL(HCCL_SUCCESS, HcclAllReduce(value->data(), value->data(), value->count(), type, op,
                                                       rank.comm, rank.stream));
            }
            rank.synchronize();
            CHECK(both.get() == all);
            const std::vector<std::uint16_t> mixed = some.get();
            CHECK(std::count(mixed.begin(), mixed.end(), nan) + std::count(mixed.begin(), mixed.end(), one) == 1001);
        }
    }
}

std::vector<float> fractions_of(std::uint32_t rank, std::size_t count) {
    std::vector<float> content(count);
    for (std::size_t i = 0; i < count; ++i) {
        content[i] = 1.0F / static_cast<float>(1 + (i * 7 + rank * 13) % 1009);
    }
    return content;
}

// Gloo cuts the data into a chunk for each rank, of equal segments of at most 1 MiB. The chunk of rank r is
// x[r] + (x[r+1] + (... + x[r-1])), to the last bit.
std::vector<float> sum_of_a_ring(std::uint32_t ranks, std::size_t count) {
    const std::size_t bytes = count * sizeof(float), longest = std::size_t{1} << 20;
    const std::size_t least = std::max((bytes + longest - 1) / longest, std::size_t{2} * ranks);
    const std::size_t for_each_rank = (least + ranks - 1) / ranks, segments = for_each_rank * ranks;
    const std::size_t segment = ((bytes + segments - 1) / segments + 3) / 4;  // elements
    std::vector<std::vector<float>> operands;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        operands.push_back(fractions_of(rank, count));
    }
    std::vector<float> sum(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t chunk = i / (for_each_rank * segment);
        float so_far = operands[(chunk + ranks - 1) % ranks][i];
        for (std::uint32_t distance = 2; distance <= ranks; ++distance) {
            so_far = operands[(chunk + ranks - distance) % ranks][i] + so_far;
        }
        sum[i] = so_far;
    }
    return sum;
}

void sums_have_the_order_of_a_ring(const Rank &rank) {
    for (const std::size_t count : {std::size_t{7}, std::size_t{150001}}) {  // the latter: several pieces
        const std::vector<float> all = sum_of_a_ring(rank.size, count * rank.size);
        const Memory<float> from(fractions_of(rank.number, count * rank.size)), to(count);
        CHECK_HCCL(HCCL_SUCCESS, HcclReduceScatter(from.data(), to.data(), count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                                   rank.comm, rank.stream));
        CHECK_HCCL(HCCL_SUCCESS, HcclAllReduce(from.data(), from.data(), count * rank.size, HCCL_DATA_TYPE_FP32,
                                               HCCL_REDUCE_SUM, rank.comm, rank.stream));
        rank.synchronize();
        CHECK(to.get() == part_of(all, count * rank.number, count));
        CHECK(from.get() == all);
    }
}

void reduce_scatter_gives_each_rank_its_part(const Rank &rank) {
    for (const std::size_t count : kCounts) {
        const std::vector<float> all = reduced<float>(HCCL_REDUCE_SUM, rank.size, count * rank.size);
        const Memory<float> from(content_of<float>(rank.number, count * rank.size)), to(count);
        CHECK_HCCL(HCCL_SUCCESS, HcclReduceScatter(from.data(), to.data(), count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                                   rank.comm, rank.stream));
        rank.synchronize();
        CHECK(to.get() == part_of(all, count * rank.number, count));
    }
}

void parts_may_differ_in_size(const Rank &rank) {
    std::vector<std::uint64_t> counts, displacements;
    std::uint64_t total = 0;
    for (std::uint32_t other = 0; other < rank.size; ++other) {
        counts.push_back(other * 10007);
        displacements.push_back(total);
        total += other * 10007;
    }
    const std::uint64_t own = counts[rank.number];
    const std::vector<std::int32_t> all = content_of<std::int32_t>(3, total);
    const Memory<std::int32_t> from(part_of(all, displacements[rank.number], own)), to(total);
    CHECK_HCCL(HCCL_SUCCESS, HcclAllGatherV(from.data(), own, to.data(), counts.data(), displacements.data(),
                                            HCCL_DATA_TYPE_INT32, rank.comm, rank.stream));
    rank.synchronize();
    CHECK(to.get() == all);
    const std::vector<std::int32_t> sums = reduced<std::int32_t>(HCCL_REDUCE_SUM, rank.size, total);
    const Memory<std::int32_t> mine(content_of<std::int32_t>(rank.number, total)), sum(own);
    CHECK_HCCL(HCCL_SUCCESS, HcclReduceScatterV(mine.data(), counts.data(), displacements.data(), sum.data(), own,
                                                HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, rank.comm, rank.stream));
    rank.synchronize();
    CHECK(sum.get() == part_of(sums, displacements[rank.number], own));
    // The same parts of a buffer that has a gap on one rank.
    const std::size_t gap = rank.number == 1 ? 5 : 0;
    const Memory<std::int32_t> wide(total + gap);
    CHECK_OK(aclrtMemcpy(wide.data() + gap, total * sizeof(std::int32_t), mine.data(), total * sizeof(std::int32_t),
                         ACL_MEMCPY_DEVICE_TO_DEVICE));
    for (std::uint64_t &displacement : displacements) {
        displacement += gap;
    }
    CHECK_OK(aclrtMemset(sum.data(), own * sizeof(std::int32_t), 0, own * sizeof(std::int32_t)));
    CHECK_HCCL(HCCL_SUCCESS, HcclReduceScatterV(wide.data(), counts.data(), displacements.data(), sum.data(), own,
                                                HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, rank.comm, rank.stream));
    rank.synchronize();
    CHECK(sum.get() == part_of(sums, displacements[rank.number] - gap, own));
}

void data_are_moved(const Rank &rank) {
    for (const std::size_t count : kCounts) {
        const std::size_t all = count * rank.size;
        const std::uint32_t root = rank.size / 2;
        std::vector<std::int64_t> everything;
        for (std::uint32_t other = 0; other < rank.size; ++other) {
            const std::vector<std::int64_t> part = content_of<std::int64_t>(other, count);
            everything.insert(everything.end(), part.begin(), part.end());
        }
        const Memory<std::int64_t> from(content_of<std::int64_t>(rank.number, count)), gathered(all);
        CHECK_HCCL(HCCL_SUCCESS,
                   HcclAllGather(from.data(), gathered.data(), count, HCCL_DATA_TYPE_INT64, rank.comm, rank.stream));
        rank.synchronize();
        CHECK(gathered.get() == everything);

        const Memory<std::int64_t> shared(content_of<std::int64_t>(rank.number, count));
        CHECK_HCCL(HCCL_SUCCESS,
                   HcclBroadcast(shared.data(), count, HCCL_DATA_TYPE_INT64, root, rank.comm, rank.stream));
        rank.synchronize();
        CHECK(shared.get() == content_of<std::int64_t>(root, count));

        const Memory<std::int64_t> part(count);
        CHECK_HCCL(HCCL_SUCCESS, HcclScatter(gathered.data(), part.data(), count, HCCL_DATA_TYPE_INT64, root, rank.comm,
                                             rank.stream));
        rank.synchronize();
        CHECK(part.get() == content_of<std::int64_t>(rank.number, count));

        // Content from rank r for rank s: that of r + 10 s.
        std::vector<std::int64_t> out, in;
        for (std::uint32_t other = 0; other < rank.size; ++other) {
            const auto to = content_of<std::int64_t>(rank.number + 10 * other, count);
            const auto came = content_of<std::int64_t>(other + 10 * rank.number, count);
            out.insert(out.end(), to.begin(), to.end());
            in.insert(in.end(), came.begin(), came.end());
        }
        const Memory<std::int64_t> sent(out), received(all), received_again(all), received_thrice(all);
        CHECK_HCCL(HCCL_SUCCESS, HcclAlltoAll(sent.data(), count, HCCL_DATA_TYPE_INT64, received.data(), count,
                                              HCCL_DATA_TYPE_INT64, rank.comm, rank.stream));
        const std::vector<std::uint64_t> counts(rank.size, count), matrix(std::size_t{rank.size} * rank.size, count);
        std::vector<std::uint64_t> displacements;
        for (std::uint32_t other = 0; other < rank.size; ++other) {
            displacements.push_back(other * count);
        }
        CHECK_HCCL(HCCL_SUCCESS, HcclAlltoAllV(sent.data(), counts.data(), displacements.data(), HCCL_DATA_TYPE_INT64,
                                               received_again.data(), counts.data(), displacements.data(),
                                               HCCL_DATA_TYPE_INT64, rank.comm, rank.stream));
        CHECK_HCCL(HCCL_SUCCESS, HcclAlltoAllVC(sent.data(), matrix.data(), HCCL_DATA_TYPE_INT64,
                                                received_thrice.data(), HCCL_DATA_TYPE_INT64, rank.comm, rank.stream));
        rank.synchronize();
        CHECK(received.get() == in && received_again.get() == in && received_thrice.get() == in);
    }
    CHECK_HCCL(HCCL_SUCCESS, HcclBarrier(rank.comm, rank.stream));
    rank.synchronize();
}

// Each rank sends to the next one and receives from the one before: as one call, as a group, and to itself.
void ranks_send_and_receive(const Rank &rank) {
    const std::uint32_t next = (rank.number + 1) % rank.size, before = (rank.number + rank.size - 1) % rank.size;
    for (const std::size_t count : kCounts) {
        const auto own = content_of<std::uint8_t>(rank.number, count), other = content_of<std::uint8_t>(before, count);
        const Memory<std::uint8_t> from(own), to(count), again(count);
        HcclSendRecvItem items[] = {{HCCL_SEND, from.data(), count, HCCL_DATA_TYPE_UINT8, next},
                                    {HCCL_RECV, to.data(), count, HCCL_DATA_TYPE_UINT8, before}};
        CHECK_HCCL(HCCL_SUCCESS, HcclBatchSendRecv(items, 2, rank.comm, rank.stream));
        CHECK_HCCL(HCCL_SUCCESS, HcclGroupStart());
        CHECK_HCCL(HCCL_SUCCESS, HcclRecv(again.data(), count, HCCL_DATA_TYPE_UINT8, before, rank.comm, rank.stream));
        CHECK_HCCL(HCCL_SUCCESS, HcclSend(from.data(), count, HCCL_DATA_TYPE_UINT8, next, rank.comm, rank.stream));
        CHECK_HCCL(HCCL_SUCCESS, HcclGroupEnd());
        rank.synchronize();
        CHECK(to.get() == other && again.get() == other);
    }
    if (rank.size > 1 && rank.number < 2) {
        const Memory<float> value(std::vector<float>(70000, rank.number == 0 ? 4.0F : 0.0F));
        if (rank.number == 0) {
            CHECK_HCCL(HCCL_SUCCESS, HcclSend(value.data(), 70000, HCCL_DATA_TYPE_FP32, 1, rank.comm, rank.stream));
        } else {
            CHECK_HCCL(HCCL_SUCCESS, HcclRecv(value.data(), 70000, HCCL_DATA_TYPE_FP32, 0, rank.comm, rank.stream));
        }
        rank.synchronize();
        CHECK(value.get() == std::vector<float>(70000, 4.0F));
    }
}

// Returns the number of descriptors of memory that ranks share.
std::ptrdiff_t count_of_shared_memory() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::count_if(begin(all), end(all), [](const std::filesystem::directory_entry &it) {
        std::error_code closed;  // descriptor of the directory itself
        return contains(std::filesystem::read_symlink(it.path(), closed).string(), "ascend_rt_hccl");
    });
}

// More messages at once than there is room for, of sizes that go different ways.
void many_messages_are_under_way(const Rank &rank) {
    if (rank.size != 2) {
        return;
    }
    constexpr std::size_t kSizes[] = {0,
                                      5,
                                      std::size_t{32} << 10,
                                      (std::size_t{32} << 10) + 1,
                                      std::size_t{100} << 10,
                                      std::size_t{1} << 20,
                                      (std::size_t{1} << 20) + 1};
    constexpr std::size_t kMessages = 60;
    for (int round = 0; round < 3; ++round) {
        std::vector<std::unique_ptr<Memory<std::uint8_t>>> memory;
        std::vector<HcclSendRecvItem> items;
        for (std::size_t i = 0; i < 2 * kMessages; ++i) {
            const bool is_sent = i < kMessages;
            const std::size_t count = kSizes[(i % kMessages + static_cast<std::size_t>(round)) % std::size(kSizes)];
            const auto content = content_of<std::uint8_t>(static_cast<std::uint32_t>(i) + rank.number, count);
            memory.push_back(std::make_unique<Memory<std::uint8_t>>(is_sent ? content : decltype(content)(count)));
            items.push_back(
                {is_sent ? HCCL_SEND : HCCL_RECV, memory.back()->data(), count, HCCL_DATA_TYPE_UINT8, 1 - rank.number});
        }
        CHECK_HCCL(HCCL_SUCCESS,
                   HcclBatchSendRecv(items.data(), static_cast<std::uint32_t>(items.size()), rank.comm, rank.stream));
        rank.synchronize();
        for (std::size_t i = 0; i < kMessages; ++i) {
            const auto &received = *memory[kMessages + i];
            CHECK(received.get() ==
                  content_of<std::uint8_t>(static_cast<std::uint32_t>(i) + 1 - rank.number, received.count()));
        }
    }
    rank.gather();
    CHECK(count_of_shared_memory() == 0);  // descriptors are few, and a program may have many communicators
}

// Two communicators whose operations are issued in another order by each rank, on two streams.
void no_operation_blocks_another(const Rank &rank) {
    std::vector<std::uint32_t> everyone(rank.size);
    std::iota(everyone.begin(), everyone.end(), 0);
    HcclComm comm = rank.comm, second = nullptr;
    CHECK_HCCL(HCCL_SUCCESS,
               HcclCreateSubCommConfig(&comm, rank.size, everyone.data(), 1, rank.number, nullptr, &second));
    aclrtStream other = nullptr;
    CHECK_OK(aclrtCreateStream(&other));
    const Memory<float> one(std::vector<float>(100, 1.0F)), two(std::vector<float>(100, 2.0F));
    const auto first = [&] {
        CHECK_HCCL(HCCL_SUCCESS, HcclAllReduce(one.data(), one.data(), 100, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                               rank.comm, rank.stream));
    };
    const auto last = [&] {
        CHECK_HCCL(HCCL_SUCCESS,
                   HcclAllReduce(two.data(), two.data(), 100, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, second, other));
    };
    if (rank.number % 2 == 0) {
        first();
        last();
    } else {
        last();
        first();
    }
    rank.synchronize();
    CHECK_OK(aclrtSynchronizeStream(other));
    CHECK(one.get() == std::vector<float>(100, 1.0F * static_cast<float>(rank.size)));
    CHECK(two.get() == std::vector<float>(100, 2.0F * static_cast<float>(rank.size)));
    CHECK_OK(aclrtDestroyStream(other));
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(second));
}

// Without another thread, which would have to be woken.
void an_operation_for_which_all_has_come_is_over_when_its_call_returns(const Rank &rank) {
    constexpr std::size_t kCount = 3;
    const Memory<std::int32_t> from(content_of<std::int32_t>(rank.number, kCount)), all(kCount * rank.size);
    const auto call = [&] {
        CHECK_HCCL(HCCL_SUCCESS,
                   HcclAllGather(from.data(), all.data(), kCount, HCCL_DATA_TYPE_INT32, rank.comm, rank.stream));
    };
    rank.synchronize();
    if (rank.number > 0) {
        call();
    }
    rank.gather();
    if (rank.number == 0) {
        call();
        aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
        CHECK_OK(aclrtStreamQuery(rank.stream, &status));
        CHECK(status == ACL_STREAM_STATUS_COMPLETE);
    }
    rank.synchronize();
    const std::vector<std::int32_t> gathered = all.get();
    for (std::uint32_t other = 0; other < rank.size; ++other) {
        const auto part = gathered.begin() + static_cast<std::ptrdiff_t>(other * kCount);
        CHECK(std::vector<std::int32_t>(part, part + kCount) == content_of<std::int32_t>(other, kCount));
    }
}

void a_graph_repeats_operations(const Rank &rank) {
    constexpr std::size_t kCount = 20000;
    const Memory<float> value(std::vector<float>(kCount, 1.0F));
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureBegin(rank.stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    CHECK_HCCL(HCCL_SUCCESS, HcclAllReduce(value.data(), value.data(), kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                           rank.comm, rank.stream));
    CHECK_OK(aclmdlRICaptureEnd(rank.stream, &graph));
    float expected = 1.0F;
    for (int i = 0; i < 3; ++i) {
        CHECK_OK(aclmdlRIExecuteAsync(graph, rank.stream));
        CHECK_HCCL(HCCL_SUCCESS, HcclBarrier(rank.comm, rank.stream));
        rank.synchronize();
        expected *= static_cast<float>(rank.size);
        CHECK(value.get() == std::vector<float>(kCount, expected));
    }
    CHECK_OK(aclmdlRIDestroy(graph));
}

// Collectives and messages of a graph, between others that are not in it.
void replays_and_other_operations_alternate(const Rank &rank) {
    constexpr std::size_t kCount = 12000;
    const std::uint32_t next = (rank.number + 1) % rank.size, before = (rank.number + rank.size - 1) % rank.size;
    const Memory<std::int32_t> value(content_of<std::int32_t>(rank.number, kCount)), largest(kCount), passed(kCount);
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureBegin(rank.stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    CHECK_HCCL(HCCL_SUCCESS, HcclAllReduce(value.data(), largest.data(), kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_MAX,
                                           rank.comm, rank.stream));
    HcclSendRecvItem items[] = {{HCCL_SEND, value.data(), kCount, HCCL_DATA_TYPE_INT32, next},
                                {HCCL_RECV, passed.data(), kCount, HCCL_DATA_TYPE_INT32, before}};
    CHECK_HCCL(HCCL_SUCCESS, HcclBatchSendRecv(items, 2, rank.comm, rank.stream));
    CHECK_OK(aclmdlRICaptureEnd(rank.stream, &graph));
    for (std::uint32_t round = 1; round <= 5; ++round) {
        value.set(content_of<std::int32_t>(rank.number + round, kCount));
        CHECK_OK(aclmdlRIExecuteAsync(graph, rank.stream));
        const Memory<std::int32_t> eager(content_of<std::int32_t>(rank.number, kCount)), given(kCount);
        CHECK_HCCL(HCCL_SUCCESS, HcclAllReduce(eager.data(), eager.data(), kCount, HCCL_DATA_TYPE_INT32,
                                               HCCL_REDUCE_SUM, rank.comm, rank.stream));
        HcclSendRecvItem others[] = {{HCCL_RECV, given.data(), kCount, HCCL_DATA_TYPE_INT32, before},
                                     {HCCL_SEND, value.data(), kCount, HCCL_DATA_TYPE_INT32, next}};
        CHECK_HCCL(HCCL_SUCCESS, HcclBatchSendRecv(others, 2, rank.comm, rank.stream));
        rank.synchronize();
        CHECK(eager.get() == reduced<std::int32_t>(HCCL_REDUCE_SUM, rank.size, kCount));
        CHECK(passed.get() == content_of<std::int32_t>(before + round, kCount));
        CHECK(given.get() == passed.get());
        std::vector<std::int32_t> expected = content_of<std::int32_t>(round, kCount);
        for (std::uint32_t other = 1; other < rank.size; ++other) {
            const std::vector<std::int32_t> theirs = content_of<std::int32_t>(other + round, kCount);
            for (std::size_t i = 0; i < kCount; ++i) {
                expected[i] = std::max(expected[i], theirs[i]);
            }
        }
        CHECK(largest.get() == expected);
    }
    CHECK_OK(aclmdlRIDestroy(graph));
}

// Sends and receives of a group begin together, on two communicators, and groups nest.
void groups_begin_together(const Rank &rank) {
    std::vector<std::uint32_t> everyone(rank.size);
    std::iota(everyone.begin(), everyone.end(), 0);
    HcclComm comm = rank.comm, second = nullptr;
    CHECK_HCCL(HCCL_SUCCESS,
               HcclCreateSubCommConfig(&comm, rank.size, everyone.data(), 7, rank.number, nullptr, &second));
    constexpr std::size_t kCount = 30000;
    std::vector<std::unique_ptr<Memory<std::int32_t>>> received;
    const Memory<std::int32_t> own(content_of<std::int32_t>(rank.number, kCount));
    CHECK_HCCL(HCCL_SUCCESS, HcclGroupStart());
    for (const HcclComm each : {rank.comm, second}) {
        CHECK_HCCL(HCCL_SUCCESS, HcclGroupStart());
        for (std::uint32_t other = 0; other < rank.size; ++other) {  // receives first: alone, they would never end
            received.push_back(std::make_unique<Memory<std::int32_t>>(kCount));
            CHECK_HCCL(HCCL_SUCCESS,
                       HcclRecv(received.back()->data(), kCount, HCCL_DATA_TYPE_INT32, other, each, rank.stream));
        }
        for (std::uint32_t other = 0; other < rank.size; ++other) {
            CHECK_HCCL(HCCL_SUCCESS, HcclSend(own.data(), kCount, HCCL_DATA_TYPE_INT32, other, each, rank.stream));
        }
        CHECK_HCCL(HCCL_SUCCESS, HcclGroupEnd());
    }
    CHECK_HCCL(HCCL_SUCCESS, HcclGroupEnd());
    rank.synchronize();
    for (std::size_t i = 0; i < received.size(); ++i) {
        CHECK(received[i]->get() == content_of<std::int32_t>(static_cast<std::uint32_t>(i) % rank.size, kCount));
    }
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(second));
}

// A group has sends and receives of all ranks, between which their thread changes the device.
void a_thread_may_be_all_ranks_of_a_group() {
    constexpr std::uint32_t kRanks = 3;
    constexpr std::size_t kCount = 30000;
    std::int32_t devices[kRanks] = {2, 0, 1};
    HcclComm comms[kRanks] = {};
    aclrtStream streams[kRanks] = {};
    std::vector<std::unique_ptr<Memory<std::int32_t>>> own, received;
    CHECK_HCCL(HCCL_SUCCESS, HcclCommInitAll(kRanks, devices, comms));
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        CHECK_OK(aclrtSetDevice(devices[rank]));
        CHECK_OK(aclrtCreateStream(&streams[rank]));
        own.push_back(std::make_unique<Memory<std::int32_t>>(content_of<std::int32_t>(rank, kCount)));
        received.push_back(std::make_unique<Memory<std::int32_t>>(kCount));
    }
    CHECK_HCCL(HCCL_SUCCESS, HcclGroupStart());
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        CHECK_OK(aclrtSetDevice(devices[rank]));
        CHECK_HCCL(HCCL_SUCCESS, HcclSend(own[rank]->data(), kCount, HCCL_DATA_TYPE_INT32, (rank + 1) % kRanks,
                                          comms[rank], streams[rank]));
        CHECK_HCCL(HCCL_SUCCESS, HcclRecv(received[rank]->data(), kCount, HCCL_DATA_TYPE_INT32,
                                          (rank + kRanks - 1) % kRanks, comms[rank], streams[rank]));
    }
    CHECK_OK(aclrtSetDevice(0));
    CHECK_HCCL(HCCL_SUCCESS, HcclGroupEnd());
    std::int32_t present = -1;
    CHECK_OK(aclrtGetDevice(&present));
    CHECK(present == 0);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        CHECK_OK(aclrtSetDevice(devices[rank]));
        CHECK_OK(aclrtSynchronizeStream(streams[rank]));
        CHECK(received[rank]->get() == content_of<std::int32_t>((rank + kRanks - 1) % kRanks, kCount));
        CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(comms[rank]));
        CHECK_OK(aclrtDestroyStream(streams[rank]));
    }
    CHECK_OK(aclrtSetDevice(0));
}

// --- random programs -------------------------------------------------------------------------------------------------

// One of the communicators of a program.
struct Circle {
    std::vector<std::uint32_t> members;  // ranks of the program
    HcclComm comm;                       // nullptr: this rank is none of them
    std::uint32_t place;                 // of this rank
};

enum class Step { AllReduce, Reduce, ReduceScatter, Broadcast, Scatter, AllGather, AlltoAll, Pass, Barrier };

// Operation whose result is compared at the end.
template <class T>
struct Issued {
    std::unique_ptr<Memory<T>> from;
    std::unique_ptr<Memory<T>> to;
    std::vector<T> expected;
};

template <class T>
class Program {
  public:
    Program(const Rank &rank, HcclDataType type, std::vector<Circle> circles, std::uint32_t seed)
        : rank_(rank), type_(type), circles_(std::move(circles)), common_(seed), own_(seed * 100 + rank.number) {
        for (aclrtStream &stream : streams_) {
            CHECK_OK(aclrtCreateStream(&stream));
        }
    }
    // All ranks issue the same operations in the same order, each on any of its streams.
    void run(int steps) {
        for (int i = 0; i < steps; ++i) {
            issue();
        }
        for (const aclrtStream stream : streams_) {
            CHECK_OK(aclrtSynchronizeStream(stream));
        }
        for (const Issued<T> &issued : issued_) {
            CHECK(issued.to->get() == issued.expected);
        }
        for (const aclrtStream stream : streams_) {
            CHECK_OK(aclrtDestroyStream(stream));
        }
    }

  private:
    static constexpr std::size_t kSizes[] = {0, 1, 7, 1000, 9001, 20011};

    void issue() {
        const Circle &circle = circles_[common_() % circles_.size()];
        const auto step = static_cast<Step>(common_() % 9);
        const std::size_t count = kSizes[common_() % std::size(kSizes)];
        const HcclReduceOp op = kOperations[common_() % std::size(kOperations)];
        const auto size = static_cast<std::uint32_t>(circle.members.size());
        const std::uint32_t root = static_cast<std::uint32_t>(common_()) % size;
        const auto salt = static_cast<std::uint32_t>(common_() % 1000);
        const aclrtStream stream = streams_[own_() % std::size(streams_)];
        if (circle.comm == nullptr) {
            return;
        }
        const std::uint32_t place = circle.place;
        const bool is_root = place == root;
        const auto data = [&](std::uint32_t member, std::size_t elements) {
            return content_of<T>(member + salt, elements);
        };
        const auto sum = [&](std::size_t elements) {
            std::vector<T> result = data(0, elements);
            for (std::uint32_t member = 1; member < size; ++member) {
                const std::vector<T> other = data(member, elements);
                for (std::size_t i = 0; i < elements; ++i) {
                    result[i] = combine(op, result[i], other[i]);
                }
            }
            return result;
        };
        const auto gathered = [&](const std::function<std::vector<T>(std::uint32_t)> &part) {
            std::vector<T> all;
            for (std::uint32_t member = 0; member < size; ++member) {
                const std::vector<T> next = part(member);
                all.insert(all.end(), next.begin(), next.end());
            }
            return all;
        };
        Issued<T> made;
        const auto prepare = [&](const std::vector<T> &from, std::size_t to, std::vector<T> expected) {
            made.from = std::make_unique<Memory<T>>(from);
            made.to = std::make_unique<Memory<T>>(std::vector<T>(to, T{3}));
            made.expected = std::move(expected);
        };
        const std::vector<T> untouched(count, T{3});
        const HcclComm comm = circle.comm;
        switch (step) {
            case Step::AllReduce:
                prepare(data(place, count), count, sum(count));
                CHECK_HCCL(HCCL_SUCCESS,
                           HcclAllReduce(made.from->data(), made.to->data(), count, type_, op, comm, stream));
                break;
            case Step::Reduce:
                prepare(data(place, count), count, is_root ? sum(count) : untouched);
                CHECK_HCCL(HCCL_SUCCESS,
                           HcclReduce(made.from->data(), made.to->data(), count, type_, op, root, comm, stream));
                break;
            case Step::ReduceScatter:
                prepare(data(place, count * size), count, part_of(sum(count * size), count * place, count));
                CHECK_HCCL(HCCL_SUCCESS,
                           HcclReduceScatter(made.from->data(), made.to->data(), count, type_, op, comm, stream));
                break;
            case Step::Broadcast:
                prepare({}, count, data(root, count));
                if (is_root) {
                    made.to->set(data(root, count));
                }
                CHECK_HCCL(HCCL_SUCCESS, HcclBroadcast(made.to->data(), count, type_, root, comm, stream));
                break;
            case Step::Scatter:
                prepare(data(root, count * size), count, part_of(data(root, count * size), count * place, count));
                CHECK_HCCL(HCCL_SUCCESS, HcclScatter(is_root ? made.from->data() : nullptr, made.to->data(), count,
                                                     type_, root, comm, stream));
                break;
            case Step::AllGather:
                prepare(data(place, count), count * size,
                        gathered([&](std::uint32_t member) { return data(member, count); }));
                CHECK_HCCL(HCCL_SUCCESS, HcclAllGather(made.from->data(), made.to->data(), count, type_, comm, stream));
                break;
            case Step::AlltoAll:
                prepare(data(place, count * size), count * size, gathered([&](std::uint32_t member) {
                            return part_of(data(member, count * size), count * place, count);
                        }));
                CHECK_HCCL(HCCL_SUCCESS,
                           HcclAlltoAll(made.from->data(), count, type_, made.to->data(), count, type_, comm, stream));
                break;
            case Step::Pass: {
                const std::uint32_t before = (place + size - 1) % size;
                prepare(data(place, count), count, data(before, count));
                HcclSendRecvItem items[] = {{HCCL_SEND, made.from->data(), count, type_, (place + 1) % size},
                                            {HCCL_RECV, made.to->data(), count, type_, before}};
                CHECK_HCCL(HCCL_SUCCESS, HcclBatchSendRecv(items, 2, comm, stream));
                break;
            }
            case Step::Barrier:
                CHECK_HCCL(HCCL_SUCCESS, HcclBarrier(comm, stream));
                return;
        }
        issued_.push_back(std::move(made));
    }

    const Rank &rank_;
    const HcclDataType type_;
    const std::vector<Circle> circles_;
    std::mt19937 common_;  // same on all ranks
    std::mt19937 own_;
    std::array<aclrtStream, 3> streams_{};
    std::vector<Issued<T>> issued_;
};

Circle circle_of(const Rank &rank, std::vector<std::uint32_t> members, std::uint64_t id) {
    const auto found = std::find(members.begin(), members.end(), rank.number);
    HcclComm comm = rank.comm;
    Circle circle{members, nullptr, static_cast<std::uint32_t>(found - members.begin())};
    const bool is_member = found != members.end();
    CHECK_HCCL(HCCL_SUCCESS, HcclCreateSubCommConfig(&comm, is_member ? static_cast<std::uint32_t>(members.size()) : 0,
                                                     is_member ? members.data() : nullptr, id,
                                                     is_member ? circle.place : 0, nullptr, &circle.comm));
    CHECK((circle.comm != nullptr) == is_member);
    return circle;
}

// Two threads of each rank issue operations, each on separate communicators.
void random_programs_are_those_of_a_loop(const Rank &rank) {
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
        std::vector<Circle> first{{{0, 1, 2}, rank.comm, rank.number}}, second;
        first.push_back(circle_of(rank, {2, 0}, 1));
        first.push_back(circle_of(rank, {1}, 2));
        second.push_back(circle_of(rank, {2, 1, 0}, 3));
        second.push_back(circle_of(rank, {1, 2}, 4));
        std::thread other([&] {
            CHECK_OK(aclrtSetDevice(static_cast<std::int32_t>(rank.number)));
            Program<std::int8_t>(rank, HCCL_DATA_TYPE_INT8, second, seed + 10).run(40);
        });
        Program<std::int32_t>(rank, HCCL_DATA_TYPE_INT32, first, seed).run(40);
        other.join();
        first.erase(first.begin());
        for (const auto &circles : {first, second}) {
            for (const Circle &circle : circles) {
                if (circle.comm != nullptr) {
                    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(circle.comm));
                }
            }
        }
    }
}

void all_of_it(std::uint32_t size) {
    with_ranks(size, [](const Rank &rank) {
        for (const std::size_t count : kCounts) {
            a_reduction_is_that_of_a_loop<float>(rank, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, count);
        }
        reduce_scatter_gives_each_rank_its_part(rank);
        parts_may_differ_in_size(rank);
        data_are_moved(rank);
        ranks_send_and_receive(rank);
        many_messages_are_under_way(rank);
        no_operation_blocks_another(rank);
        an_operation_for_which_all_has_come_is_over_when_its_call_returns(rank);
        a_graph_repeats_operations(rank);
        replays_and_other_operations_alternate(rank);
        groups_begin_together(rank);
    });
}

void each_type(const Rank &rank) {
    reductions_are_those_of_a_loop<float>(rank, HCCL_DATA_TYPE_FP32);
    reductions_are_those_of_a_loop<std::int8_t>(rank, HCCL_DATA_TYPE_INT8);
    reductions_are_those_of_a_loop<std::int16_t>(rank, HCCL_DATA_TYPE_INT16);
    reductions_are_those_of_a_loop<std::int32_t>(rank, HCCL_DATA_TYPE_INT32);
    reductions_are_those_of_a_loop<std::int64_t>(rank, HCCL_DATA_TYPE_INT64);
    formats_of_16_bits_are_reduced(rank);
    an_extreme_keeps_the_bits_of_its_operand(rank);
}

}  // namespace

int main() {
    const Watchdog watchdog("collectives_test", 6 * kLongEnough);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    for (const char *shared_memory : {"1", "0"}) {
        setenv("ASCEND_RT_HCCL_SHARED_MEMORY", shared_memory, 1);
        for (const std::uint32_t size : {1U, 2U, 3U}) {
            all_of_it(size);
        }
        with_ranks(3, [](const Rank &rank) {
            each_type(rank);
            a_reduction_is_that_of_a_loop<float>(rank, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, kMany);
            sums_have_the_order_of_a_ring(rank);
            random_programs_are_those_of_a_loop(rank);
        });
    }
    all_of_it(8);
    a_thread_may_be_all_ranks_of_a_group();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
