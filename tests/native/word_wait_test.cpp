// Tasks that wait for a word changed outside the engine: by threads of a companion library, or by another process.
#include <dirent.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

#include "concurrent.h"
#include "latch.h"
#include "observe.h"
#include "stall_reports.h"

namespace {

constexpr const char *kName = "hcom_allReduce_";

using Word = std::atomic<std::uint64_t>;

std::uint64_t *address_of(Word &word) { return reinterpret_cast<std::uint64_t *>(&word); }

// End of an operation, as reported to its companion library.
struct End {
    Latch called;
    std::atomic<int> calls{0};
    aclError result = ACL_SUCCESS;
    static void note(void *self, aclError result) {
        auto &end = *static_cast<End *>(self);
        std::uint32_t devices = 0;  // from a call that takes the lock, as is permitted
        CHECK_OK(aclrtGetDeviceCount(&devices));
        end.result = result;
        ++end.calls;
        end.called.open();
    }
    bool is(aclError expected) { return called.opens() && calls == 1 && result == expected; }
};

aclsimWait wait_for(Word &word, std::uint64_t value, End *end = nullptr) {
    aclsimWait wait{};
    wait.name = kName;
    wait.word = address_of(word);
    wait.value = value;
    wait.end = end == nullptr ? nullptr : End::note;
    wait.userData = end;
    return wait;
}

void set(Word &word, std::uint64_t value) {
    word = value;
    CHECK_OK(aclsimWake(address_of(word)));
}

aclsimAccess bytes(const void *address, std::uint32_t size, aclsimAccessMode mode, const char *name) {
    return {address, mode, size, /*rank=*/0, nullptr, nullptr, name};
}

bool is_complete(aclrtStream stream) {
    aclrtStreamStatus status{};
    CHECK_OK(aclrtStreamQuery(stream, &status));
    return status == ACL_STREAM_STATUS_COMPLETE;
}

std::size_t count_threads() {
    std::size_t count = 0;
    DIR *const tasks = opendir("/proc/self/task");
    while (const dirent *entry = readdir(tasks)) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    closedir(tasks);
    return count;
}

void a_wake_lets_the_stream_go_on_before_it_returns() {
    const aclrtStream stream = new_stream();
    Word word{0};
    End end;
    const aclsimWait wait = wait_for(word, 2, &end);
    CHECK_OK(aclsimSubmitWait(stream, &wait));
    CHECK(!is_complete(stream));
    set(word, 1);
    CHECK(!is_complete(stream));
    CHECK(end.calls == 0);
    set(word, 3);
    CHECK(is_complete(stream));
    CHECK(end.is(ACL_SUCCESS));
    CHECK_OK(aclsimSubmitWait(stream, &wait));  // the word has already reached the value
    CHECK(is_complete(stream));
    CHECK(end.calls == 2);
    CHECK_OK(aclrtDestroyStream(stream));
}

void a_store_alone_is_noticed() {
    const aclrtStream stream = new_stream();
    Word word{0};
    const aclsimWait wait = wait_for(word, 1);
    CHECK_OK(aclsimSubmitWait(stream, &wait));
    word = 1;
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

// Tasks before and after the wait keep their order.
void the_task_has_its_place_in_the_stream() {
    const aclrtStream stream = new_stream();
    Word word{0};
    LatchedCallback before;
    LatchedCallback behind;
    behind.released.open();
    End end;
    const aclsimWait wait = wait_for(word, 1, &end);
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &before));
    CHECK_OK(aclsimSubmitWait(stream, &wait));
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &behind));
    set(word, 1);
    CHECK(before.entered.opens());
    CHECK(end.calls == 0);
    CHECK(!behind.entered.is_open());
    before.released.open();
    CHECK(behind.entered.opens());
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(end.is(ACL_SUCCESS));
    CHECK_OK(aclrtDestroyStream(stream));
}

