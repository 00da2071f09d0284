// SPDX-License-Identifier: Apache-2.0
// Branches in the streams of models: several threads at the same time execute and abort loops over labels and switches
// to other streams, also after the labels were destroyed.
#include <array>
#include <atomic>
#include <cstdint>

#include "check.h"
#include "concurrent.h"
#include "latch.h"

namespace {

constexpr std::uint32_t kHead = 0;
constexpr std::uint32_t kActivated = 0x7FFFFFFF;
constexpr std::uint32_t kTurns = 5;
constexpr int kExecutions = 50;
constexpr std::int32_t kLimit_ms = 2;

aclrtStream new_persistent_stream() {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT));
    return stream;
}

// Model that makes the given number of turns in a loop and then switches to its second stream. The branches read device
// memory that the host functions write.
class Loop {
  public:
    explicit Loop(std::uint32_t turns) : turns_(turns) {
        CHECK_OK(aclrtMalloc(&memory_, 64, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMemset(memory_, 64, 0, 64));
        CHECK_OK(aclmdlRIBuildBegin(&model_, 0));
        for (std::size_t i = 0; i < streams_.size(); ++i) {
            streams_[i] = new_persistent_stream();
            CHECK_OK(aclmdlRIBindStream(model_, streams_[i], i == 0 ? kHead : kActivated));
        }
        for (aclrtLabel &label : labels_) {
            CHECK_OK(aclrtCreateLabel(&label));
        }
        CHECK_OK(aclrtCreateLabelList(labels_.data(), labels_.size(), &list_));
        CHECK_OK(aclrtLaunchHostFunc(streams_[0], &Loop::begin, this));
        CHECK_OK(aclrtSetLabel(labels_[0], streams_[0]));
        CHECK_OK(aclrtLaunchHostFunc(streams_[0], &Loop::turn, this));
        CHECK_OK(aclrtSwitchLabelByIndex(word(0), 2, list_, streams_[0]));
        CHECK_OK(aclrtSetLabel(labels_[1], streams_[0]));
        CHECK_OK(
            aclrtSwitchStream(word(1), ACL_RT_EQUAL, word(2), ACL_RT_SWITCH_INT32, streams_[1], nullptr, streams_[0]));
        CHECK_OK(aclrtLaunchHostFunc(streams_[1], &Loop::end, this));
        CHECK_OK(aclmdlRIEndTask(model_, streams_[1]));
        CHECK_OK(aclmdlRIBuildEnd(model_, nullptr));
    }
    ~Loop() {
        CHECK_OK(aclmdlRIDestroy(model_));
        for (const aclrtStream stream : streams_) {
            CHECK_OK(aclrtDestroyStream(stream));
        }
        drop_labels();
        CHECK_OK(aclrtFree(memory_));
    }
    Loop(const Loop &) = delete;
    Loop &operator=(const Loop &) = delete;

    aclmdlRI model() const { return model_; }
    std::uint64_t turns() const { return done_; }
    std::uint64_t ends() const { return ends_; }
    // Destroys the labels. The model keeps everything that it needs of them.
    void drop_labels() {
        if (list_ != nullptr) {
            CHECK_OK(aclrtDestroyLabelList(list_));
            for (const aclrtLabel label : labels_) {
                CHECK_OK(aclrtDestroyLabel(label));
            }
            list_ = nullptr;
        }
    }

  private:
    std::uint32_t *word(int index) const { return static_cast<std::uint32_t *>(memory_) + 2 * index; }
    static void begin(void *self) { static_cast<Loop *>(self)->turn_ = 0; }
    static void turn(void *self) {
        auto *loop = static_cast<Loop *>(self);
        ++loop->done_;
        *loop->word(0) = ++loop->turn_ < loop->turns_ ? 0 : 1;
    }
    static void end(void *self) { ++static_cast<Loop *>(self)->ends_; }

    const std::uint32_t turns_;
    void *memory_ = nullptr;
    aclmdlRI model_ = nullptr;
    std::array<aclrtStream, 2> streams_{};
    std::array<aclrtLabel, 2> labels_{};
    aclrtLabelList list_ = nullptr;
    std::uint32_t turn_ = 0;
    std::atomic<std::uint64_t> done_{0};
    std::atomic<std::uint64_t> ends_{0};
};

void executions_of_one_model_take_all_their_turns() {
    Loop loop(kTurns);
    in_threads([&](int thread) {
        const aclrtStream stream = new_stream();
        for (int i = 0; i < kExecutions; ++i) {
            if (thread == 0) {
                CHECK_OK(aclmdlRIExecute(loop.model(), -1));
            } else {
                CHECK_OK(aclmdlRIExecuteAsync(loop.model(), stream));
            }
        }
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
    });
    CHECK(loop.turns() == kThreads * kExecutions * kTurns);
    CHECK(loop.ends() == kThreads * kExecutions);
}

void models_are_built_executed_and_destroyed_at_the_same_time() {
    in_threads([](int) {
        for (int i = 0; i < kExecutions; ++i) {
            Loop loop(kTurns);
            if (i % 2 == 0) {
                loop.drop_labels();
            }
            CHECK_OK(aclmdlRIExecute(loop.model(), -1));
            CHECK(loop.turns() == kTurns);
            CHECK(loop.ends() == 1);
        }
    });
}

// Time limits and aborts end a loop that would not end by itself.
void aborted_loops_leave_the_model_usable() {
    Loop loop(UINT32_MAX);
    in_threads([&](int thread) {
        const aclrtStream stream = new_stream();
        for (int i = 0; i < kExecutions / 5; ++i) {
            if (thread == 0) {
                (void)aclmdlRIExecute(loop.model(), kLimit_ms);  // may expire before its turn comes
            } else if (thread == 1) {
                CHECK_OK(aclmdlRIAbort(loop.model()));
            } else {
                CHECK_OK(aclmdlRIExecuteAsync(loop.model(), stream));
                (void)aclrtSynchronizeStreamWithTimeout(stream, kLimit_ms);
                CHECK_OK(aclrtStreamAbort(stream));
            }
        }
        CHECK_OK(aclrtDestroyStream(stream));
    });
    const std::uint64_t before = loop.turns();
    CHECK(aclmdlRIExecute(loop.model(), kLimit_ms) != ACL_SUCCESS);
    CHECK(loop.turns() >= before);
    CHECK(loop.ends() == 0);
}

}  // namespace

int main() {
    const Watchdog watchdog("label_test", std::chrono::seconds(180));
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    executions_of_one_model_take_all_their_turns();
    models_are_built_executed_and_destroyed_at_the_same_time();
    aborted_loops_leave_the_model_usable();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
