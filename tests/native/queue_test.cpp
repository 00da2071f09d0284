// SPDX-License-Identifier: Apache-2.0
// Shared queues and buffers as on a device, in one process.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "queue_kit.h"

using namespace queue_kit;

namespace {

void a_chain_travels_as_one_message() {
    const std::uint32_t queue = new_queue(2);
    const acltdtBuf head = new_buffer("head");
    const acltdtBuf rest = new_buffer(std::string(5000, 'r'));
    CHECK_OK(acltdtSetBufUserData(rest, "note", 4, 92));
    CHECK_OK(acltdtAppendBufChain(head, rest));
    acltdtBuf copy = nullptr;
    CHECK_OK(acltdtCopyBufRef(head, &copy));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueue(queue, rest, 0));  // not the head
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtFreeBuf(rest));
    CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, acltdtAppendBufChain(head, head));
    CHECK_OK(acltdtEnqueue(queue, head, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtFreeBuf(head));  // is the queue's
    CHECK_OK(acltdtEnqueue(queue, copy, 0));
    CHECK_CODE(ACL_ERROR_FAILURE, acltdtEnqueue(queue, new_buffer("late"), 20));
    acltdtBuf taken = nullptr, member = nullptr;
    CHECK_OK(acltdtDequeue(queue, &taken, 0));
    std::uint32_t count = 0;
    CHECK_OK(acltdtGetBufChainNum(taken, &count));
    CHECK(count == 2);
    CHECK_OK(acltdtGetBufFromChain(taken, 1, &member));
    CHECK(text_of(taken) == "head" && text_of(member) == std::string(5000, 'r'));
    char note[4];
    CHECK_OK(acltdtGetBufUserData(member, note, 4, 92));
    CHECK(std::memcmp(note, "note", 4) == 0);
    void *data = nullptr;
    std::size_t size = 0;
    CHECK_OK(acltdtGetBufData(taken, &data, &size));
    std::memcpy(data, "HEAD", 4);  // the other reference is to the same bytes
    CHECK_OK(acltdtFreeBuf(taken));
    CHECK(receive(queue) == "HEAD" + std::string(5000, 'r'));  // all buffers, one after the other
    CHECK_OK(acltdtDestroyQueue(queue));
}

void data_and_buffers_mix() {
    const std::uint32_t queue = new_queue(4);
    CHECK_OK(send(queue, "small"));
    CHECK_OK(send(queue, std::string(100000, 'l')));
    CHECK_OK(acltdtEnqueue(queue, new_buffer("buffer"), 0));
    acltdtBuf taken = nullptr;
    for (const std::string &text : {std::string("small"), std::string(100000, 'l')}) {
        CHECK_OK(acltdtDequeue(queue, &taken, 0));
        CHECK(text_of(taken) == text);
        CHECK_OK(acltdtFreeBuf(taken));
    }
    char little[3];
    std::size_t length = 0;
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtDequeueData(queue, little, 3, &length, nullptr, 0, 0));
    CHECK(length == 6);  // the message stays, and its length is known
    CHECK(receive(queue) == "buffer");
    CHECK_CODE(ACL_ERROR_FAILURE, acltdtDequeue(queue, &taken, 0));
    CHECK_OK(acltdtDestroyQueue(queue));
}

void a_full_queue_may_drop_its_oldest_message() {
    const std::uint32_t queue = new_queue(2, /*overwrites=*/true);
    for (const char *text : {"a", "b", "c"}) {
        CHECK_OK(send(queue, text));
    }
    CHECK(receive(queue) == "b");
    CHECK(receive(queue) == "c");
    CHECK_OK(acltdtDestroyQueue(queue));
}

