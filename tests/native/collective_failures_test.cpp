// SPDX-License-Identifier: Apache-2.0
// Collectives that cannot end: ranks that disagree, do not come, end, or abort.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>

#include "collectives_kit.h"
#include "hccl/hccl_comm_config.h"
#include "stall_reports.h"

namespace {

// The host refuses the thread that is created next, after a while.
struct Refusal {
    Latch asked, answered;
};
std::atomic<Refusal *> g_refusal{nullptr};
std::atomic<Latch *> g_begins_after{nullptr};  // for the thread that is created next

struct LateThread {
    void *(*function)(void *);
    void *argument;
    Latch *latch;
    static void *run(void *self) {
        const std::unique_ptr<LateThread> late(static_cast<LateThread *>(self));
        late->latch->wait();
        return late->function(late->argument);
    }
};

}  // namespace

extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                              void *argument) {
    if (Refusal *const refusal = g_refusal.exchange(nullptr)) {
        refusal->asked.open();
        refusal->answered.wait();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));  // nothing shows that the destruction waits now
        return EAGAIN;
    }
    static const auto create = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    if (Latch *const latch = g_begins_after.exchange(nullptr)) {
        return create(thread, attributes, LateThread::run, new LateThread{function, argument, latch});
    }
    return create(thread, attributes, function, argument);
}

namespace {

// Comes first: later there are idle threads. The thread of rank 1 begins when rank 0 asks for its own.
void a_communicator_may_be_destroyed_while_an_operation_gets_no_thread() {
    Refusal refusal;
    Latch receives;
    with_ranks(2, [&](Rank &rank) {
        const Memory<float> memory(8);
        const auto receive = [&] {
            CHECK_HCCL(HCCL_SUCCESS,
                       HcclRecv(memory.data(), 8, HCCL_DATA_TYPE_FP32, 1 - rank.number, rank.comm, rank.stream));
        };
        if (rank.number == 0) {
            auto destruction = begin([&] {
                refusal.asked.wait();
                CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(rank.comm));
            });
            rank.gather();
            receives.wait();
            g_refusal = &refusal;
            receive();
            CHECK_CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, aclrtSynchronizeStream(rank.stream));
            CHECK_CONTAINS(recent_text(), "no thread left");
            destruction.get();
            rank.comm = nullptr;
        } else {
            rank.gather();
            g_begins_after = &refusal.asked;
            receive();
            receives.open();
            CHECK_CONTAINS(rank.failure(), "rank 0 has destroyed the communicator");
            refusal.answered.open();
        }
    });
}

