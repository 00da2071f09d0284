// SPDX-License-Identifier: Apache-2.0
// Models that several threads execute, launch, abort and tear down at the same time.
#include <algorithm>
#include <atomic>
#include <vector>

#include "check.h"
#include "concurrent.h"
#include "observe.h"
#include "tasks/copy.h"

namespace {

constexpr int kStreams = 3;
constexpr int kExecutions = 50;
constexpr std::size_t kBytes = 1 << 16;

void count(void *counter) { ++*static_cast<std::atomic<int> *>(counter); }

enum class Copies { Neighbour, Own };
// Model in which each stream fills its part of the memory, waits for the bit of its left neighbour, and copies the part
// of the neighbour or its own. The bits are reset at the end, for the next execution.
class Ring {
  public:
    explicit Ring(Copies copies) : copies_(copies), streams_(kStreams), bits_(kStreams) {
        CHECK_OK(aclmdlRIBuildBegin(&model_, 0));
        CHECK_OK(aclrtMalloc(&memory_, 2 * kStreams * kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
        for (int i = 0; i < kStreams; ++i) {
            CHECK_OK(aclrtCreateStreamWithConfig(&streams_[i], 0, ACL_STREAM_PERSISTENT));
            CHECK_OK(aclrtCreateEventWithFlag(&bits_[i], ACL_EVENT_SYNC));
            CHECK_OK(aclmdlRIBindStream(model_, streams_[i], 0));
        }
        for (int i = 0; i < kStreams; ++i) {
            submit(i, (i + kStreams - 1) % kStreams);
        }
        CHECK_OK(aclmdlRIEndTask(model_, streams_[0]));
        CHECK_OK(aclmdlRIBuildEnd(model_, nullptr));
    }
    Ring(const Ring &) = delete;
    Ring &operator=(const Ring &) = delete;
    ~Ring() {
        CHECK_OK(aclmdlRIDestroy(model_));
        for (int i = 0; i < kStreams; ++i) {
            CHECK_OK(aclrtDestroyStream(streams_[i]));
            CHECK_OK(aclrtDestroyEvent(bits_[i]));
        }
        CHECK_OK(aclrtFree(memory_));
    }
    aclmdlRI model() const { return model_; }
    int ends() const { return ends_; }

  private:
    char *part(int number) const { return static_cast<char *>(memory_) + number * kBytes; }
    void submit(int own, int left) {
        aclrtStream stream = streams_[own];
        CHECK_OK(aclrtMemsetAsync(part(own), kBytes, own, kBytes, stream));
        CHECK_OK(aclrtRecordEvent(bits_[own], stream));
        CHECK_OK(aclrtStreamWaitEvent(stream, bits_[left]));
        const char *from = part(copies_ == Copies::Neighbour ? left : own);
        CHECK_OK(aclrtMemcpyAsync(part(kStreams + own), kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
        CHECK_OK(aclrtResetEvent(bits_[left], stream));
        CHECK_OK(aclrtLaunchHostFunc(stream, count, &ends_));
    }

    const Copies copies_;
    aclmdlRI model_ = nullptr;
    void *memory_ = nullptr;
    std::vector<aclrtStream> streams_;
    std::vector<aclrtEvent> bits_;
    std::atomic<int> ends_{0};
};

void executions_of_many_threads_come_one_after_the_other() {
    const Ring ring(Copies::Neighbour);
    in_threads([&](int thread) {
        aclrtStream stream = new_stream();
        for (int i = 0; i < kExecutions; ++i) {
            if ((i + thread) % 2 == 0) {
                CHECK_OK(aclmdlRIExecute(ring.model(), -1));
            } else {
                CHECK_OK(aclmdlRIExecuteAsync(ring.model(), stream));
            }
        }
        CHECK_OK(aclrtDestroyStream(stream));
    });
    CHECK(ring.ends() == kThreads * kExecutions * kStreams);
}

void require_one_of(aclError code, std::vector<aclError> expected) {
    CHECK(std::find(expected.begin(), expected.end(), code) != expected.end());
}

// An aborted execution leaves bits set, so that a bit does not prove in the next execution that the neighbour has
// filled its part. The streams therefore copy their own parts.
void executions_are_aborted_in_every_way() {
    const Ring ring(Copies::Own);
    in_threads([&](int thread) {
        const std::vector<aclError> codes = {ACL_SUCCESS, ACL_ERROR_RT_MODEL_ABORT_NORMAL, ACL_ERROR_RT_STREAM_ABORT,
                                             ACL_ERROR_RT_DEVICE_TASK_ABORT, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT};
        aclrtStream stream = new_stream();
        for (int i = 0; i < kExecutions; ++i) {
            require_one_of(aclmdlRIExecuteAsync(ring.model(), stream), codes);
            switch (thread) {
                case 0:
                    CHECK_OK(aclmdlRIAbort(ring.model()));
                    break;
                case 1:
                    CHECK_OK(aclrtStreamAbort(stream));
                    break;
                case 2:
                    require_one_of(aclrtDeviceTaskAbort(0, 0), codes);
                    break;
                default:
                    require_one_of(aclmdlRIExecute(ring.model(), 1), codes);
            }
            require_one_of(aclrtSynchronizeStream(stream), codes);
        }
        CHECK_OK(aclrtDestroyStreamForce(stream));
    });
}

// Destroys the context of a model while another thread executes the model.
void contexts_are_destroyed_under_executions() {
    for (int i = 0; i < kExecutions; ++i) {
        aclrtContext context = nullptr;
        CHECK_OK(aclrtCreateContext(&context, 0));
        aclrtStream bound = nullptr;
        aclmdlRI model = nullptr;
        std::atomic<int> ends{0};
        CHECK_OK(aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
        CHECK_OK(aclmdlRIBuildBegin(&model, 0));
        CHECK_OK(aclmdlRIBindStream(model, bound, 0));
        CHECK_OK(aclrtLaunchHostFunc(bound, count, &ends));
        CHECK_OK(aclmdlRIEndTask(model, bound));
        CHECK_OK(aclmdlRIBuildEnd(model, nullptr));
        std::thread executes([=] {
            aclError code = aclrtSetCurrentContext(context);
            while (code == ACL_SUCCESS) {
                code = aclmdlRIExecute(model, -1);
            }
            require_one_of(code, {ACL_ERROR_RT_PARAM_INVALID, ACL_ERROR_RT_INVALID_HANDLE, ACL_ERROR_RT_STREAM_ABORT});
        });
        if (i % 2 == 0) {
            CHECK_OK(aclmdlRIExecuteAsync(model, nullptr));
        }
        while (i % 5 != 0 && ends == 0) {
            std::this_thread::yield();
        }
        CHECK_OK(aclrtDestroyContext(context));
        executes.join();
        CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIDestroy(model));
    }
}

// Drops the queue of a stream when one of its fills starts.
struct AbortOfFills final : aclsim::Observer {
    void started(const aclsim::Moment &, const aclsim::Stream &stream, const aclsim::Task &task,
                 std::uint32_t) override {
        if (&task.info() == &aclsim::FillTask::kInfo) {
            aclsim::Simulator::get().core.drop_queue(const_cast<aclsim::Stream &>(stream),
                                                     ACL_ERROR_RT_MODEL_ABORT_NORMAL);
        }
    }
};

// The abort interrupts the last task, so no task is left in the queue behind it.
void an_execution_that_is_aborted_in_its_last_task_has_not_succeeded() {
    aclrtStream bound = nullptr;
    aclmdlRI model = nullptr;
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
    CHECK_OK(aclmdlRIBuildBegin(&model, 0));
    CHECK_OK(aclmdlRIBindStream(model, bound, 0));
    CHECK_OK(aclrtMemsetAsync(memory, kBytes, 1, kBytes, bound));
    CHECK_OK(aclmdlRIEndTask(model, bound));
    CHECK_OK(aclmdlRIBuildEnd(model, nullptr));
    {
        AbortOfFills abort;
        const Observing observing(abort);
        CHECK_CODE(ACL_ERROR_RT_MODEL_ABORT_NORMAL, aclmdlRIExecute(model, -1));
    }
    CHECK_OK(aclmdlRIExecute(model, -1));
    CHECK_OK(aclmdlRIDestroy(model));
    CHECK_OK(aclrtDestroyStream(bound));
    CHECK_OK(aclrtFree(memory));
}

}  // namespace

int main() {
    CHECK_OK(aclrtSetDevice(0));
    executions_of_many_threads_come_one_after_the_other();
    executions_are_aborted_in_every_way();
    contexts_are_destroyed_under_executions();
    CHECK_OK(aclrtSetDevice(0));
    an_execution_that_is_aborted_in_its_last_task_has_not_succeeded();
    CHECK_OK(aclrtResetDeviceForce(0));
    return 0;
}