void routes_copy_to_all_destinations() {
    const std::uint32_t from = new_queue(4), left = new_queue(2), right = new_queue(8);
    acltdtQueueRouteList *list = acltdtCreateQueueRouteList();
    acltdtQueueRoute *routes[] = {acltdtCreateQueueRoute(from, left), acltdtCreateQueueRoute(from, right),
                                  acltdtCreateQueueRoute(left, from)};
    CHECK_OK(send(from, "0"));
    CHECK_OK(acltdtAddQueueRoute(list, routes[0]));
    CHECK_OK(acltdtAddQueueRoute(list, routes[1]));
    CHECK_OK(acltdtBindQueueRoutes(list));
    CHECK(receive(left) == "0");  // was there before the routes
    CHECK(receive(right) == "0");
    acltdtQueueRouteList *circle = acltdtCreateQueueRouteList();
    CHECK_OK(acltdtAddQueueRoute(circle, routes[2]));
    CHECK_CODE(ACL_ERROR_FAILURE, acltdtBindQueueRoutes(circle));
    for (int i = 1; i <= 6; ++i) {  // two reach the destinations; then one is full, and the source fills
        CHECK_OK(send(from, std::string(i == 2 ? 5000 : 1, static_cast<char>('0' + i))));
    }
    CHECK_CODE(ACL_ERROR_RT_QUEUE_FULL, send(from, "7"));
    CHECK(receive(left) == "1");
    CHECK(receive(left) == std::string(5000, '2'));
    CHECK(receive(left) == "3");
    for (const char *text : {"1", "2", "3", "4", "5"}) {
        CHECK(receive(right).substr(0, 1) == text);
    }
    CHECK_CODE(ACL_ERROR_FAILURE, acltdtDestroyQueue(left));
    CHECK_OK(acltdtUnbindQueueRoutes(list));
    for (const std::uint32_t queue : {from, left, right}) {
        CHECK_OK(acltdtDestroyQueue(queue));
    }
    for (const acltdtQueueRoute *route : routes) {
        CHECK_OK(acltdtDestroyQueueRoute(route));
    }
    CHECK_OK(acltdtDestroyQueueRouteList(list));
    CHECK_OK(acltdtDestroyQueueRouteList(circle));
}

void destruction_and_reset_end_waits() {
    for (const bool resets : {false, true}) {
        const std::uint32_t queue = new_queue(2);
        aclError code = ACL_SUCCESS;
        std::thread waiting([&] {
            CHECK_OK(aclrtSetDevice(0));
            acltdtBuf buffer = nullptr;
            code = acltdtDequeue(queue, &buffer, kForever);
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // either order of the calls is right
        if (resets) {
            CHECK_OK(aclrtResetDeviceForce(0));
        } else {
            CHECK_OK(acltdtDestroyQueue(queue));
        }
        waiting.join();
        CHECK(code == ACL_ERROR_RT_DRV_INTERNAL_ERROR || code == ACL_ERROR_RT_CONTEXT_NULL);
        CHECK_OK(aclrtSetDevice(0));
    }
}

void wrong_arguments_have_codes() {
    const std::uint32_t queue = new_queue(2);
    acltdtBuf buffer = nullptr;
    std::uint32_t number = 0;
    std::size_t length = 0;
    int garbage = 0;
    char data[8] = "";
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueue(queue, &garbage, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueue(queue, &buffer, -2));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtEnqueue(queue, nullptr, 0));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtDequeue(queue, nullptr, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtAllocBuf(0, 0, &buffer));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtAllocBuf(std::size_t{1} << 40, 0, &buffer));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtAllocBuf(SIZE_MAX, 1, &buffer));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtFreeBuf(&garbage));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtGetBufDataLen(&garbage, &length));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtGrantQueue(queue, 0, kAll, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtGrantQueue(queue, getpid(), 0, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtGrantQueue(queue, getpid(), 8, 0));
    CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, acltdtGrantQueue(99999, getpid(), kAll, 0));
    CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, acltdtAttachQueue(99999, 0, &number));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtAttachQueue(queue, 0, nullptr));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueueData(queue, data, 8, data, 97, 0, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueueData(queue, data, 8, nullptr, 8, 0, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueueData(queue, data, SIZE_MAX, nullptr, 0, 0, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtDequeueData(queue, data, 8, &length, data, 97, 0));
    std::thread([&] { CHECK_CODE(ACL_ERROR_RT_CONTEXT_NULL, send(queue, "x")); }).join();
    CHECK_OK(acltdtDestroyQueue(queue));
    CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, acltdtDestroyQueue(queue));
    for (const std::uint32_t depth : {0U, 1U, 8193U, UINT32_MAX}) {
        acltdtQueueAttr *attributes = acltdtCreateQueueAttr();
        CHECK_OK(acltdtSetQueueAttr(attributes, ACL_TDT_QUEUE_DEPTH_UINT32, sizeof depth, &depth));
        CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtCreateQueue(attributes, &number));
        CHECK_OK(acltdtDestroyQueueAttr(attributes));
        CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtDestroyQueueAttr(attributes));
    }
}