void ranks_that_do_not_come_are_not_awaited_for_ever() {
    setenv("HCCL_CONNECT_TIMEOUT", "1", 1);
    HcclRootInfo info;
    HcclComm comm = nullptr;
    CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
    CHECK_REFUSED(HCCL_E_TIMEOUT, "ranks 0, 2 and 3 of 4 did not come in time",
                  HcclCommInitRootInfo(4, &info, 1, &comm));
    CHECK(comm == nullptr);
    with_ranks(2, [](const Rank &rank) {
        std::uint32_t both[] = {1, 0};
        HcclComm parent = rank.comm, made = nullptr;
        if (rank.number == 0) {
            CHECK_REFUSED(HCCL_E_TIMEOUT, "rank 0 of 2 did not come in time",
                          HcclCreateSubCommConfig(&parent, 2, both, 5, 1, nullptr, &made));
        }
        rank.gather();
        if (rank.number == 1) {
            CHECK_REFUSED(HCCL_E_TIMEOUT, "rank 0 did not take part in time",
                          HcclCreateSubCommConfig(&parent, 2, both, 6, 0, nullptr, &made));
        }
        rank.gather();
    });
    CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
    // The ranks disagree about their number: the one that comes later gets an error, and the other one misses it.
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (std::uint32_t number = 0; number < 2; ++number) {
        threads.emplace_back([&, number] {
            CHECK_OK(aclrtSetDevice(static_cast<std::int32_t>(number)));
            HcclComm none = nullptr;
            const HcclResult answer = HcclCommInitRootInfo(2 + number, &info, number, &none);
            CHECK(answer == HCCL_E_PARA || answer == HCCL_E_TIMEOUT);
            if (answer == HCCL_E_PARA) {
                CHECK_CONTAINS(recent_text(), "ranks, another one ");
                ++refused;
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(refused == 1);
    unsetenv("HCCL_CONNECT_TIMEOUT");
}

// --- ranks that disagree ---------------------------------------------------------------------------------------------

// Without a time limit: the ranks that came first get the error too.
void ranks_that_disagree_about_a_part_do_not_wait() {
    setenv("HCCL_CONNECT_TIMEOUT", "0", 1);
    with_ranks(3, [](const Rank &rank) {
        std::uint32_t usual[] = {0, 1, 2}, other[] = {0, 2, 1}, fewer[] = {0, 2};
        HcclComm parent = rank.comm, made = nullptr;
        const bool is_last = rank.number == 2;
        CHECK_REFUSED(
            HCCL_E_PARA, "a rank names other rankIds than the ranks before it",
            HcclCreateSubCommConfig(&parent, 3, is_last ? other : usual, 1, is_last ? 1 : rank.number, nullptr, &made));
        rank.gather();
        if (rank.number != 1) {
            CHECK_REFUSED(HCCL_E_PARA, "a rank names other rankIds than the ranks before it",
                          HcclCreateSubCommConfig(&parent, is_last ? 2 : 3, is_last ? fewer : usual, 2, is_last ? 1 : 0,
                                                  nullptr, &made));
        }
        rank.gather();
        CHECK_HCCL(HCCL_SUCCESS, HcclCreateSubCommConfig(&parent, 3, other, 3, rank.number == 0 ? 0 : 3 - rank.number,
                                                         nullptr, &made));
        CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(made));
    });
    unsetenv("HCCL_CONNECT_TIMEOUT");
}

struct Disagreement {
    const char *usual;  // in the description of what the other ranks call
    const char *other;  // and of what the last one calls
    std::function<HcclResult(const Rank &, float *)> call_usual;
    std::function<HcclResult(const Rank &, float *)> call_other;
};

std::vector<Disagreement> disagreements() {
    constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;
    const auto reduce = [](std::size_t count, HcclDataType type, HcclReduceOp op) {
        return [=](const Rank &rank, float *data) {
            return HcclAllReduce(data, data, count, type, op, rank.comm, rank.stream);
        };
    };
    const auto broadcast = [](std::size_t count, std::uint32_t root) {
        return [=](const Rank &rank, float *data) {
            return HcclBroadcast(data, count, kFloat, root, rank.comm, rank.stream);
        };
    };
    const auto barrier = [](const Rank &rank, float *) { return HcclBarrier(rank.comm, rank.stream); };
    const auto gather = [](const Rank &rank, float *data) {
        return HcclAllGather(data, data + kLargeCount, 8, kFloat, rank.comm, rank.stream);
    };
    return {
        {"HcclAllReduce, sum of 8 float32", "HcclBarrier", reduce(8, kFloat, HCCL_REDUCE_SUM), barrier},
        {"HcclAllReduce, sum of 40000 float32", "HcclBroadcast, 40000 float32, root 0",
         reduce(kLargeCount, kFloat, HCCL_REDUCE_SUM), broadcast(kLargeCount, 0)},
        {"HcclAllReduce, sum of 40000 float32", "HcclAllReduce, sum of 39999 float32",
         reduce(kLargeCount, kFloat, HCCL_REDUCE_SUM), reduce(kLargeCount - 1, kFloat, HCCL_REDUCE_SUM)},
        {"HcclAllReduce, sum of 8 float32", "HcclAllReduce, sum of 8 int32", reduce(8, kFloat, HCCL_REDUCE_SUM),
         reduce(8, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM)},
        {"HcclAllReduce, sum of 8 float32", "HcclAllReduce, max of 8 float32", reduce(8, kFloat, HCCL_REDUCE_SUM),
         reduce(8, kFloat, HCCL_REDUCE_MAX)},
        {"HcclBroadcast, 40000 float32, root 0", "HcclBroadcast, 40000 float32, root 1", broadcast(kLargeCount, 0),
         broadcast(kLargeCount, 1)},
        {"HcclBroadcast, 40000 float32, root 1", "HcclBroadcast, 8 float32, root 1", broadcast(kLargeCount, 1),
         broadcast(8, 1)},
        {"HcclAllGather, 8 float32", "HcclAllReduce, sum of 8 float32", gather, reduce(8, kFloat, HCCL_REDUCE_SUM)},
    };
}

void ranks_that_disagree_fail() {
    for (const Disagreement &disagreement : disagreements()) {
        with_ranks(3, [&](const Rank &rank) {
            const Memory<float> memory(2 * kLargeCount);
            const bool is_other = rank.number == 2;
            const auto &call = is_other ? disagreement.call_other : disagreement.call_usual;
            LatchedCallback before;
            CHECK_OK(aclrtLaunchHostFunc(rank.stream, LatchedCallback::run, &before));
            CHECK_HCCL(HCCL_SUCCESS, call(rank, memory.data()));
            rank.gather();  // none is refused because others have failed
            before.released.open();
            const std::string text = rank.failure();
            CHECK_CONTAINS(text, disagreement.usual);
            CHECK_CONTAINS(text, disagreement.other);
            CHECK_CONTAINS(text, "on rank " + std::to_string(rank.number) + " of 3");
            // One side of the difference is rank 2, the other one a rank that found it, or that rank 2 found.
            CHECK_CONTAINS(text, "rank 2");
            CHECK(contains(text, "rank 0") || contains(text, "rank 1"));
            CHECK(!contains(text, "another operation"));  // all ranks speak of their first one
            CHECK(rank.async_error() == HCCL_E_REMOTE);
            CHECK_CONTAINS(recent_text(), disagreement.usual);  // the reason of the code
            CHECK_REFUSED(HCCL_E_REMOTE, "has failed before", all_reduce(rank, memory));
            CHECK_REFUSED(HCCL_E_REMOTE, "has failed before", HcclBarrier(rank.comm, rank.stream));
            CHECK_REFUSED(
                HCCL_E_REMOTE, "has failed before",
                HcclSend(memory.data(), 1, HCCL_DATA_TYPE_FP32, (rank.number + 1) % 3, rank.comm, rank.stream));
            rank.synchronize();  // nothing was submitted
        });
    }
}

// The other ranks wait for the one with the other root, although they need nothing from it.
void a_rank_that_names_another_root_stops_all() {
    constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;
    const std::function<HcclResult(const Rank &, float *, std::uint32_t)> calls[] = {
        [](const Rank &rank, float *data, std::uint32_t root) {
            return HcclBroadcast(data, 8, kFloat, root, rank.comm, rank.stream);
        },
        [](const Rank &rank, float *data, std::uint32_t root) {
            return HcclScatter(data, data + 32, 8, kFloat, root, rank.comm, rank.stream);
        },
        [](const Rank &rank, float *data, std::uint32_t root) {
            return HcclReduce(data, data + 32, 8, kFloat, HCCL_REDUCE_SUM, root, rank.comm, rank.stream);
        }};
    for (const auto &call : calls) {
        with_ranks(4, [&](const Rank &rank) {
            const Memory<float> memory(64);
            LatchedCallback before;
            CHECK_OK(aclrtLaunchHostFunc(rank.stream, LatchedCallback::run, &before));
            CHECK_HCCL(HCCL_SUCCESS, call(rank, memory.data(), rank.number == 1 ? 1 : 0));
            rank.gather();  // none is refused because others have failed
            before.released.open();
            CHECK_CONTAINS(rank.failure(), "root 1");
        });
    }
}

// A rank that has failed may end before the others ask what it was doing.
void a_rank_that_ends_at_once_has_said_what_it_was_doing() {
    for (int repeat = 0; repeat < 200; ++repeat) {
        with_ranks(2, [](Rank &rank) {
            const Memory<float> memory(16);
            const bool gathers = rank.number == 1;
            CHECK_HCCL(HCCL_SUCCESS, gathers ? HcclAllGather(memory.data(), memory.data() + 8, 4, HCCL_DATA_TYPE_FP32,
                                                             rank.comm, rank.stream)
                                             : all_reduce(rank, memory, 8));
            const std::string text = rank.failure();
            CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(rank.comm));
            rank.comm = nullptr;
            CHECK_CONTAINS(text, gathers ? "; rank 0 is in HcclAllReduce number 1" : "; rank 1 is in HcclAllGather");
        });
    }
}

void messages_that_do_not_match_fail() {
    for (const bool is_type : {false, true}) {
        with_ranks(2, [&](const Rank &rank) {
            const Memory<float> memory(kLargeCount);
            if (rank.number == 0) {
                CHECK_HCCL(HCCL_SUCCESS, HcclSend(memory.data(), 9, HCCL_DATA_TYPE_FP32, 1, rank.comm, rank.stream));
                rank.synchronize();  // a small message is sent at once
                rank.gather();
            } else {
                rank.gather();
                CHECK_HCCL(HCCL_SUCCESS,
                           HcclRecv(memory.data(), is_type ? 9 : 8,
                                    is_type ? HCCL_DATA_TYPE_INT32 : HCCL_DATA_TYPE_FP32, 0, rank.comm, rank.stream));
                CHECK_CONTAINS(rank.failure(), is_type ? "rank 0 sends 9 float32, this rank receives 9 int32"
                                                       : "rank 0 sends 9 float32, this rank receives 8 float32");
                CHECK(rank.async_error() == HCCL_E_REMOTE);
            }
        });
    }
}

// --- operations that do not end --------------------------------------------------------------------------------------

void a_rank_that_never_calls_is_named() {
    setenv("HCCL_EXEC_TIMEOUT", "1", 1);
    with_ranks(3, [](const Rank &rank) {
        const Memory<float> memory(kLargeCount);
        CHECK_HCCL(HCCL_SUCCESS, HcclBarrier(rank.comm, rank.stream));
        rank.synchronize();
        rank.gather();
        if (rank.number != 2) {
            CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, memory));
            const std::string text = rank.failure();
            CHECK_CONTAINS(text, "timed out");
            CHECK_CONTAINS(text, "rank 2 is in no collective since");
            CHECK_CONTAINS(text, "HcclAllReduce number 2");
        }
        rank.gather();
        if (rank.number == 2) {  // hears of it, perhaps a little later
            while (rank.async_error() == HCCL_SUCCESS) {
                std::this_thread::yield();
            }
            CHECK_REFUSED(HCCL_E_TIMEOUT, "timed out", all_reduce(rank, memory));
        }
        CHECK(rank.async_error() == HCCL_E_TIMEOUT);
    });
    unsetenv("HCCL_EXEC_TIMEOUT");
}

