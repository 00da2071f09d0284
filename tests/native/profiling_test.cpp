// SPDX-License-Identifier: Apache-2.0
// Marks, ranges and subscriptions (profiling.md sections 5 to 8) with threads, full and broken pipes, and profiles that
// begin and end meanwhile.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "concurrent.h"
#include "latch.h"

namespace {

constexpr aclError kNotTaken = -1;
constexpr std::size_t kRecord = 80;

std::string g_directory;

aclprofConfig *config_for(std::uint64_t data) {
    std::uint32_t device = 0;
    aclprofConfig *config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, data);
    CHECK(config != nullptr);
    return config;
}

void *stamp_of(const char *message) {
    void *stamp = aclprofCreateStamp();
    if (stamp != nullptr) {
        CHECK_OK(aclprofSetStampTraceMessage(stamp, message, static_cast<std::uint32_t>(std::strlen(message))));
    }
    return stamp;
}

// Contents of the files of all profiles whose names begin so.
std::string contents(const char *beginning) {
    std::string text;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(g_directory)) {
        if (entry.path().filename().string().rfind(beginning, 0) == 0) {
            std::ifstream file(entry.path());
            text.append(std::istreambuf_iterator<char>(file), {});
        }
    }
    return text;
}

std::size_t count_of(const std::string &text, const std::string &part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

// Each thread pushes two ranges, one inside the other, and marks its stream.
void ranges_of_threads_do_not_mix() {
    aclprofConfig *config = config_for(ACL_PROF_MSPROFTX);
    CHECK_OK(aclprofInit(g_directory.c_str(), g_directory.size()));
    CHECK_OK(aclprofStart(config));
    in_threads([](int) {
        const aclrtStream stream = new_stream();
        void *outer = stamp_of("outer range"), *inner = stamp_of("inner range");
        for (int i = 0; i < 100; ++i) {
            CHECK_OK(aclprofPush(outer));
            CHECK_OK(aclprofPush(inner));
            CHECK_OK(aclprofMarkEx("in a stream", 11, stream));
            CHECK_OK(aclprofPop());
            CHECK_OK(aclprofPop());
            CHECK_CODE(kNotTaken, aclprofPop());
        }
        aclprofDestroyStamp(outer);
        aclprofDestroyStamp(inner);
        CHECK_CODE(kNotTaken, aclprofPush(inner));
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
    });
    CHECK_OK(aclprofStop(config));
    CHECK_OK(aclprofDestroyConfig(config));
    CHECK_OK(aclprofFinalize());
    const std::string table = contents("msprof_tx_");
    CHECK(count_of(table, ",push/pop,") == 2 * 100 * kThreads);
    CHECK(count_of(table, ",inner range,") == 100 * kThreads);
    CHECK(count_of(table, ",in a stream,0,") == 100 * kThreads);
}

// Profiles begin and end while threads set marks: each call succeeds or answers that nothing is taken.
void profiles_may_end_in_a_range() {
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        aclprofConfig *config = config_for(ACL_PROF_MSPROFTX | ACL_PROF_TASK_TIME);
        for (int i = 0; i < 20; ++i) {
            CHECK_OK(aclprofInit(g_directory.c_str(), g_directory.size()));
            CHECK_OK(aclprofStart(config));
            std::this_thread::yield();
            CHECK_OK(i % 2 == 0 ? aclprofStop(config) : ACL_SUCCESS);
            CHECK_OK(aclprofFinalize());
        }
        CHECK_OK(aclprofDestroyConfig(config));
        is_over = true;
    });
    in_threads([&](int) {
        const aclrtStream stream = new_stream();
        aclprofStepInfo *step = nullptr;
        const auto check = [](aclError code) { CHECK(code == ACL_SUCCESS || code == kNotTaken); };
        while (!is_over) {
            void *stamp = stamp_of("range");
            if (stamp == nullptr) {
                std::this_thread::yield();
                continue;
            }
            std::uint32_t range = 0;
            check(aclprofPush(stamp));
            check(aclprofRangeStart(stamp, &range));
            check(aclprofMark(stamp));
            check(aclprofMarkEx("mark", 4, stream));
            step = aclprofCreateStepInfo();
            CHECK_OK(aclprofGetStepTimestamp(step, ACL_STEP_START, stream));
            CHECK_OK(aclprofGetStepTimestamp(step, ACL_STEP_END, stream));
            aclprofDestroyStepInfo(step);
            check(aclprofRangeStop(range));
            check(aclprofPop());
            aclprofDestroyStamp(stamp);
        }
        CHECK_OK(aclrtDestroyStream(stream));
    });
    other.join();
}

