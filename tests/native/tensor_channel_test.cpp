// SPDX-License-Identifier: Apache-2.0
// Channels between threads: back pressure, order, ends of waits, ownership of memory, resets.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"
#include "host_waits.h"

namespace {

constexpr int kForEver = -1;

acltdtChannelHandle *new_channel(std::size_t capacity, const char *name = "channel") {
    acltdtChannelHandle *const channel = acltdtCreateChannelWithCapacity(0, name, capacity);
    CHECK(channel != nullptr);
    return channel;
}

// A set with one item: numbers of the program.
struct Sent {
    explicit Sent(std::vector<std::int32_t> content) : numbers(std::move(content)) {
        const auto count = static_cast<std::int64_t>(numbers.size());
        item = acltdtCreateDataItem(ACL_TENSOR_DATA_TENSOR, &count, 1, ACL_INT32, numbers.data(),
                                    numbers.size() * sizeof numbers[0]);
        set = acltdtCreateDataset();
        CHECK(item != nullptr && set != nullptr);
        CHECK_OK(acltdtAddDataItem(set, item));
    }
    ~Sent() {
        CHECK_OK(acltdtDestroyDataset(set));
        CHECK_OK(acltdtDestroyDataItem(item));
    }
    Sent(const Sent &) = delete;
    Sent &operator=(const Sent &) = delete;

    std::vector<std::int32_t> numbers;
    acltdtDataItem *item = nullptr;
    acltdtDataset *set = nullptr;
};

struct Received {
    ~Received() { CHECK_OK(acltdtDestroyDataset(set)); }
    acltdtDataItem *item() const { return acltdtGetDataItem(set, 0); }
    std::int32_t first() const { return *static_cast<const std::int32_t *>(acltdtGetDataAddrFromItem(item())); }
    acltdtDataset *const set = acltdtCreateDataset();
};

std::size_t size_of(acltdtChannelHandle *channel) {
    std::size_t size = 99;
    CHECK_OK(acltdtQueryChannelSize(channel, &size));
    return size;
}

// A call on another thread that waits, and how it ends.
template <class Call, class End>
void check_end_of_wait(Call call, End end, aclError expected) {
    aclError code = ACL_SUCCESS;
    std::thread waiter([&] { code = call(); });
    await_waiters(1);
    end();
    waiter.join();
    CHECK(code == expected);
}

// --- items -----------------------------------------------------------------------------------------------------------

void the_program_may_change_and_free_what_it_has_sent() {
    acltdtChannelHandle *const channel = new_channel(2);
    {
        Sent sent({7, 8, 9});
        CHECK_OK(acltdtSendTensor(channel, sent.set, 0));
        sent.numbers[0] = 1;
    }
    const Received received;
    CHECK_OK(acltdtReceiveTensor(channel, received.set, 0));
    CHECK(received.first() == 7);
    CHECK(acltdtGetDataSizeFromItem(received.item()) == 12);
    CHECK_OK(acltdtDestroyChannel(channel));
    CHECK(received.first() == 7);  // the memory is the set's
}

void received_items_end_with_the_next_receive() {
    acltdtChannelHandle *const channel = new_channel(2);
    const Sent one({1}), two({2});
    CHECK_OK(acltdtSendTensor(channel, one.set, 0));
    CHECK_OK(acltdtSendTensor(channel, two.set, 0));
    const Received received;
    CHECK_OK(acltdtReceiveTensor(channel, received.set, 0));
    acltdtDataItem *const former = received.item();
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtDestroyDataItem(former));  // it belongs to the set
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtSendTensor(channel, received.set, 0));
    CHECK_CODE(ACL_ERROR_FEATURE_UNSUPPORTED, acltdtAddDataItem(received.set, one.item));
    CHECK_OK(acltdtReceiveTensor(channel, received.set, 0));
    CHECK(received.first() == 2);
    CHECK(acltdtGetDataAddrFromItem(former) == nullptr);
    CHECK(acltdtGetTensorTypeFromItem(former) == ACL_TENSOR_DATA_UNDEFINED);
    CHECK_OK(acltdtDestroyChannel(channel));
}