void a_long_wait_names_the_missing_ranks() {
    StallReports reports;
    std::string text;
    with_ranks(4, [&](const Rank &rank) {
        const Memory<float> memory(kLargeCount);
        if (rank.number == 1 || rank.number == 2) {
            rank.gather();
        }
        CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, memory));
        if (rank.number == 3) {
            text = reports.wait_for("on rank 0 of 4, which waits for ranks 1 and 2\n");
            rank.gather();
        } else if (rank.number == 0) {
            std::thread other([&rank] { rank.gather(); });
            rank.synchronize();
            other.join();
        }
        rank.synchronize();
    });
    reports.end_capture();
    CHECK_CONTAINS(text, "HcclAllReduce number 1 of communicator");
}

HcclComm part_with_all(const Rank &rank, const char *name, std::int32_t timeout_seconds) {
    std::vector<std::uint32_t> all(rank.size);
    std::iota(all.begin(), all.end(), 0);
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    std::strcpy(config.hcclCommName, name);
    config.hcclExecTimeOut = timeout_seconds;
    HcclComm parent = rank.comm, made = nullptr;
    CHECK_HCCL(HCCL_SUCCESS,
               HcclCreateSubCommConfig(&parent, rank.size, all.data(), static_cast<std::uint64_t>(timeout_seconds),
                                       rank.number, &config, &made));
    return made;
}