void garbage_is_refused() {
    aclprofConfig *config = config_for(ACL_PROF_MSPROFTX);
    CHECK_OK(aclprofInit(g_directory.c_str(), g_directory.size()));
    CHECK_OK(aclprofStart(config));
    const aclrtStream stream = new_stream();
    std::uint32_t range = 0;
    for (void *bad : std::array<void *, 3>{reinterpret_cast<void *>(0x1234), stream, config}) {
        CHECK_CODE(kNotTaken, aclprofPush(bad));
        CHECK_CODE(kNotTaken, aclprofMark(bad));
        CHECK_CODE(kNotTaken, aclprofRangeStart(bad, &range));
        CHECK_CODE(kNotTaken, aclprofSetStampTraceMessage(bad, "x", 1));
        aclprofDestroyStamp(bad);
        aclprofDestroyStepInfo(static_cast<aclprofStepInfo *>(bad));
        CHECK_CODE(ACL_ERROR_INVALID_PARAM,
                   aclprofGetStepTimestamp(static_cast<aclprofStepInfo *>(bad), ACL_STEP_START, stream));
        CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclprofDestroySubscribeConfig(static_cast<aclprofSubscribeConfig *>(bad)));
    }
    CHECK_CODE(kNotTaken, aclprofMarkEx("x", 1, reinterpret_cast<aclrtStream>(0x1234)));
    aclprofStepInfo *step = aclprofCreateStepInfo();
    CHECK_CODE(ACL_ERROR_GE_FAILURE,
               aclprofGetStepTimestamp(step, ACL_STEP_START, reinterpret_cast<aclrtStream>(0x1234)));
    aclprofDestroyStepInfo(step);
    std::vector<void *> stamps;
    while (void *stamp = aclprofCreateStamp()) {
        stamps.push_back(stamp);
    }
    CHECK(stamps.size() == 100);
    for (void *stamp : stamps) {
        aclprofDestroyStamp(stamp);
    }
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclprofFinalize());
    CHECK_CODE(kNotTaken, aclprofPush(stamps[0]));
    CHECK_OK(aclprofDestroyConfig(config));
}

// A captured graph of some fills, and its number.
struct Model {
    explicit Model(int tasks) {
        CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
        for (int i = 0; i < tasks; ++i) {
            CHECK_OK(aclrtMemsetAsync(memory, 64, i, 64, stream));
        }
        CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
        CHECK_OK(aclmdlRIGetId(graph, &id));
    }
    ~Model() {
        if (graph != nullptr) {
            CHECK_OK(aclmdlRIDestroy(graph));
        }
        CHECK_OK(aclrtDestroyStream(stream));
        CHECK_OK(aclrtFree(memory));
    }
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;
    void run() const {
        CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
    }

    const aclrtStream stream = new_stream();
    void *memory = nullptr;
    aclmdlRI graph = nullptr;
    std::uint32_t id = 0;
};

struct Pipe {
    Pipe() { CHECK(pipe2(ends, O_CLOEXEC) == 0); }
    ~Pipe() { close(ends[0]); }
    Pipe(const Pipe &) = delete;
    Pipe &operator=(const Pipe &) = delete;
    std::string rest() const {
        std::string data;
        std::array<char, 4096> some{};
        for (ssize_t got = read(ends[0], some.data(), some.size()); got > 0;
             got = read(ends[0], some.data(), some.size())) {
            data.append(some.data(), static_cast<std::size_t>(got));
        }
        return data;
    }
    int ends[2] = {};
};

aclprofSubscribeConfig *subscribe(const Model &model, Pipe &pipe) {
    aclprofSubscribeConfig *config = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &pipe.ends[1]);
    CHECK(config != nullptr);
    CHECK_OK(aclprofModelSubscribe(model.id, config));
    return config;
}