void data_are_aligned_and_pinned() {
    acltdtChannelHandle *const channel = new_channel(2);
    unsigned char bytes[3] = {1, 2, 3};
    std::int64_t count = 3;
    acltdtDataset *const set = acltdtCreateDataset();
    std::vector<acltdtDataItem *> items;
    for (int i = 0; i < 3; ++i) {
        items.push_back(acltdtCreateDataItem(ACL_TENSOR_DATA_TENSOR, &count, 1, ACL_UINT8, bytes, sizeof bytes));
        CHECK_OK(acltdtAddDataItem(set, items.back()));
    }
    acltdtDataItem *const end = acltdtCreateDataItem(ACL_TENSOR_DATA_END_OF_SEQUENCE, nullptr, 0, ACL_INT8, nullptr, 0);
    CHECK_OK(acltdtAddDataItem(set, end));
    CHECK_OK(acltdtSendTensor(channel, set, 0));
    const Received received;
    CHECK_OK(acltdtReceiveTensor(channel, received.set, 0));
    CHECK(acltdtGetDatasetSize(received.set) == 4);
    for (std::size_t i = 0; i < 3; ++i) {
        const void *const data = acltdtGetDataAddrFromItem(acltdtGetDataItem(received.set, i));
        CHECK(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
        CHECK(std::memcmp(data, bytes, sizeof bytes) == 0);
    }
    CHECK(acltdtGetTensorTypeFromItem(acltdtGetDataItem(received.set, 3)) == ACL_TENSOR_DATA_END_OF_SEQUENCE);
    void *const block = acltdtGetDataAddrFromItem(acltdtGetDataItem(received.set, 0));
    aclrtPtrAttributes attributes{};
    CHECK_OK(aclrtPointerGetAttributes(block, &attributes));
    CHECK(attributes.location.type == ACL_MEM_LOCATION_TYPE_HOST);
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, aclrtFreeHost(block));
    items.push_back(end);
    CHECK_OK(acltdtDestroyDataset(set));
    for (acltdtDataItem *item : items) {
        CHECK_OK(acltdtDestroyDataItem(item));
    }
    CHECK_OK(acltdtDestroyChannel(channel));
}

void device_memory_is_copied() {
    acltdtChannelHandle *const channel = new_channel(2);
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemset(memory, 4096, 5, 4096));
    const std::int64_t count = 4096;
    acltdtDataItem *const item = acltdtCreateDataItem(ACL_TENSOR_DATA_TENSOR, &count, 1, ACL_INT8, memory, 4096);
    acltdtDataset *const set = acltdtCreateDataset();
    CHECK_OK(acltdtAddDataItem(set, item));
    CHECK_OK(acltdtSendTensor(channel, set, 0));
    CHECK_OK(aclrtFree(memory));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtSendTensor(channel, set, 0));
    const Received received;
    CHECK_OK(acltdtReceiveTensor(channel, received.set, 0));
    CHECK(received.first() == 0x05050505);
    CHECK_OK(acltdtDestroyDataset(set));
    CHECK_OK(acltdtDestroyDataItem(item));
    CHECK_OK(acltdtDestroyChannel(channel));
}