void a_rank_that_waits_in_another_communicator_is_named() {
    for (const bool waits : {true, false}) {
        with_ranks(2, [&](const Rank &rank) {
            const HcclComm hurried = part_with_all(rank, "hurried", 1), patient = part_with_all(rank, "patient", 0);
            CHECK_HCCL(HCCL_SUCCESS, HcclBarrier(hurried, rank.stream));
            CHECK_HCCL(HCCL_SUCCESS, HcclBarrier(patient, rank.stream));
            rank.synchronize();
            rank.gather();
            if (rank.number == 1 && waits) {
                CHECK_HCCL(HCCL_SUCCESS, HcclBarrier(patient, rank.stream));
            }
            if (rank.number == 0) {
                CHECK_HCCL(HCCL_SUCCESS, HcclBarrier(hurried, rank.stream));
                const std::string text = rank.failure();
                CHECK_CONTAINS(text, waits ? "timed out; rank 1 is in HcclBarrier number 2 of communicator patient"
                                           : "timed out; rank 1 is in no collective since ");
                CHECK(waits || contains(text, " s, when it left HcclBarrier number 1 of communicator patient"));
            }
            rank.gather();
            CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(patient));
            CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(hurried));
        });
    }
}

void the_time_limit_may_be_that_of_the_communicator() {
    HcclRootInfo info;
    CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
    Gathering gathering(2);
    std::vector<std::thread> threads;
    for (std::uint32_t number = 0; number < 2; ++number) {
        threads.emplace_back([&, number] {
            CHECK_OK(aclrtSetDevice(static_cast<std::int32_t>(number)));
            HcclCommConfig config;
            HcclCommConfigInit(&config);
            config.hcclExecTimeOut = 1;
            std::strcpy(config.hcclCommName, "hurried");
            Rank rank{2, number, nullptr, nullptr, &gathering};
            CHECK_HCCL(HCCL_SUCCESS, HcclCommInitRootInfoConfig(2, &info, number, &config, &rank.comm));
            CHECK_OK(aclrtCreateStream(&rank.stream));
            const Memory<float> memory(kLargeCount);
            if (number == 0) {
                CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, memory));
                CHECK_CONTAINS(rank.failure(),
                               "of communicator hurried on rank 0 of 2: timed out; rank 1 is in no "
                               "collective since");
            }
            rank.gather();
            CHECK_OK(aclrtDestroyStream(rank.stream));
            CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(rank.comm));
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

// The call does not wait for the other rank, whose own operation fails in its turn: later, so that the end of a process
// comes before the failures that follow from it.
void a_communicator_may_be_destroyed_during_an_operation() {
    std::chrono::steady_clock::time_point start;
    with_ranks(2, [&](Rank &rank) {
        const Memory<float> memory(kLargeCount);
        if (rank.number == 0) {
            CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, memory));
            start = std::chrono::steady_clock::now();
            CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(rank.comm));
            CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
            const std::string text = rank.failure();
            CHECK_CONTAINS(text, "was destroyed");
            CHECK(!contains(text, "operation failed"));
            CHECK_REFUSED(HCCL_E_PARA, "is not a live communicator", all_reduce(rank, memory));
            rank.comm = nullptr;
        }
        rank.gather();
        if (rank.number == 1) {
            CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, memory));
            CHECK_CONTAINS(rank.failure(), "rank 0 has destroyed the communicator");
            CHECK(std::chrono::steady_clock::now() - start >= std::chrono::seconds(3));
            CHECK(rank.async_error() == HCCL_E_REMOTE);
        }
    });
}