void a_subscription_writes_a_record_for_each_operator() {
    const Model model(3), other(1);
    Pipe pipe;
    aclprofSubscribeConfig *config = subscribe(model, pipe);
    CHECK_CODE(ACL_ERROR_PROF_REPEAT_SUBSCRIBE, aclprofModelSubscribe(model.id, config));
    CHECK_CODE(ACL_ERROR_PROF_API_CONFLICT, aclprofInit(g_directory.c_str(), g_directory.size()));
    CHECK_OK(aclprofDestroySubscribeConfig(config));
    model.run();
    other.run();
    CHECK_OK(aclprofModelUnSubscribe(model.id));
    CHECK_CODE(ACL_ERROR_INVALID_MODEL_ID, aclprofModelUnSubscribe(model.id));
    const std::string data = pipe.rest();
    CHECK(data.size() % kRecord == 0);
    std::uint32_t number = 0, fills = 0;
    CHECK_OK(aclprofGetOpNum(data.data(), data.size(), &number));
    for (std::uint32_t i = 0; i < number; ++i) {
        std::array<char, 64> text{};
        std::size_t length = 0;
        CHECK(aclprofGetModelId(data.data(), data.size(), i) == model.id);
        CHECK(aclprofGetOpFlag(data.data(), data.size(), i) == ACL_SUBSCRIBE_OP);
        CHECK_OK(aclprofGetOpTypeLen(data.data(), data.size(), i, &length));
        CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclprofGetOpType(data.data(), data.size(), i, text.data(), length - 1));
        CHECK_OK(aclprofGetOpType(data.data(), data.size(), i, text.data(), length));
        CHECK(std::strlen(text.data()) + 1 == length);
        fills += std::strcmp(text.data(), "MEMSET") == 0 ? 1 : 0;
        CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclprofGetOpType(data.data(), data.size(), i, text.data(), text.size()));
        CHECK_OK(aclprofGetOpName(data.data(), data.size(), i, text.data(), text.size()));
        const std::uint64_t start = aclprofGetOpStart(data.data(), data.size(), i);
        CHECK(start > 0 && aclprofGetOpEnd(data.data(), data.size(), i) ==
                               start + aclprofGetOpDuration(data.data(), data.size(), i));
    }
    CHECK(fills == 3);
    std::string damaged = data;
    damaged[8] = static_cast<char>(damaged[8] ^ 1);
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclprofGetOpNum(damaged.data(), damaged.size(), &number));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclprofGetOpNum(data.data(), kRecord - 1, &number));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclprofGetOpNum(nullptr, kRecord, &number));
    CHECK(aclprofGetOpStart(data.data(), data.size(), number + 1000) == 0);
    CHECK(aclprofGetOpAttriValue(data.data(), data.size(), 0, ACL_SUBSCRIBE_ATTRI_THREADID) == nullptr);
}

void a_reader_that_does_not_read_holds_nothing_up() {
    const Model model(50);
    Pipe pipe;
    CHECK(fcntl(pipe.ends[1], F_SETPIPE_SZ, 4096) > 0);
    aclprofSubscribeConfig *config = subscribe(model, pipe);
    for (int i = 0; i < 20; ++i) {
        model.run();
    }
    auto end = begin([&] { return aclprofModelUnSubscribe(model.id); });
    CHECK(end.wait_for(kLongEnough) == std::future_status::ready);
    CHECK_OK(end.get());
    const std::string data = pipe.rest();  // comes to its end: the other side is closed
    CHECK(!data.empty() && data.size() % kRecord == 0);
    CHECK_OK(aclprofDestroySubscribeConfig(config));
}

void a_reader_that_is_gone_ends_nothing_else() {
    const Model model(5);
    Pipe pipe;
    close(pipe.ends[0]);
    aclprofSubscribeConfig *config = subscribe(model, pipe);
    model.run();
    model.run();
    CHECK_OK(aclprofModelUnSubscribe(model.id));
    pipe.ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int not_open = 1000;
    for (const int *bad : std::array<const int *, 2>{&not_open, &pipe.ends[0]}) {
        aclprofSubscribeConfig *refused = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, const_cast<int *>(bad));
        CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclprofModelSubscribe(model.id, refused));
        CHECK_OK(aclprofDestroySubscribeConfig(refused));
    }
    CHECK_OK(aclprofDestroySubscribeConfig(config));
}