void what_cannot_be_sent_is_refused() {
    acltdtChannelHandle *const channel = new_channel(2);
    const std::int64_t count = 1;
    int number = 1;
    const auto send = [&](acltdtTensorType type, void *data, std::size_t size) {
        const bool is_tensor = type == ACL_TENSOR_DATA_TENSOR;
        acltdtDataItem *const item =
            acltdtCreateDataItem(type, is_tensor ? &count : nullptr, is_tensor ? 1 : 0, ACL_INT32, data, size);
        acltdtDataset *const set = acltdtCreateDataset();
        CHECK_OK(acltdtAddDataItem(set, item));
        const aclError code = acltdtSendTensor(channel, set, 0);
        CHECK_OK(acltdtDestroyDataset(set));
        CHECK_OK(acltdtDestroyDataItem(item));
        return code;
    };
    CHECK(send(ACL_TENSOR_DATA_TENSOR, nullptr, 4) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(send(ACL_TENSOR_DATA_TENSOR, reinterpret_cast<void *>(0x1000), 4) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(send(ACL_TENSOR_DATA_SLICE_TENSOR, &number, 4) == ACL_ERROR_INVALID_PARAM);
    CHECK(send(ACL_TENSOR_DATA_END_TENSOR, &number, 4) == ACL_ERROR_INVALID_PARAM);
    CHECK(send(ACL_TENSOR_DATA_UNDEFINED, &number, 4) == ACL_ERROR_INVALID_PARAM);
    CHECK(send(ACL_TENSOR_DATA_ABNORMAL, &number, 4) == ACL_SUCCESS);
    CHECK(send(ACL_TENSOR_DATA_TENSOR, nullptr, 0) == ACL_SUCCESS);
    CHECK(size_of(channel) == 2);
    acltdtDataset *const empty = acltdtCreateDataset();
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtSendTensor(channel, empty, 0));
    acltdtDataItem *const item = acltdtCreateDataItem(ACL_TENSOR_DATA_TENSOR, &count, 1, ACL_INT32, &number, 4);
    CHECK_OK(acltdtAddDataItem(empty, item));
    CHECK_OK(acltdtDestroyDataItem(item));
    CHECK(acltdtGetDatasetSize(empty) == 1);
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtSendTensor(channel, empty, 0));
    CHECK_OK(acltdtDestroyDataset(empty));
    CHECK_OK(acltdtDestroyChannel(channel));
}

void handles_of_other_kinds_are_refused() {
    acltdtChannelHandle *const channel = new_channel(2);
    const Sent sent({1});
    auto *const as_channel = reinterpret_cast<acltdtChannelHandle *>(sent.set);
    auto *const as_set = reinterpret_cast<acltdtDataset *>(channel);
    auto *const as_item = reinterpret_cast<acltdtDataItem *>(0x1234567800);
    std::size_t size = 0;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtSendTensor(as_channel, sent.set, 0));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtSendTensor(channel, as_set, 0));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtReceiveTensor(channel, as_set, 0));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtQueryChannelSize(as_channel, &size));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtAddDataItem(sent.set, as_item));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtDestroyDataItem(as_item));
    CHECK(acltdtGetDataItem(as_set, 0) == nullptr);
    CHECK(acltdtGetDatasetName(as_set) == nullptr);
    CHECK_OK(acltdtDestroyChannel(channel));
    for (const auto call : {acltdtDestroyChannel, acltdtStopChannel, acltdtCleanChannel}) {
        CHECK_CODE(ACL_ERROR_INVALID_PARAM, call(channel));
        CHECK_CODE(ACL_ERROR_INVALID_PARAM, call(as_channel));
    }
}

// --- waits -----------------------------------------------------------------------------------------------------------

void a_full_channel_holds_senders_back() {
    acltdtChannelHandle *const channel = new_channel(2);
    const Sent sent({1});
    const Received received;
    CHECK_OK(acltdtSendTensor(channel, sent.set, 0));
    CHECK_OK(acltdtSendTensor(channel, sent.set, kForEver));
    aclrtGetLastError(ACL_RT_THREAD_LEVEL);  // forgets earlier failures
    CHECK_CODE(ACL_ERROR_RT_QUEUE_FULL, acltdtSendTensor(channel, sent.set, 0));
    CHECK_CODE(ACL_ERROR_RT_QUEUE_FULL, acltdtSendTensor(channel, sent.set, 1));
    CHECK(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == ACL_SUCCESS);
    check_end_of_wait([&] { return acltdtSendTensor(channel, sent.set, -2); },
                      [&] { CHECK_OK(acltdtReceiveTensor(channel, received.set, 0)); }, ACL_SUCCESS);
    CHECK(size_of(channel) == 2);
    check_end_of_wait([&] { return acltdtSendTensor(channel, sent.set, kForEver); },
                      [&] { CHECK_OK(acltdtCleanChannel(channel)); }, ACL_SUCCESS);
    CHECK(size_of(channel) == 1);
    CHECK_OK(acltdtDestroyChannel(channel));
}