// The task has not begun when the communicator is destroyed.
void a_destroyed_communicator_may_have_tasks() {
    with_ranks(2, [](Rank &rank) {
        const Memory<float> memory(kLargeCount);
        LatchedCallback before;
        CHECK_OK(aclrtLaunchHostFunc(rank.stream, LatchedCallback::run, &before));
        CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, memory));
        CHECK_HCCL(HCCL_SUCCESS, HcclBarrier(rank.comm, rank.stream));
        CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(rank.comm));
        rank.comm = nullptr;
        rank.gather();
        before.released.open();
        CHECK_CONTAINS(rank.failure(), "was destroyed");
    });
}

// A graph keeps what it needs of the communicator, and its replays fail.
void a_destroyed_communicator_may_have_graphs() {
    with_ranks(2, [](Rank &rank) {
        const Memory<float> memory(kLargeCount);
        aclmdlRI graph = nullptr;
        CHECK_OK(aclmdlRICaptureBegin(rank.stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, memory));
        CHECK_OK(aclmdlRICaptureEnd(rank.stream, &graph));
        CHECK_OK(aclmdlRIExecuteAsync(graph, rank.stream));
        rank.synchronize();
        rank.gather();
        CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(rank.comm));
        rank.comm = nullptr;
        CHECK_OK(aclmdlRIExecuteAsync(graph, rank.stream));
        CHECK(aclrtSynchronizeStream(rank.stream) != ACL_SUCCESS);
        CHECK_CONTAINS(recent_text(), "was destroyed");
        CHECK_OK(aclmdlRIDestroy(graph));
    });
}