// A program that closes the descriptor itself loses the records, and no other file that gets its number.
void another_file_with_the_number_is_left_alone() {
    const Model model(2);
    Pipe pipe, other;
    const int number = pipe.ends[1];
    aclprofSubscribeConfig *config = subscribe(model, pipe);
    CHECK(dup3(other.ends[1], number, O_CLOEXEC) == number);
    close(other.ends[1]);
    model.run();
    CHECK_OK(aclprofModelUnSubscribe(model.id));
    CHECK(fcntl(number, F_GETFD) >= 0);
    close(number);
    CHECK(other.rest().empty() && !pipe.rest().empty());
    CHECK_OK(aclprofDestroySubscribeConfig(config));
}

// Records go to anything that can be written; if it cannot, the work goes on.
void a_subscription_may_have_any_file() {
    const Model model(50);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    aclprofSubscribeConfig *config = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &full);
    CHECK_OK(aclprofModelSubscribe(model.id, config));
    model.run();
    model.run();
    CHECK_OK(aclprofModelUnSubscribe(model.id));
    CHECK_OK(aclprofDestroySubscribeConfig(config));

    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    const int small = 4096;
    CHECK(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    config = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &ends[1]);
    CHECK_OK(aclprofModelSubscribe(model.id, config));
    Pipe reader;
    close(reader.ends[1]);
    close(std::exchange(reader.ends[0], ends[0]));
    auto data = begin([&] { return reader.rest(); });
    for (int i = 0; i < 10; ++i) {
        model.run();
    }
    CHECK_OK(aclprofModelUnSubscribe(model.id));
    const std::string records = data.get();
    std::uint32_t number = 0;
    CHECK_OK(aclprofGetOpNum(records.data(), records.size(), &number));
    CHECK(number >= 500);
    CHECK_OK(aclprofDestroySubscribeConfig(config));
}

// Subscriptions begin and end at any moment of the executions: each record is whole, and each call succeeds.
void subscriptions_may_change_while_models_run() {
    std::atomic<int> at_work{kThreads};
    const Model model(20);
    std::thread other([&] {
        CHECK_OK(aclrtSetDevice(0));
        for (bool is_over = false; !is_over;) {
            is_over = at_work == 0;
            Pipe pipe;
            aclprofSubscribeConfig *config = subscribe(model, pipe);
            std::this_thread::yield();
            CHECK_OK(aclprofModelUnSubscribe(model.id));
            CHECK_OK(aclprofDestroySubscribeConfig(config));
            const std::string data = pipe.rest();
            std::uint32_t number = 0;
            CHECK(data.empty() || aclprofGetOpNum(data.data(), data.size(), &number) == ACL_SUCCESS);
        }
    });
    in_threads([&](int) {
        const aclrtStream stream = new_stream();
        for (int i = 0; i < 100; ++i) {
            CHECK_OK(aclmdlRIExecuteAsync(model.graph, stream));
        }
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
        --at_work;
    });
    other.join();
    CHECK_OK(aclrtResetDevice(0));
}

// The end of the profiler writes every profile that can be written.
void a_directory_that_vanishes_takes_no_other_profile_with_it() {
    std::uint32_t devices[] = {0, 1};
    std::array<aclprofConfig *, 2> configs{};
    const std::string places[] = {g_directory + "/gone", g_directory + "/stays"};
    CHECK_OK(aclprofInit(places[0].c_str(), places[0].size()));
    for (std::size_t i = 0; i < configs.size(); ++i) {
        CHECK_OK(aclprofSetConfig(ACL_PROF_PATH, places[i].c_str(), places[i].size()));
        configs[i] = aclprofCreateConfig(&devices[i], 1, ACL_AICORE_NONE, nullptr, ACL_PROF_TASK_TIME);
        CHECK_OK(aclprofStart(configs[i]));
    }
    std::filesystem::remove_all(places[0]);
    CHECK_CODE(ACL_ERROR_INVALID_FILE, aclprofFinalize());
    std::size_t files = 0;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(places[1])) {
        files += entry.is_regular_file() ? 1 : 0;
    }
    CHECK(files >= 3);
    for (aclprofConfig *config : configs) {
        CHECK_OK(aclprofDestroyConfig(config));
    }
}