void a_chain_is_limited() {
    const acltdtBuf head = new_buffer("0");
    for (int i = 1; i < 128; ++i) {
        CHECK_OK(acltdtAppendBufChain(head, new_buffer(std::to_string(i))));
    }
    const acltdtBuf other = new_buffer("x");
    CHECK_CODE(ACL_ERROR_RT_OVER_LIMIT, acltdtAppendBufChain(head, other));
    const std::uint32_t queue = new_queue(2);
    CHECK_OK(acltdtEnqueue(queue, head, 0));
    acltdtBuf taken = nullptr, last = nullptr;
    CHECK_OK(acltdtDequeue(queue, &taken, 0));
    CHECK_OK(acltdtGetBufFromChain(taken, 127, &last));
    CHECK(text_of(last) == "127");
    CHECK_OK(acltdtFreeBuf(taken));
    CHECK_OK(acltdtFreeBuf(other));
    CHECK_OK(acltdtDestroyQueue(queue));
}

void threads_lose_and_repeat_nothing() {
    constexpr int kThreads = 3, kMessages = 300;
    const std::uint32_t queue = new_queue(4);
    std::vector<std::atomic<int>> seen(kThreads * kMessages);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            CHECK_OK(aclrtSetDevice(0));
            for (int i = 0; i < kMessages; ++i) {
                const std::string text = std::to_string(t * kMessages + i);
                if (i % 3 == 0) {
                    CHECK_OK(acltdtEnqueue(queue, new_buffer(text), kForever));
                } else {
                    CHECK_OK(send(queue, text, kForever));
                }
            }
        });
        threads.emplace_back([&] {
            CHECK_OK(aclrtSetDevice(0));
            for (int i = 0; i < kMessages; ++i) {
                char text[16] = "";
                std::size_t length = 0;
                CHECK_OK(acltdtDequeueData(queue, text, 15, &length, nullptr, 0, kForever));
                ++seen[static_cast<std::size_t>(std::atoi(text))];
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const std::atomic<int> &count : seen) {
        CHECK(count == 1);
    }
    CHECK_OK(acltdtDestroyQueue(queue));
}

// Threads put and take while another destroys the queue, or resets the device: every call answers.
void queues_end_while_threads_use_them() {
    for (int round = 0; round < 100; ++round) {
        const std::uint32_t queue = new_queue(2);
        const std::string text(round % 2 == 0 ? 10 : 5000, 'x');
        std::vector<std::thread> threads;
        for (int i = 0; i < 2; ++i) {
            threads.emplace_back([&] {
                CHECK_OK(aclrtSetDevice(0));
                while (send(queue, text, kForever) == ACL_SUCCESS) {
                }
            });
            threads.emplace_back([&] {
                CHECK_OK(aclrtSetDevice(0));
                acltdtBuf buffer = nullptr;
                while (acltdtDequeue(queue, &buffer, kForever) == ACL_SUCCESS) {
                    CHECK(text_of(buffer) == text);
                    CHECK_OK(acltdtFreeBuf(buffer));
                }
            });
        }
        for (int i = 0; i < round % 7; ++i) {
            std::this_thread::yield();
        }
        CHECK_OK(round % 5 == 4 ? aclrtResetDeviceForce(0) : acltdtDestroyQueue(queue));
        for (std::thread &thread : threads) {
            thread.join();
        }
        CHECK_OK(aclrtSetDevice(0));
    }
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_QUEUES", "device", 1);
    start();
    a_chain_travels_as_one_message();
    data_and_buffers_mix();
    a_full_queue_may_drop_its_oldest_message();
    routes_copy_to_all_destinations();
    destruction_and_reset_end_waits();
    wrong_arguments_have_codes();
    a_chain_is_limited();
    threads_lose_and_repeat_nothing();
    queues_end_while_threads_use_them();
    stop();
    return 0;
}