// The memory is free when the call has returned. The rank that waits fails as well.
void an_abort_ends_an_operation() {
    for (const char *shared_memory : {"1", "0"}) {
        setenv("ASCEND_RT_HCCL_SHARED_MEMORY", shared_memory, 1);
        with_ranks(2, [](const Rank &rank) {
            rank.gather();
            if (rank.number == 0) {
                const Memory<float> memory(kLargeCount);
                CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, memory));
                CHECK_OK(aclrtStreamAbort(rank.stream));
            }
            rank.gather();
            const Memory<float> memory(kLargeCount);
            if (rank.number == 1) {
                const HcclResult answer = all_reduce(rank, memory);  // may have heard of it already
                if (answer == HCCL_SUCCESS) {
                    CHECK_CONTAINS(rank.failure(), "was aborted");
                } else {
                    CHECK(answer == HCCL_E_REMOTE);
                    CHECK_CONTAINS(recent_text(), "was aborted");
                }
            } else {
                CHECK_REFUSED(HCCL_E_REMOTE, "was aborted", all_reduce(rank, memory));
            }
            CHECK(rank.async_error() == HCCL_E_REMOTE);
        });
    }
}

void a_forced_destruction_of_the_stream_ends_an_operation() {
    with_ranks(2, [](Rank &rank) {
        if (rank.number == 0) {
            const Memory<float> memory(kLargeCount);
            CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, memory));
            CHECK_HCCL(HCCL_SUCCESS, HcclBarrier(rank.comm, rank.stream));
            CHECK_OK(aclrtDestroyStreamForce(rank.stream));
            rank.stream = nullptr;
            CHECK(rank.async_error() == HCCL_E_REMOTE);
        } else {
            while (rank.async_error() == HCCL_SUCCESS) {
                std::this_thread::yield();
            }
            CHECK(rank.async_error() == HCCL_E_REMOTE);
        }
    });
}

