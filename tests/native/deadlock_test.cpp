// SPDX-License-Identifier: Apache-2.0
// Detection of deadlocks: every kind of deadlock is reported at once and exactly, and no other wait is reported as one.
// Each case runs in a separate process with known threads, because the result depends on every thread of the program.
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "concurrent.h"
#include "support/json.h"

namespace {

constexpr const char *kLooks = "200";       // ms after which a wait without a deadlock is explained
constexpr const char *kForLong = "600000";  // ms; an earlier text is that of a deadlock

// Creates an event that streams can wait for before it is recorded.
aclrtEvent new_bit_event() {
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

aclrtNotify new_notify() {
    aclrtNotify notify = nullptr;
    CHECK_OK(aclrtCreateNotify(&notify, 0));
    return notify;
}

// --- deadlocks: the calls do not return, the parent kills the process ------------------------------------------------

void events() {
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    aclrtEvent x = new_bit_event();
    aclrtEvent y = new_bit_event();
    CHECK_OK(aclrtStreamWaitEvent(a, x));
    CHECK_OK(aclrtRecordEvent(y, a));
    CHECK_OK(aclrtStreamWaitEvent(b, y));
    CHECK_OK(aclrtRecordEvent(x, b));
    aclrtSynchronizeStream(a);
}

void notify_and_event() {
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    aclrtEvent x = new_bit_event();
    aclrtNotify y = new_notify();
    CHECK_OK(aclrtStreamWaitEvent(a, x));
    CHECK_OK(aclrtRecordNotify(y, a));
    CHECK_OK(aclrtWaitAndResetNotify(y, b, 0));
    CHECK_OK(aclrtRecordEvent(x, b));
    aclrtSynchronizeDevice();
}

void value_that_nobody_writes() {
    void *value = nullptr;
    CHECK_OK(aclrtMalloc(&value, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemset(value, 64, 0, 64));
    aclrtStream stream = new_stream();
    CHECK_OK(aclrtValueWait(value, 7, ACL_STREAM_WAIT_VALUE_EQ, stream));
    aclrtSynchronizeStream(stream);
}

void synchronize_device(void *) {
    CHECK_OK(aclrtSetDevice(0));
    aclrtSynchronizeDevice();
}

void host_function_that_waits_for_its_device() {
    aclrtStream stream = new_stream();
    CHECK_OK(aclrtLaunchHostFunc(stream, synchronize_device, nullptr));
    aclrtSynchronizeStream(stream);
}

// A second thread finds the deadlock while the first describes it, and must not end the process before it is written.
void described_slowly() {
    static std::promise<void> found;
    CHECK_OK(aclsimSetThreadDescriber([](std::uint64_t, char *, std::size_t) -> std::size_t {
        found.set_value();
        std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the second one looks after 10
        return 0;
    }));
    aclrtStream stream = new_stream();
    CHECK_OK(aclrtLaunchHostFunc(stream, synchronize_device, nullptr));
    found.get_future().wait();
    aclrtSynchronizeStream(stream);
}

// Host functions of a context share one thread.
void host_function_that_waits_for_another() {
    static aclrtStream other = new_stream();
    static std::promise<void> began, submitted;
    aclrtStream stream = new_stream();
    CHECK_OK(aclrtLaunchHostFunc(
        stream,
        [](void *) {
            began.set_value();
            submitted.get_future().wait();
            CHECK_OK(aclrtSetDevice(0));
            aclrtSynchronizeStream(other);
        },
        nullptr));
    began.get_future().wait();  // functions of two streams begin in any order
    CHECK_OK(aclrtLaunchHostFunc(other, [](void *) {}, nullptr));
    submitted.set_value();
    aclrtSynchronizeStream(stream);
}

// The thread that would record the event waits for a place in the queue.
void full_queue() {
    aclrtStream stream = new_stream();
    aclrtEvent gate = new_bit_event();
    CHECK_OK(aclrtStreamWaitEvent(stream, gate));
    std::uint8_t unused = 0;
    for (;;) {
        CHECK_OK(aclrtProfTrace(&unused, 1, stream));
    }
}

// The only thread that could record the event ends during the wait.
void thread_that_ended() {
    aclrtStream stream = new_stream();
    CHECK_OK(aclrtStreamWaitEvent(stream, new_bit_event()));
    std::thread([=] {
        CHECK_OK(aclrtSetDevice(0));
        CHECK_CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(stream, 100));
    }).detach();
    aclrtSynchronizeStream(stream);
}

// Waits for an event that any other thread could record.
void wait_for_gate() {
    aclrtStream stream = new_stream();
    CHECK_OK(aclrtStreamWaitEvent(stream, new_bit_event()));
    aclrtSynchronizeStream(stream);
}

// Needs the list of the context's streams until a thread that synchronizes the device keeps it.
void use_streams_until(const std::atomic<bool> &is_over) {
    while (!is_over.load()) {
        CHECK_OK(aclrtDestroyStream(new_stream()));
    }
}

// The thread that could record the event waits behind the one that waits for it.
void stream_behind_a_synchronization() {
    static const std::atomic<bool> never{false};
    aclrtStream stream = new_stream();
    CHECK_OK(aclrtStreamWaitEvent(stream, new_bit_event()));
    std::thread([] {
        CHECK_OK(aclrtSetDevice(0));
        aclrtSynchronizeDevice();
    }).detach();
    use_streams_until(never);
}

std::uint64_t this_thread() { return static_cast<std::uint64_t>(pthread_self()); }
aclsimThread g_main;  // main thread, as the program names it

std::size_t name_main(aclsimThread *threads, std::size_t /*capacity*/) {
    threads[0] = g_main;
    return 1;
}

// The other thread is like that of a mathematical library: it does not call the runtime.
void thread_that_is_not_named() {
    g_main = {this_thread(), 0};
    CHECK_OK(aclsimSetThreadProvider(name_main));
    std::thread([] { pause(); }).detach();
    wait_for_gate();
}

void thread_that_waits_for_the_waiting_one() {
    g_main = {this_thread(), 1};
    CHECK_OK(aclsimSetThreadProvider(name_main));
    std::thread([] {
        CHECK_OK(aclrtSetDevice(0));
        wait_for_gate();
    }).join();
}

void channel_that_no_thread_fills() {
    acltdtChannelHandle *const channel = acltdtCreateChannelWithCapacity(0, "numbers", 2);
    acltdtReceiveTensor(channel, acltdtCreateDataset(), -1);
}

// Both threads receive from the channel into which the other one would send.
void channels_in_a_circle() {
    acltdtChannelHandle *const first = acltdtCreateChannelWithCapacity(0, "there", 2);
    acltdtChannelHandle *const second = acltdtCreateChannelWithCapacity(0, "back", 2);
    std::thread([=] { acltdtReceiveTensor(first, acltdtCreateDataset(), -1); }).detach();
    acltdtReceiveTensor(second, acltdtCreateDataset(), -1);
}

// --- long waits without a deadlock: explained after the time of kLooks -----------------------------------------------

std::function<void()> g_end;  // called by another thread after the parent has read the explanation

void other_thread_records() {
    aclrtStream stream = new_stream();
    aclrtEvent gate = new_bit_event();
    CHECK_OK(aclrtStreamWaitEvent(stream, gate));
    g_end = [=] { CHECK_OK(aclrtRecordEvent(gate, new_stream())); };
    CHECK_OK(aclrtSynchronizeStream(stream));
}

// Names more threads than fit into the first array. Only the last one does not wait.
std::size_t name_many(aclsimThread *threads, std::size_t capacity) {
    constexpr std::size_t kMany = 100;
    for (std::size_t i = 0; i < std::min(capacity, kMany); ++i) {
        threads[i] = {this_thread(), i + 1 == kMany ? 0 : 1};
    }
    if (capacity >= kMany) {
        threads[kMany - 1].thread = ~threads[0].thread;
    }
    return kMany;
}

void named_thread_records() {
    CHECK_OK(aclsimSetThreadProvider(name_many));
    other_thread_records();
}

void unknown_thread_records() {
    CHECK_OK(aclsimSetThreadProvider([](aclsimThread *, std::size_t) -> std::size_t { return 0; }));
    other_thread_records();
}

// The program does not name the thread, but the thread has used the library.
void thread_that_has_submitted_records() {
    static std::promise<void> latch;
    aclrtStream stream = new_stream();
    aclrtEvent gate = new_bit_event();
    CHECK_OK(aclrtStreamWaitEvent(stream, gate));
    g_main = {this_thread(), 0};
    CHECK_OK(aclsimSetThreadProvider(name_main));
    std::promise<void> submitted;
    std::thread second([&] {
        CHECK_OK(aclrtSetDevice(0));
        aclrtStream own = new_stream();
        CHECK_OK(aclrtRecordEvent(new_bit_event(), own));
        submitted.set_value();
        latch.get_future().wait();
        CHECK_OK(aclrtRecordEvent(gate, own));
    });
    submitted.get_future().wait();
    g_end = [] { latch.set_value(); };
    CHECK_OK(aclrtSynchronizeStream(stream));
    second.join();
}

void ring_without_its_first_token() {
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    aclrtNotify x = new_notify();
    aclrtNotify y = new_notify();
    CHECK_OK(aclrtWaitAndResetNotify(x, a, 0));
    CHECK_OK(aclrtRecordNotify(y, a));
    CHECK_OK(aclrtWaitAndResetNotify(y, b, 0));
    CHECK_OK(aclrtRecordNotify(x, b));
    g_end = [=] { CHECK_OK(aclrtRecordNotify(x, new_stream())); };
    CHECK_OK(aclrtSynchronizeStream(b));
}

// The second thread waits too, but its wait can end, and then the thread may record the event.
void waiting_thread_records() {
    static std::promise<void> latch;
    aclrtStream stream = new_stream();
    aclrtStream busy = new_stream();
    aclrtEvent gate = new_bit_event();
    CHECK_OK(aclrtStreamWaitEvent(stream, gate));
    CHECK_OK(aclrtLaunchHostFunc(busy, [](void *) { latch.get_future().wait(); }, nullptr));
    std::thread second([=] {
        CHECK_OK(aclrtSetDevice(0));
        CHECK_OK(aclrtSynchronizeStream(busy));
        CHECK_OK(aclrtRecordEvent(gate, busy));
    });
    g_end = [] { latch.set_value(); };
    CHECK_OK(aclrtSynchronizeStream(stream));
    second.join();
}

// A callback runs on the subscribed thread. It is code of the program, so it may record the event.
void callback_records() {
    static aclrtStream stream = new_stream();
    static aclrtEvent gate = new_bit_event();
    static std::promise<void> latch;
    std::promise<void> subscribed;
    aclrtStream reported = new_stream();
    std::thread second([&] {
        CHECK_OK(aclrtSetDevice(0));
        subscribed.get_future().wait();
        CHECK_OK(aclrtProcessReport(-1));
    });
    CHECK_OK(aclrtSubscribeReport(static_cast<std::uint64_t>(second.native_handle()), reported));
    subscribed.set_value();
    CHECK_OK(aclrtStreamWaitEvent(stream, gate));
    const auto callback = [](void *) {
        latch.get_future().wait();
        CHECK_OK(aclrtRecordEvent(gate, new_stream()));
    };
    CHECK_OK(aclrtLaunchCallback(callback, nullptr, ACL_CALLBACK_BLOCK, reported));
    g_end = [] { latch.set_value(); };
    CHECK_OK(aclrtSynchronizeStream(stream));
    second.join();
}

// Calls `synchronize` on another thread while the event of a stream is not recorded.
void use_streams_beside(aclError (*synchronize)(), aclError expected) {
    static std::atomic<bool> is_over{false};
    aclrtStream stream = new_stream();
    aclrtStream other = new_stream();
    aclrtEvent gate = new_bit_event();
    CHECK_OK(aclrtStreamWaitEvent(stream, gate));
    if (expected == ACL_SUCCESS) {
        g_end = [=] { CHECK_OK(aclrtRecordEvent(gate, other)); };
    }
    std::thread second([=] {
        CHECK_OK(aclrtSetDevice(0));
        CHECK_CODE(expected, synchronize());
        is_over = true;
    });
    use_streams_until(is_over);
    second.join();
}

void stream_behind_a_synchronization_that_ends() { use_streams_beside(aclrtSynchronizeDevice, ACL_SUCCESS); }

// No thread is left that could record the event, but the limit lets both go on.
void stream_behind_a_limited_synchronization() {
    g_main = {this_thread(), 0};
    CHECK_OK(aclsimSetThreadProvider(name_main));
    use_streams_beside([] { return aclrtSynchronizeDeviceWithTimeout(500); }, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
}

void hold() {
    aclrtStream stream = new_stream();
    CHECK(aclsimHold(1) == 0);
    std::uint8_t unused = 0;
    CHECK_OK(aclrtProfTrace(&unused, 1, stream));
    g_end = [] { CHECK(aclsimHold(0) == 0); };
    CHECK_OK(aclrtSynchronizeStream(stream));
}

void record_of_another_process() {
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    aclrtEvent gate = new_bit_event();
    CHECK_OK(aclrtStreamWaitEvent(a, gate));
    CHECK_OK(aclrtRecordEvent(event, a));
    CHECK_OK(aclrtStreamWaitEvent(b, event));
    g_end = [=] { CHECK_OK(aclrtRecordEvent(gate, new_stream())); };
    CHECK_OK(aclrtSynchronizeStream(b));
    CHECK_OK(aclrtDestroyEvent(event));  // its shared memory would outlive _exit()
}

// The wait with a limit ends by itself, with a failure.
void limited_wait_in_a_cycle() {
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    aclrtEvent x = new_bit_event();
    aclrtEvent y = new_bit_event();
    CHECK_OK(aclrtStreamWaitEventWithTimeout(a, x, 1));
    CHECK_OK(aclrtRecordEvent(y, a));
    CHECK_OK(aclrtStreamWaitEvent(b, y));
    CHECK_OK(aclrtRecordEvent(x, b));
    CHECK_OK(aclrtSynchronizeStream(b));
}

void other_thread_sends() {
    static acltdtChannelHandle *const channel = acltdtCreateChannelWithCapacity(0, "numbers", 2);
    std::thread sender([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        acltdtDataset *const set = acltdtCreateDataset();
        CHECK_OK(acltdtAddDataItem(
            set, acltdtCreateDataItem(ACL_TENSOR_DATA_END_OF_SEQUENCE, nullptr, 0, ACL_INT8, nullptr, 0)));
        CHECK_OK(acltdtSendTensor(channel, set, -1));
    });
    CHECK_OK(acltdtReceiveTensor(channel, acltdtCreateDataset(), -1));
    sender.join();
}

struct Case {
    const char *name;
    void (*run)();
    const char *heading;
    const char *part;  // must occur in the text
    const char *last;  // last line of the text; nullptr to accept any
};
constexpr const char *kCycle = "  which waits for itself: a deadlock\n";
constexpr const char *kEnd = "  and nothing is left that could end that: a deadlock\n";

const Case kDeadlocks[] = {
    {"events", events, "aclrtSynchronizeStream waits forever for task 2 of stream", "waits for event 0x", kCycle},
    {"notify and event", notify_and_event, "aclrtSynchronizeDevice waits forever for task 2", "waits for notify",
     kCycle},
    {"value", value_that_nobody_writes, "aclrtSynchronizeStream waits forever for task 1", "waits for a value at 0x",
     kEnd},
    {"own device", host_function_that_waits_for_its_device, " waits forever for task 1",
     "runs a host function, where aclrtSynchronizeDevice waits for task 1", kCycle},
    {"other host function", host_function_that_waits_for_another, " waits forever for task 1",
     "waits for a thread to run a host function", kCycle},
    {"full queue", full_queue, "aclrtProfTrace waits forever for task 1", "waits for event 0x", kEnd},
    {"ended thread", thread_that_ended, "aclrtSynchronizeStream waits forever for task 1", "which is not recorded",
     kEnd},
    {"stream behind a synchronization", stream_behind_a_synchronization, " waits forever for ",
     "for aclrtSynchronizeDevice of another thread, which waits for task 1 of stream", kEnd},
    {"channel", channel_that_no_thread_fills, "acltdtReceiveTensor waits forever for data in channel numbers",
     "nothing is left", kEnd},
    {"channels in a circle", channels_in_a_circle, "acltdtReceiveTensor waits forever for data in channel ",
     "nothing is left", kEnd},
    {"thread that is not named", thread_that_is_not_named, "aclrtSynchronizeStream waits forever for task 1",
     "which is not recorded", kEnd},
    {"thread that waits for another", thread_that_waits_for_the_waiting_one,
     "aclrtSynchronizeStream waits forever for task 1", "which is not recorded", kEnd},
};

const Case kDescribedSlowly{"slow description", described_slowly, "aclrtSynchronizeDevice waits forever for task 1",
                            "runs a host function, where aclrtSynchronizeDevice waits for task 1", kCycle};

const Case kOthers[] = {
    {"other thread", other_thread_records, "aclrtSynchronizeStream has waited", "which is not recorded", nullptr},
    {"named thread", named_thread_records, "aclrtSynchronizeStream has waited", "which is not recorded", nullptr},
    {"unknown thread", unknown_thread_records, "aclrtSynchronizeStream has waited", "which is not recorded", nullptr},
    {"thread that has submitted", thread_that_has_submitted_records, "aclrtSynchronizeStream has waited",
     "which is not recorded", nullptr},
    {"ring", ring_without_its_first_token, "aclrtSynchronizeStream has waited", "waits for notify",
     "  which waits for itself, unless something else ends that\n"},
    {"waiting thread", waiting_thread_records, "aclrtSynchronizeStream has waited", "which is not recorded", nullptr},
    {"callback", callback_records, "aclrtSynchronizeStream has waited", "waits for event", nullptr},
    {"stream behind a synchronization", stream_behind_a_synchronization_that_ends, " has waited 200 ms for ",
     "for aclrtSynchronizeDevice of another thread, which waits for task 1", nullptr},
    {"stream behind a limited synchronization", stream_behind_a_limited_synchronization, " has waited 200 ms for ",
     "for aclrtSynchronizeDeviceWithTimeout of another thread, which waits for task 1", nullptr},
    {"hold", hold, "aclrtSynchronizeStream has waited", "is held by aclsimHold", nullptr},
    {"other process", record_of_another_process, "aclrtSynchronizeStream has waited", "of an IPC event", nullptr},
    {"channel", other_thread_sends, "acltdtReceiveTensor has waited", "data in channel numbers", nullptr},
    {"limit", limited_wait_in_a_cycle, "aclrtSynchronizeStream has waited", "waits for event", nullptr},
};

// Environment of a process that checks for deadlocks.
struct Checked {
    const char *directory = nullptr;  // for findings
    const char *end = "exit";
};

// Process of one case. Its standard error is a pipe to this process.
class Child {
  public:
    Child(const Case &tried, const char *stall_ms, bool has_second_thread,
          const std::optional<Checked> &checked = std::nullopt) {
        int errors[2];
        int orders[2];
        CHECK(pipe(errors) == 0 && pipe(orders) == 0);
        process_ = fork();
        CHECK(process_ >= 0);
        if (process_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);  // a deadlocked process must not outlive a failing test
            dup2(errors[1], STDERR_FILENO);
            close(orders[1]);
            setenv("ASCEND_RT_SIM_STALL_MS", stall_ms, 1);
            if (checked) {
                setenv("ASCEND_RT_SIM_CHECK", "deadlocks", 1);
                setenv("ASCEND_RT_SIM_DEADLOCK", checked->end, 1);
            }
            if (checked && checked->directory != nullptr) {
                setenv("ASCEND_RT_SIM_CHECK_DIRECTORY", checked->directory, 1);
            }
            CHECK_OK(aclrtSetDevice(0));
            if (has_second_thread) {
                std::thread([order = orders[0]] {
                    char byte = 0;
                    if (read(order, &byte, 1) == 1 && g_end) {
                        CHECK_OK(aclrtSetDevice(0));
                        g_end();
                    }
                }).detach();
            }
            tried.run();
            _exit(0);
        }
        close(errors[1]);
        close(orders[0]);
        errors_ = errors[0];
        orders_ = orders[1];
    }
    ~Child() {
        close(errors_);
        close(orders_);
    }
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    // Reads standard error until the part appears; returns everything that was read. A text is written at once, so it
    // is complete.
    std::string text_with(const std::string &part) const {
        std::string text;
        while (text.find(part) == std::string::npos) {
            char more[4096];
            const ssize_t size = read(errors_, more, sizeof more);
            if (size <= 0) {
                std::fprintf(stderr, "no \"%s\" in:\n%s", part.c_str(), text.c_str());
                std::abort();
            }
            text.append(more, static_cast<std::size_t>(size));
        }
        return text;
    }
    // Reads standard error until the process ends.
    std::string whole_text() const {
        std::string text;
        char more[4096];
        for (ssize_t size = 0; (size = read(errors_, more, sizeof more)) > 0;) {
            text.append(more, static_cast<std::size_t>(size));
        }
        return text;
    }
    pid_t process() const { return process_; }
    void go_on() const { CHECK(write(orders_, "x", 1) == 1); }
    int end() const {
        int status = 0;
        CHECK(waitpid(process_, &status, 0) == process_);
        return status;
    }
    void kill() const { CHECK(::kill(process_, SIGKILL) == 0); }

  private:
    pid_t process_;
    int errors_ = -1;
    int orders_ = -1;
};

void require_text(const Case &tried, const std::string &text) {
    const bool ends_so = tried.last == nullptr ||
                         (text.size() >= std::strlen(tried.last) &&
                          text.compare(text.size() - std::strlen(tried.last), std::string::npos, tried.last) == 0);
    const bool is_deadlock = text.find("deadlock") != std::string::npos;
    const bool names_it = tried.last != nullptr && std::strstr(tried.last, "deadlock") != nullptr;
    if (text.find(tried.heading) == std::string::npos || text.find(tried.part) == std::string::npos || !ends_so ||
        is_deadlock != names_it) {
        std::fprintf(stderr, "%s: unexpected text:\n%s", tried.name, text.c_str());
        std::abort();
    }
}

// --- with the check: a deadlock ends the process, and each wait has its places ---------------------------------------

std::vector<std::string> lines_of(const std::string &text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

bool begins(const std::string &line, const std::string &beginning) {
    return line.compare(0, beginning.size(), beginning) == 0;
}

// Requires the call and its places behind each wait.
void require_places(const Case &tried, const std::string &text) {
    const auto lines = lines_of(text);
    std::size_t waits = 0;
    for (std::size_t i = 0; i + 2 < lines.size(); ++i) {
        const bool is_stream = begins(lines[i], "  stream ");
        if (!is_stream && !begins(lines[i], "  thread ")) {
            continue;
        }
        ++waits;
        const bool has_place = begins(lines[i + 1], is_stream ? "    submitted by acl" : "    in acl") &&
                               begins(lines[i + 2], "      at ") &&
                               lines[i + 2].find("native_deadlock+0x") != std::string::npos;
        if (!has_place) {
            std::fprintf(stderr, "%s: a wait without a place:\n%s", tried.name, text.c_str());
            std::abort();
        }
    }
    CHECK(waits > 0);
}

void deadlock_ends_the_process(const Case &tried) {
    const Child child(tried, "0", /*has_second_thread=*/false, Checked{});
    const std::string text = child.whole_text();
    require_text(tried, text);
    require_places(tried, text);
    const int status = child.end();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == ACLSIM_EXIT_DEADLOCK);
}

void deadlock_is_a_finding() {
    char directory[] = "/tmp/deadlocks-XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    const Child child(kDeadlocks[0], "0", /*has_second_thread=*/false, Checked{directory});
    CHECK(child.whole_text().empty());
    CHECK(WEXITSTATUS(child.end()) == ACLSIM_EXIT_DEADLOCK);
    const std::string file = std::string(directory) + "/" + std::to_string(child.process()) + ".jsonl";
    std::ostringstream content;
    content << std::ifstream(file).rdbuf();
    const auto lines = lines_of(content.str());
    CHECK(lines.size() == 2);  // without an end
    const aclsim::Json finding = aclsim::parse_json(lines[1], 8);
    CHECK(finding.find("kind")->text == "deadlock" && finding.find("id")->text == "1");
    CHECK(finding.find("text")->text.find("which waits for itself: a deadlock") != std::string::npos);
    const auto &waits = finding.find("waits")->items;
    CHECK(waits.size() == 3);
    CHECK(waits[0].find("agent")->text.find("thread ") == 0 && waits[0].find("task")->text != "1");
    CHECK(waits[0].find("function")->text == "aclrtSynchronizeStream");
    for (std::size_t i = 1; i < waits.size(); ++i) {
        CHECK(waits[i].find("agent")->text.find("stream ") == 0 && waits[i].find("task")->text == "1");
        CHECK(waits[i].find("waits_for")->text.find("event 0x") == 0);
        CHECK(waits[i].find("function")->text == "aclrtStreamWaitEvent");
        CHECK(!waits[i].find("frames")->items.empty());
    }
    CHECK(std::remove(file.c_str()) == 0 && rmdir(directory) == 0);
}

// The waits fail, and the process can do other work afterwards: the streams of the deadlock can be destroyed.
void waits_fail() {
    aclrtStream a = new_stream();
    aclrtStream b = new_stream();
    aclrtEvent x = new_bit_event();
    aclrtEvent y = new_bit_event();
    CHECK_OK(aclrtStreamWaitEvent(a, x));
    CHECK_OK(aclrtRecordEvent(y, a));
    CHECK_OK(aclrtStreamWaitEvent(b, y));
    CHECK_OK(aclrtRecordEvent(x, b));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, aclrtSynchronizeStream(a));
    CHECK(std::strstr(aclGetRecentErrMsg(), "this wait can never end: a deadlock") != nullptr);
    CHECK_OK(aclrtDestroyStream(a));
    CHECK_OK(aclrtDestroyStreamForce(b));
    aclrtStream other = new_stream();
    CHECK_OK(aclrtRecordEvent(new_bit_event(), other));
    CHECK_OK(aclrtSynchronizeStream(other));
}

void full_queue_fails() {
    aclrtStream stream = new_stream();
    CHECK_OK(aclrtStreamWaitEvent(stream, new_bit_event()));
    std::uint8_t unused = 0;
    aclError code = ACL_SUCCESS;
    while (code == ACL_SUCCESS) {
        code = aclrtProfTrace(&unused, 1, stream);
    }
    CHECK(code == ACL_ERROR_RT_PARAM_INVALID);
}

const Case kFailures[] = {
    {"failing waits", waits_fail, " waits forever for task 2", "a deadlock", nullptr},
    {"failing submission", full_queue_fails, "aclrtProfTrace waits forever for task 1", "a deadlock", kEnd},
    {"failing receiver",
     [] {
         acltdtChannelHandle *const channel = acltdtCreateChannelWithCapacity(0, "numbers", 2);
         CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtReceiveTensor(channel, acltdtCreateDataset(), -1));
     },
     "acltdtReceiveTensor waits forever for data", "a deadlock", kEnd},
};

}  // namespace