void a_receiver_waits_for_data() {
    acltdtChannelHandle *const channel = new_channel(2);
    const Sent sent({3});
    const Received received;
    CHECK_CODE(ACL_ERROR_RT_QUEUE_EMPTY, acltdtReceiveTensor(channel, received.set, 0));
    CHECK_CODE(ACL_ERROR_RT_QUEUE_EMPTY, acltdtReceiveTensor(channel, received.set, 1));
    for (const int limit : {kForEver, INT32_MIN, 600000}) {
        check_end_of_wait([&] { return acltdtReceiveTensor(channel, received.set, limit); },
                          [&] { CHECK_OK(acltdtSendTensor(channel, sent.set, 0)); }, ACL_SUCCESS);
        CHECK(received.first() == 3);
    }
    CHECK_OK(acltdtDestroyChannel(channel));
}

void a_stop_ends_waits_and_lets_no_call_wait() {
    acltdtChannelHandle *const channel = new_channel(2);
    const Sent sent({3});
    const Received received;
    check_end_of_wait([&] { return acltdtReceiveTensor(channel, received.set, kForEver); },
                      [&] { CHECK_OK(acltdtStopChannel(channel)); }, ACL_ERROR_FAILURE);
    CHECK_OK(acltdtStopChannel(channel));
    CHECK_CODE(ACL_ERROR_FAILURE, acltdtReceiveTensor(channel, received.set, kForEver));
    CHECK_CODE(ACL_ERROR_RT_QUEUE_EMPTY, acltdtReceiveTensor(channel, received.set, 0));
    CHECK_OK(acltdtSendTensor(channel, sent.set, kForEver));
    CHECK_OK(acltdtSendTensor(channel, sent.set, kForEver));
    CHECK_CODE(ACL_ERROR_FAILURE, acltdtSendTensor(channel, sent.set, kForEver));
    CHECK_OK(acltdtReceiveTensor(channel, received.set, kForEver));
    CHECK_OK(acltdtDestroyChannel(channel));
}

void waits_end_with_their_objects() {
    acltdtChannelHandle *channel = new_channel(2);
    Sent sent({3});
    const Received received;
    check_end_of_wait([&] { return acltdtReceiveTensor(channel, received.set, kForEver); },
                      [&] { CHECK_OK(acltdtDestroyChannel(channel)); }, ACL_ERROR_FAILURE);

    channel = new_channel(2);
    CHECK_OK(acltdtSendTensor(channel, sent.set, 0));
    CHECK_OK(acltdtSendTensor(channel, sent.set, 0));
    check_end_of_wait([&] { return acltdtSendTensor(channel, sent.set, kForEver); },
                      [&] { CHECK_OK(acltdtDestroyChannel(channel)); }, ACL_ERROR_FAILURE);

    channel = new_channel(2);
    acltdtDataset *const set = acltdtCreateDataset();
    check_end_of_wait([&] { return acltdtReceiveTensor(channel, set, kForEver); },
                      [&] {
                          CHECK_OK(acltdtDestroyDataset(set));
                          CHECK_OK(acltdtSendTensor(channel, sent.set, 0));
                      },
                      ACL_ERROR_INVALID_PARAM);
    CHECK(size_of(channel) == 1);  // nothing is lost
    CHECK_OK(acltdtDestroyChannel(channel));
}

void a_reset_ends_the_channels_of_the_device() {
    CHECK_OK(aclrtSetDevice(1));
    acltdtChannelHandle *const channel = acltdtCreateChannelWithCapacity(1, "of device 1", 2);
    CHECK(channel != nullptr);
    acltdtChannelHandle *const other = new_channel(2);
    const Sent sent({1});
    const Received received;
    CHECK_OK(acltdtSendTensor(channel, sent.set, 0));
    CHECK_OK(acltdtReceiveTensor(channel, received.set, 0));
    check_end_of_wait([&] { return acltdtReceiveTensor(channel, received.set, kForEver); },
                      [] { CHECK_OK(aclrtResetDevice(1)); }, ACL_ERROR_FAILURE);
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtSendTensor(channel, sent.set, 0));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtDestroyChannel(channel));
    CHECK(received.first() == 1);  // memory of the host
    CHECK_OK(acltdtSendTensor(other, sent.set, 0));
    CHECK_OK(acltdtDestroyChannel(other));
    CHECK(acltdtCreateChannelWithCapacity(1, "closed device", 2) == nullptr);
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtResetDevice(0));
}