void a_model_may_end_before_its_subscription() {
    Model model(2);
    Pipe pipe;
    aclprofSubscribeConfig *config = subscribe(model, pipe);
    model.run();
    CHECK_OK(aclmdlRIDestroy(model.graph));
    model.graph = nullptr;
    CHECK_OK(aclprofModelUnSubscribe(model.id));
    CHECK(!pipe.rest().empty());
    CHECK_CODE(ACL_ERROR_INVALID_MODEL_ID, aclprofModelSubscribe(model.id, config));
    CHECK_OK(aclprofDestroySubscribeConfig(config));
}

// Streams are aborted and the device is reset while a profile is taken and a model is subscribed.
void a_reset_ends_the_work_of_a_profile() {
    aclprofConfig *config = config_for(ACL_PROF_MSPROFTX | ACL_PROF_TASK_TIME);
    CHECK_OK(aclprofInit(g_directory.c_str(), g_directory.size()));
    CHECK_OK(aclprofStart(config));
    LatchedCallback held;
    const aclrtStream stream = new_stream();
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &held));
    held.entered.wait();
    CHECK_OK(aclprofMarkEx("dropped", 7, stream));
    auto abort = begin([&] {
        CHECK_OK(aclrtSetDevice(0));
        return aclrtStreamAbort(stream);
    });
    held.released.open();
    CHECK_OK(abort.get());
    CHECK_OK(aclrtResetDeviceForce(0));
    CHECK_OK(aclprofStop(config));
    CHECK_OK(aclprofDestroyConfig(config));
    CHECK_OK(aclprofFinalize());
    CHECK_OK(aclrtSetDevice(0));
}

// The process ends while a profile is taken, or a model is subscribed whose records nothing reads.
template <class Body>
void exit_during(Body body) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_OK(aclInit(nullptr));
        CHECK_OK(aclrtSetDevice(0));
        body();
        std::exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void a_process_may_exit_in_the_middle() {
    exit_during([] {
        CHECK_OK(aclprofInit(g_directory.c_str(), g_directory.size()));
        CHECK_OK(aclprofStart(config_for(ACL_PROF_MSPROFTX | ACL_PROF_TASK_TIME | ACL_PROF_ACL_API)));
        CHECK_OK(aclprofPush(stamp_of("open range")));
        std::uint32_t range = 0;
        CHECK_OK(aclprofRangeStart(stamp_of("open range"), &range));
    });
    exit_during([] {
        static Pipe &pipe = *new Pipe;
        static const Model &model = *new Model(50);
        CHECK(fcntl(pipe.ends[1], F_SETPIPE_SZ, 4096) > 0);
        subscribe(model, pipe);
        for (int i = 0; i < 5; ++i) {
            model.run();
        }
    });
}

}  // namespace

int main() {
    char directory[] = "profiling_XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    g_directory = std::filesystem::absolute(directory).string();
    a_process_may_exit_in_the_middle();  // first: a forked child of a process that uses the library cannot use it
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    ranges_of_threads_do_not_mix();
    profiles_may_end_in_a_range();
    garbage_is_refused();
    a_subscription_writes_a_record_for_each_operator();
    a_reader_that_does_not_read_holds_nothing_up();
    a_reader_that_is_gone_ends_nothing_else();
    another_file_with_the_number_is_left_alone();
    a_subscription_may_have_any_file();
    subscriptions_may_change_while_models_run();
    a_directory_that_vanishes_takes_no_other_profile_with_it();
    a_model_may_end_before_its_subscription();
    a_reset_ends_the_work_of_a_profile();
    CHECK_OK(aclFinalize());
    std::filesystem::remove_all(g_directory);
    return 0;
}