// Aborts come at any point of a message that another rank reads, or is sent.
void aborts_and_messages_race() {
    constexpr std::size_t kMany = 3000000;
    for (const char *shared_memory : {"1", "0"}) {
        setenv("ASCEND_RT_HCCL_SHARED_MEMORY", shared_memory, 1);
        for (int round = 0; round < 15; ++round) {
            with_ranks(2, [&](const Rank &rank) {
                const Memory<float> memory(kMany);
                rank.gather();
                const HcclResult answer =
                    HcclBroadcast(memory.data(), kMany, HCCL_DATA_TYPE_FP32, 0, rank.comm, rank.stream);
                CHECK(answer == HCCL_SUCCESS || answer == HCCL_E_REMOTE);  // the other rank may have been quicker
                if (rank.number == static_cast<std::uint32_t>(round % 2)) {
                    for (int i = 0; i < round * 300; ++i) {
                        std::this_thread::yield();
                    }
                    CHECK_OK(aclrtStreamAbort(rank.stream));
                }
                const aclError result = aclrtSynchronizeStream(rank.stream);
                CHECK(result == ACL_SUCCESS || result == ACL_ERROR_RT_AICORE_EXCEPTION);
            });
        }
    }
}

// A failure in a graph has the same text.
void an_operation_of_a_graph_fails() {
    setenv("HCCL_EXEC_TIMEOUT", "1", 1);
    with_ranks(2, [](const Rank &rank) {
        const Memory<float> memory(kLargeCount);
        aclmdlRI graph = nullptr;
        CHECK_OK(aclmdlRICaptureBegin(rank.stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, memory));
        CHECK_OK(aclmdlRICaptureEnd(rank.stream, &graph));
        CHECK_OK(aclmdlRIExecuteAsync(graph, rank.stream));
        rank.synchronize();
        if (rank.number == 0) {
            CHECK_OK(aclmdlRIExecuteAsync(graph, rank.stream));
            CHECK(aclrtSynchronizeStream(rank.stream) != ACL_SUCCESS);
            CHECK_CONTAINS(recent_text(), "HcclAllReduce number 1 of communicator");
            CHECK(rank.async_error() == HCCL_E_TIMEOUT);
        }
        rank.gather();
        CHECK_OK(aclmdlRIDestroy(graph));
    });
    unsetenv("HCCL_EXEC_TIMEOUT");
}

}  // namespace

int main() {
    const Watchdog watchdog("collective_failures_test", 6 * kLongEnough);
    setenv("ASCEND_RT_SIM_STALL_MS", "300", 1);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    a_communicator_may_be_destroyed_while_an_operation_gets_no_thread();
    ranks_that_do_not_come_are_not_awaited_for_ever();
    ranks_that_disagree_about_a_part_do_not_wait();
    for (const char *shared_memory : {"1", "0"}) {
        setenv("ASCEND_RT_HCCL_SHARED_MEMORY", shared_memory, 1);
        ranks_that_disagree_fail();
    }
    a_rank_that_names_another_root_stops_all();
    a_rank_that_ends_at_once_has_said_what_it_was_doing();
    messages_that_do_not_match_fail();
    a_rank_that_never_calls_is_named();
    a_long_wait_names_the_missing_ranks();
    a_rank_that_waits_in_another_communicator_is_named();
    the_time_limit_may_be_that_of_the_communicator();
    a_communicator_may_be_destroyed_during_an_operation();
    a_destroyed_communicator_may_have_tasks();
    a_destroyed_communicator_may_have_graphs();
    an_abort_ends_an_operation();
    a_forced_destruction_of_the_stream_ends_an_operation();
    aborts_and_messages_race();
    an_operation_of_a_graph_fails();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