void waiting_streams_need_no_threads() {
    constexpr std::size_t kStreams = 200;
    std::vector<Word> words(kStreams);
    std::vector<aclrtStream> streams;
    {
        Word word{1};
        const aclrtStream stream = new_stream();
        const aclsimWait wait = wait_for(word, 1);
        CHECK_OK(aclsimSubmitWait(stream, &wait));  // starts the thread of the timer
        CHECK_OK(aclrtDestroyStream(stream));
    }
    const std::size_t threads = count_threads();
    for (Word &word : words) {
        streams.push_back(new_stream());
        const aclsimWait wait = wait_for(word, 1);
        CHECK_OK(aclsimSubmitWait(streams.back(), &wait));
    }
    CHECK(count_threads() == threads);
    for (std::size_t i = kStreams; i-- > 0;) {
        CHECK(!is_complete(streams[i]));
        set(words[i], 1);
        CHECK(is_complete(streams[i]));
    }
    for (const aclrtStream stream : streams) {
        CHECK_OK(aclrtDestroyStream(stream));
    }
}

// A wake for one word releases all streams that wait for that word, and none that waits for another one.
void streams_may_share_a_word() {
    const aclrtStream streams[] = {new_stream(), new_stream(), new_stream()};
    Word shared{0};
    Word other{0};
    for (const aclrtStream stream : streams) {
        const aclsimWait wait = wait_for(stream == streams[2] ? other : shared, 1);
        CHECK_OK(aclsimSubmitWait(stream, &wait));
    }
    set(shared, 1);
    CHECK(is_complete(streams[0]) && is_complete(streams[1]) && !is_complete(streams[2]));
    set(other, 1);
    CHECK(is_complete(streams[2]));
    for (const aclrtStream stream : streams) {
        CHECK_OK(aclrtDestroyStream(stream));
    }
}

void an_abort_ends_the_wait() {
    const aclrtStream stream = new_stream();
    Word word{0};
    End blocked;
    End queued;
    const aclsimWait first = wait_for(word, 1, &blocked);
    const aclsimWait second = wait_for(word, 1, &queued);
    CHECK_OK(aclsimSubmitWait(stream, &first));
    CHECK_OK(aclsimSubmitWait(stream, &second));
    CHECK_OK(aclrtStreamAbort(stream));
    CHECK(blocked.is(ACL_ERROR_RT_STREAM_ABORT));
    CHECK(queued.is(ACL_ERROR_RT_STREAM_ABORT));
    set(word, 1);  // no task waits for it any more
    CHECK_OK(aclrtSynchronizeStream(stream));
    End again;
    const aclsimWait third = wait_for(word, 1, &again);
    CHECK_OK(aclsimSubmitWait(stream, &third));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(again.is(ACL_SUCCESS));
    CHECK_OK(aclrtDestroyStream(stream));
}

void a_forced_destruction_ends_the_wait() {
    const aclrtStream stream = new_stream();
    Word word{0};
    End end;
    const aclsimWait wait = wait_for(word, 1, &end);
    CHECK_OK(aclsimSubmitWait(stream, &wait));
    CHECK_OK(aclrtDestroyStreamForce(stream));
    CHECK(end.called.opens() && end.calls == 1 && end.result != ACL_SUCCESS);
}

void a_time_limit_ends_the_wait() {
    const aclrtStream stream = new_stream();
    Word word{4};
    End end;
    aclsimWait wait = wait_for(word, 5, &end);
    wait.timeoutSeconds = 1;
    CHECK_OK(aclsimSubmitWait(stream, &wait));
    CHECK_CODE(ACL_ERROR_RT_TASK_TIMEOUT, aclrtSynchronizeStream(stream));
    const std::string text = aclGetRecentErrMsg();
    CHECK(text.find(kName) != std::string::npos && text.find("is at 4 and must reach 5") != std::string::npos);
    CHECK(end.is(ACL_ERROR_RT_TASK_TIMEOUT));
    CHECK_OK(aclrtDestroyStream(stream));
}