int main() {
    for (const Case &tried : kDeadlocks) {
        const Child child(tried, kForLong, /*has_second_thread=*/false);
        require_text(tried, child.text_with(tried.part));
        child.kill();
        child.end();
    }
    for (const Case &tried : kOthers) {
        const Child child(tried, kLooks, /*has_second_thread=*/true);
        require_text(tried, child.text_with(tried.part));
        child.go_on();
        CHECK(child.end() == 0);
    }
    for (const Case &tried : kDeadlocks) {
        deadlock_ends_the_process(tried);
    }
    deadlock_ends_the_process(kDescribedSlowly);
    for (const Case &tried : kOthers) {
        const Child child(tried, kLooks, /*has_second_thread=*/true, Checked{});
        require_text(tried, child.text_with(tried.part));
        child.go_on();
        CHECK(child.whole_text().find("deadlock") == std::string::npos);
        CHECK(child.end() == 0);
    }
    for (const Case &tried : kFailures) {
        const Child child(tried, "0", /*has_second_thread=*/false, Checked{nullptr, "fail"});
        const std::string text = child.whole_text();
        CHECK(text.find(tried.heading) != std::string::npos);
        CHECK(text.find(" waits forever ") ==
              text.rfind(" waits forever "));  // reported once, though several waits fail
        CHECK(child.end() == 0);
    }
    deadlock_is_a_finding();
    std::puts("native deadlock: all passed");
    return 0;
}