// --- threads ---------------------------------------------------------------------------------------------------------

void each_message_arrives_once_and_in_order() {
    constexpr int kSenders = 3, kReceivers = 2, kEach = 2000;
    acltdtChannelHandle *const channel = new_channel(4);
    std::vector<std::thread> threads;
    std::atomic<int> seen[kSenders * kEach] = {};
    for (int sender = 0; sender < kSenders; ++sender) {
        threads.emplace_back([=] {
            Sent sent({0});
            for (int i = 0; i < kEach; ++i) {
                sent.numbers[0] = sender * kEach + i;
                CHECK_OK(acltdtSendTensor(channel, sent.set, kForEver));
                CHECK(size_of(channel) <= 4);
            }
        });
    }
    std::atomic<int> left{kSenders * kEach};
    for (int receiver = 0; receiver < kReceivers; ++receiver) {
        threads.emplace_back([&] {
            const Received received;
            int newest[kSenders] = {-1, -1, -1};
            while (left.fetch_sub(1) > 0) {
                CHECK_OK(acltdtReceiveTensor(channel, received.set, kForEver));
                const int number = received.first();
                CHECK(++seen[number] == 1);
                CHECK(number > newest[number / kEach]);
                newest[number / kEach] = number;
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(size_of(channel) == 0);
    CHECK_OK(acltdtDestroyChannel(channel));
}

// Threads send, receive, clean, stop and destroy at random: every call answers, and nothing is left.
void channels_end_while_threads_use_them() {
    for (int round = 0; round < 200; ++round) {
        acltdtChannelHandle *const channel = new_channel(2);
        std::vector<std::thread> threads;
        for (int i = 0; i < 2; ++i) {
            threads.emplace_back([=] {
                const Sent sent(std::vector<std::int32_t>(round % 2 == 0 ? 1 : 5000, round));
                while (acltdtSendTensor(channel, sent.set, kForEver) == ACL_SUCCESS) {
                }
            });
            threads.emplace_back([=] {
                const Received received;
                while (acltdtReceiveTensor(channel, received.set, kForEver) == ACL_SUCCESS) {
                    CHECK(received.first() == round);
                }
            });
        }
        for (int i = 0; i < round % 7; ++i) {
            CHECK_OK(acltdtCleanChannel(channel));
            std::this_thread::yield();
        }
        CHECK_OK(acltdtDestroyChannel(channel));
        for (std::thread &thread : threads) {
            thread.join();
        }
    }
}

void a_forked_child_is_refused() {
    acltdtChannelHandle *const channel = new_channel(2);
    const Sent sent({1});
    const pid_t child = fork();
    if (child == 0) {
        const bool is_refused = acltdtSendTensor(channel, sent.set, 0) == ACL_ERROR_RT_INTERNAL_ERROR &&
                                acltdtCreateDataset() == nullptr && acltdtGetDatasetSize(sent.set) == 0;
        _exit(is_refused ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_OK(acltdtDestroyChannel(channel));
}

// The process may end while threads wait.
void a_process_ends_in_the_middle() {
    const pid_t child = fork();
    if (child == 0) {
        CHECK_OK(aclrtSetDevice(0));
        acltdtChannelHandle *const channel = new_channel(2);
        std::thread([=] {
            const Received received;
            acltdtReceiveTensor(channel, received.set, kForEver);
            std::abort();  // it waits until the process ends
        }).detach();
        await_waiters(1);
        std::exit(7);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

}  // namespace

int main() {
    a_process_ends_in_the_middle();  // first: its child must be able to use the library
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    the_program_may_change_and_free_what_it_has_sent();
    received_items_end_with_the_next_receive();
    data_are_aligned_and_pinned();
    device_memory_is_copied();
    what_cannot_be_sent_is_refused();
    handles_of_other_kinds_are_refused();
    a_full_channel_holds_senders_back();
    a_receiver_waits_for_data();
    a_stop_ends_waits_and_lets_no_call_wait();
    waits_end_with_their_objects();
    each_message_arrives_once_and_in_order();
    channels_end_while_threads_use_them();
    a_reset_ends_the_channels_of_the_device();
    a_forked_child_is_refused();
    CHECK_OK(aclFinalize());
    return 0;
}