void the_operation_may_fail() {
    const aclrtStream stream = new_stream();
    Word word{0};
    std::atomic<aclError> code{ACL_ERROR_RT_SOCKET_CLOSE};
    End end;
    aclsimWait wait = wait_for(word, 1, &end);
    wait.code = reinterpret_cast<aclError *>(&code);
    CHECK_OK(aclsimSubmitWait(stream, &wait));
    set(word, 1);
    CHECK_CODE(ACL_ERROR_RT_SOCKET_CLOSE, aclrtSynchronizeStream(stream));
    CHECK(std::string(aclGetRecentErrMsg()).find(kName) != std::string::npos);
    CHECK(end.is(ACL_ERROR_RT_SOCKET_CLOSE));
    code = ACL_SUCCESS;
    CHECK_OK(aclsimSubmitWait(stream, &wait));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

void a_fault_on_demand_reaches_the_operation() {
    const aclrtStream stream = new_stream();
    Word word{0};
    End end;
    const aclsimWait wait = wait_for(word, 1, &end);
    CHECK_OK(aclsimFailTask(stream, 1, ACL_ERROR_RT_AICORE_TIMEOUT));
    CHECK_OK(aclsimSubmitWait(stream, &wait));
    CHECK(end.is(ACL_ERROR_RT_AICORE_TIMEOUT));
    CHECK_CODE(ACL_ERROR_RT_AICORE_TIMEOUT, aclrtSynchronizeStream(stream));
    CHECK(std::string(aclGetRecentErrMsg()).find(kName) != std::string::npos);
    CHECK_OK(aclsimClearFaults());
    CHECK_OK(aclrtDestroyStream(stream));
}

void wrong_arguments_submit_nothing() {
    const aclrtStream stream = new_stream();
    Word word{0};
    End end;
    const aclsimWait good = wait_for(word, 1, &end);
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitWait(stream, nullptr));
    aclsimWait bad = good;
    bad.name = nullptr;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitWait(stream, &bad));
    bad = good;
    bad.word = nullptr;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitWait(stream, &bad));
    bad.word = reinterpret_cast<const std::uint64_t *>(reinterpret_cast<const char *>(address_of(word)) + 4);
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitWait(stream, &bad));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimWake(bad.word));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimWake(nullptr));
    bad = good;
    bad.accessCount = 1;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitWait(stream, &bad));
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_NORMAL_ONLY));
    aclsimAccess access = bytes(memory, 64, static_cast<aclsimAccessMode>(9), "sendBuf");
    bad.accesses = &access;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimSubmitWait(stream, &bad));
    access = bytes(memory, 1 << 30, ACLSIM_ACCESS_READ, "sendBuf");
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, aclsimSubmitWait(stream, &bad));
    CHECK(std::string(aclGetRecentErrMsg()).find("sendBuf") != std::string::npos);
    CHECK(is_complete(stream) && end.calls == 0);
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtDestroyStream(stream));
}

void models_and_captures_refuse_it() {
    const aclrtStream stream = new_stream();
    Word word{1};
    const aclsimWait wait = wait_for(word, 1);
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    CHECK_CODE(ACL_ERROR_RT_STREAM_CAPTURED, aclsimSubmitWait(stream, &wait));
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK_OK(aclrtDestroyStream(stream));

    aclrtStream bound = nullptr;
    CHECK_OK(aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
    aclmdlRI model = nullptr;
    CHECK_OK(aclmdlRIBuildBegin(&model, 0));
    CHECK_OK(aclmdlRIBindStream(model, bound, 0));
    CHECK_CODE(ACL_ERROR_RT_STREAM_MODEL, aclsimSubmitWait(bound, &wait));
    CHECK_OK(aclmdlRIUnbindStream(model, bound));
    CHECK_OK(aclmdlRIDestroy(model));
    CHECK_OK(aclrtDestroyStream(bound));
}

// Name, memory and cause of an operation, as reported to observers.
struct Facts final : aclsim::Observer {
    void submitted(const aclsim::Moment &, const aclsim::Stream &, const aclsim::Task &,
                   const aclsim::Submission &submission) override {
        accesses = submission.accesses;
    }
    void blocked(const aclsim::Moment &, const aclsim::Stream &, const aclsim::Task &,
                 const aclsim::Causes &causes) override {
        cause = causes.list.empty() ? aclsim::Outside::None : causes.list.front().outside;
    }
    void ended(const aclsim::Moment &, const aclsim::Stream &stream, const aclsim::Task &task,
               std::uint32_t) override NO_THREAD_SAFETY_ANALYSIS {
        aclsim::TaskLabel label;
        task.details().label(stream, label);
        name = label.name;
        type = task.info().name;
    }
    std::vector<aclsim::Access> accesses;
    aclsim::Outside cause = aclsim::Outside::None;
    std::string name;
    std::string type;
};

void observers_see_the_operation(std::uint64_t delay_us) {
    Facts facts;
    const Observing observing(facts);
    const aclrtStream stream = new_stream();
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 128, ACL_MEM_MALLOC_NORMAL_ONLY));
    const aclsimAccess accesses[] = {bytes(memory, 64, ACLSIM_ACCESS_READ, "sendBuf"),
                                     bytes(static_cast<char *>(memory) + 64, 64, ACLSIM_ACCESS_WRITE, "recvBuf")};
    Word word{0};
    aclsimWait wait = wait_for(word, 1);
    wait.accesses = accesses;
    wait.accessCount = std::size(accesses);
    if (delay_us > 0) {
        CHECK_OK(aclsimDelayTasks(stream, delay_us));
    }
    CHECK_OK(aclsimSubmitWait(stream, &wait));
    CHECK(facts.accesses.size() == 2);
    CHECK(facts.accesses[0].mode == aclsim::AccessMode::Read && facts.accesses[0].address == memory &&
          facts.accesses[0].size == 64);
    CHECK(facts.accesses[1].mode == aclsim::AccessMode::Write && facts.accesses[1].size == 64);
    CHECK(facts.accesses[1].address == static_cast<char *>(memory) + 64);
    CHECK(delay_us > 0 || facts.cause == aclsim::Outside::OtherProcess);
    set(word, 1);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(facts.name == kName && facts.type == "EXTERNAL_WAIT");
    CHECK_OK(aclsimClearFaults());
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtDestroyStream(stream));
}

