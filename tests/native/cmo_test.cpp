// SPDX-License-Identifier: Apache-2.0
// Barriers of cache operations across the streams of a model that several threads execute at the same time.
#include "tasks/cmo.h"

#include <cstdlib>
#include <vector>

#include "check.h"
#include "concurrent.h"
#include "observe.h"

using aclsim::Stream;
using aclsim::Task;

namespace {

constexpr std::size_t kStreams = 4;
constexpr std::size_t kRounds = 20;
constexpr std::size_t kExecutions = 25;  // per thread

// Checks the order of operations and barriers. In each round, every stream executes one operation and then waits for
// those of all streams, so its nth barrier passes after the nth operation of each stream. Executions run one after the
// other, so the counts continue from one execution to the next.
class Order final : public aclsim::Observer {
  public:
    explicit Order(std::uint32_t first_stream) : first_stream_(first_stream) {}
    void started(const aclsim::Moment &, const Stream &stream, const Task &task, std::uint32_t) override {
        if (&task.info() == &aclsim::CmoBarrierTask::kInfo) {
            const std::size_t number = ++barriers_[index(stream)];
            for (const std::size_t operations : operations_) {
                CHECK(operations >= number);
            }
        }
    }
    void ended(const aclsim::Moment &, const Stream &stream, const Task &task, std::uint32_t) override {
        if (&task.info() == &aclsim::kCacheOperation) {
            ++operations_[index(stream)];
        }
    }
    void check_total(std::size_t total) const {
        for (std::size_t i = 0; i < kStreams; ++i) {
            CHECK(operations_[i] == total);
            CHECK(barriers_[i] == total);
        }
    }

  private:
    std::size_t index(const Stream &stream) const { return stream.id - first_stream_; }

    std::uint32_t first_stream_;
    std::vector<std::size_t> operations_ = std::vector<std::size_t>(kStreams);
    std::vector<std::size_t> barriers_ = std::vector<std::size_t>(kStreams);
};

void submit_round(std::uint32_t round, const std::vector<aclrtStream> &streams, void *memory) {
    aclrtBarrierTaskInfo info{};
    for (std::uint32_t i = 0; i < kStreams; ++i) {
        const std::uint32_t id = round * kStreams + i + 1;
        info.cmoInfo[info.barrierNum++] = {ACL_RT_CMO_TYPE_INVALID, id};
        CHECK_OK(aclrtCmoAsyncWithBarrier(memory, 4096, ACL_RT_CMO_TYPE_INVALID, id, streams[i]));
    }
    for (const aclrtStream stream : streams) {
        CHECK_OK(aclrtCmoWaitBarrier(&info, stream, 0));
    }
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_PRODUCT", "310B", /*overwrite=*/1);
    CHECK_OK(aclrtSetDevice(0));
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    aclmdlRI model = nullptr;
    CHECK_OK(aclmdlRIBuildBegin(&model, 0));
    std::vector<aclrtStream> streams(kStreams);
    for (aclrtStream &stream : streams) {
        CHECK_OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT));
        CHECK_OK(aclmdlRIBindStream(model, stream, 0));
    }
    for (std::uint32_t round = 0; round < kRounds; ++round) {
        submit_round(round, streams, memory);
    }
    CHECK_OK(aclmdlRIEndTask(model, streams[0]));
    CHECK_OK(aclmdlRIBuildEnd(model, nullptr));
    std::int32_t first = 0;
    CHECK_OK(aclrtStreamGetId(streams[0], &first));
    Order order(static_cast<std::uint32_t>(first));
    {
        const Observing observing(order);
        in_threads([model](int) {
            for (std::size_t i = 0; i < kExecutions; ++i) {
                CHECK_OK(aclmdlRIExecute(model, -1));
            }
        });
    }
    order.check_total(kThreads * kExecutions * kRounds);
    CHECK_OK(aclmdlRIDestroy(model));
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtResetDevice(0));
    return 0;
}