// The word changes only after the explanation has been read.
void a_long_wait_is_explained() {
    StallReports reports;
    const aclrtStream stream = new_stream();
    Word word{0};
    const aclsimWait wait = wait_for(word, 1);
    CHECK_OK(aclsimSubmitWait(stream, &wait));
    std::string text;
    std::thread companion([&] {
        text = reports.wait_for("must reach 1");
        word = 1;
    });
    CHECK_OK(aclrtSynchronizeStream(stream));
    companion.join();
    reports.end_capture();
    CHECK(text.find("waits for " + std::string(kName) + ", whose word at ") != std::string::npos);
    CHECK(text.find("deadlock") == std::string::npos);
    CHECK_OK(aclrtDestroyStream(stream));
}

void another_process_changes_the_word(Word &shared, int to_child) {
    const aclrtStream stream = new_stream();
    End end;
    const aclsimWait wait = wait_for(shared, 1, &end);
    CHECK_OK(aclsimSubmitWait(stream, &wait));
    CHECK(!is_complete(stream));
    CHECK(write(to_child, "g", 1) == 1);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(end.is(ACL_SUCCESS));
    CHECK_OK(aclrtDestroyStream(stream));
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_STALL_MS", "50", 1);
    void *const page = mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    Word &shared = *new (page) Word{0};
    int to_child[2] = {};
    CHECK(pipe(to_child) == 0);
    const pid_t child = fork();  // before the first use of the library
    if (child == 0) {
        char go = 0;
        close(to_child[1]);  // makes the pipe end if the parent fails
        CHECK(read(to_child[0], &go, 1) == 1);
        shared = 1;
        return 0;
    }
    const Watchdog watchdog("word_wait_test", 3 * kLongEnough);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    a_wake_lets_the_stream_go_on_before_it_returns();
    a_store_alone_is_noticed();
    the_task_has_its_place_in_the_stream();
    waiting_streams_need_no_threads();
    streams_may_share_a_word();
    an_abort_ends_the_wait();
    a_forced_destruction_ends_the_wait();
    a_time_limit_ends_the_wait();
    the_operation_may_fail();
    a_fault_on_demand_reaches_the_operation();
    wrong_arguments_submit_nothing();
    models_and_captures_refuse_it();
    observers_see_the_operation(/*delay_us=*/0);
    observers_see_the_operation(/*delay_us=*/1000);
    a_long_wait_is_explained();
    another_process_changes_the_word(shared, to_child[1]);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
