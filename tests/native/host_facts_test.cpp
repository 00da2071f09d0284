// SPDX-License-Identifier: Apache-2.0
// Facts about code of the program: its accesses to memory, which belong to a stream if a host function makes them, and
// the order between its threads.
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "cpu_binary.h"
#include "engine/thread.h"
#include "latch.h"
#include "observe.h"

using namespace aclsim;

namespace {

using Name = std::pair<std::uint64_t, std::uint64_t>;  // stream and sequence number of a task

class Facts final : public Observer {
  public:
    Facts() : Observer(kTasks | kHostAccess | kPlaces) {}

    struct Told {
        std::uint32_t thread;
        Name task;
        Access access;
        bool has_place;
    };
    void submitted(const Moment &, const Stream &stream, const Task &task, const Submission &) override {
        newest = {stream.serial, task.sequence};
    }
    void started(const Moment &, const Stream &stream, const Task &task, std::uint32_t thread) override {
        runners[{stream.serial, task.sequence}] = thread;
    }
    void host_accessed(const Moment &, std::uint32_t thread, const Access &access) override {
        const Point task = running_host_function();
        const bool has_place = current_call()->place.kind != CallPlace::Kind::Unknown;
        accesses.push_back({thread, {task.stream, task.sequence}, access, has_place});
    }
    void host_released(const Moment &, std::uint32_t thread, const void *key) override {
        handovers.emplace_back("release", thread, key);
    }
    void host_acquired(const Moment &, std::uint32_t thread, const void *key) override {
        handovers.emplace_back("acquire", thread, key);
    }

    std::vector<Told> accesses;
    std::vector<std::tuple<std::string, std::uint32_t, const void *>> handovers;
    std::map<Name, std::uint32_t> runners;
    Name newest;
};

const Name kNoTask{0, 0};
constexpr std::size_t kSize = 1UL << 20;  // enough for a copy to need a thread

struct Bench {
    Facts facts;
    const Observing observing{facts};
    aclrtStream stream = nullptr;
    char *memory = nullptr;
    Bench() {
        CHECK_OK(aclrtCreateStream(&stream));
        void *block = nullptr;
        CHECK_OK(aclrtMallocHost(&block, kSize));
        memory = static_cast<char *>(block);
    }
    ~Bench() {
        CHECK_OK(aclrtDestroyStream(stream));
        CHECK_OK(aclrtFreeHost(memory));
    }
    Bench(const Bench &) = delete;
    Bench &operator=(const Bench &) = delete;
};

aclError note_read(const void *address, std::uint32_t bytes = 4) {
    const aclsimAccess access{address, ACLSIM_ACCESS_READ, bytes, 0, nullptr, nullptr, "element"};
    return aclsimNoteHostAccess(&access);
}

void an_access_has_its_bytes_its_thread_and_its_place() {
    Bench it;
    CHECK(aclsimWantsHostAccesses() == 1);
    const std::int64_t shape[] = {3, 2};
    const std::int64_t strides[] = {64, 4};
    const aclsimAccess column{it.memory + 8, ACLSIM_ACCESS_WRITE, 4, 2, shape, strides, "out"};
    CHECK_OK(aclsimNoteHostAccess(&column));
    CHECK(it.facts.accesses.size() == 1);
    const Facts::Told &reported = it.facts.accesses[0];
    CHECK(reported.thread == thread_number() && reported.task == kNoTask && reported.has_place);
    CHECK(reported.access.address == it.memory + 8 && reported.access.size == 2 * 64 + 8);
    CHECK(reported.access.mode == AccessMode::Write && reported.access.name == std::string("out"));
    CHECK(reported.access.layout.width == 8 && reported.access.layout.repetitions[0] == (Repetition{3, 64}));

    const std::int64_t none[] = {0};
    const aclsimAccess empty{it.memory, ACLSIM_ACCESS_READ, 4, 1, none, nullptr, nullptr};
    CHECK_OK(aclsimNoteHostAccess(&empty));
    CHECK(it.facts.accesses.size() == 1);
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimNoteHostAccess(nullptr));
    const aclsimAccess shapeless{it.memory, ACLSIM_ACCESS_READ, 4, 1, nullptr, nullptr, nullptr};
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimNoteHostAccess(&shapeless));
}

void an_access_of_a_host_function_is_its_tasks() {
    Bench it;
    CHECK_OK(aclrtLaunchHostFunc(it.stream, [](void *memory) { CHECK_OK(note_read(memory)); }, it.memory));
    const Name function = it.facts.newest;
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK_OK(note_read(it.memory));
    CHECK(it.facts.accesses.size() == 2);
    CHECK(it.facts.accesses[0].task == function);
    CHECK(it.facts.accesses[0].thread == it.facts.runners.at(function) && it.facts.accesses[0].thread != 0);
    CHECK(it.facts.accesses[1].task == kNoTask);  // the thread that synchronized is the host again
}

// Kernel whose blocks note an access; a thread that synchronizes runs it itself.
aclError touch(const aclsimKernelBlock *, void *memory) { return note_read(memory); }

void the_accesses_of_kernels_are_not_noted() {
    Bench it;
    const aclrtBinHandle binary = load_cpu_binary();
    aclrtFuncHandle function = nullptr;
    CHECK_OK(aclrtRegisterCpuFunc(binary, "touch", "touch", &function));
    const aclsimKernel kernel{touch, it.memory, nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel("touch", &kernel));
    std::uint64_t argument = 0;
    for (const std::uint32_t blocks : {1U, 64U}) {
        CHECK_OK(aclrtLaunchKernelWithHostArgs(function, blocks, it.stream, nullptr, &argument, sizeof argument,
                                               nullptr, 0));
        CHECK_OK(aclrtSynchronizeStream(it.stream));
    }
    CHECK(it.facts.accesses.empty());
    CHECK_OK(aclsimUnregisterKernel("touch"));
}

// Host function that synchronizes another stream, and so may run tasks of that stream itself.
struct Nested {
    aclrtStream other;
    char *memory;
    void *device;
    aclrtContext context;
    Latch may_submit;
    static void run(void *self) {
        auto &it = *static_cast<Nested *>(self);
        CHECK(it.may_submit.opens());
        CHECK_OK(aclrtSetCurrentContext(it.context));
        CHECK_OK(note_read(it.memory));
        CHECK_OK(aclrtMemcpyAsync(it.device, kSize, it.memory, kSize, ACL_MEMCPY_HOST_TO_DEVICE, it.other));
        CHECK_OK(aclrtSynchronizeStream(it.other));
        CHECK_OK(note_read(it.memory));
    }
};

void a_host_function_stays_itself_after_it_has_waited() {
    Bench it;
    aclrtStream other = nullptr;
    CHECK_OK(aclrtCreateStream(&other));
    Nested nested{other, it.memory, nullptr, nullptr, {}};
    CHECK_OK(aclrtMalloc(&nested.device, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtGetCurrentContext(&nested.context));
    CHECK_OK(aclrtLaunchHostFunc(it.stream, Nested::run, &nested));
    const Name function = it.facts.newest;
    nested.may_submit.open();
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK(it.facts.accesses.size() == 2);
    CHECK(it.facts.accesses[0].task == function && it.facts.accesses[1].task == function);
    CHECK_OK(aclrtDestroyStream(other));
    CHECK_OK(aclrtFree(nested.device));
}

void threads_hand_over_what_they_know() {
    Bench it;
    int key = 0;
    CHECK_OK(aclsimNoteHostRelease(&key));
    std::uint32_t other = 0;
    std::thread([&] {
        other = thread_number();
        CHECK_OK(aclsimNoteHostAcquire(&key));
    }).join();
    const decltype(it.facts.handovers) expected{{"release", thread_number(), &key}, {"acquire", other, &key}};
    CHECK(it.facts.handovers == expected && other != thread_number());
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimNoteHostRelease(nullptr));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclsimNoteHostAcquire(nullptr));
}

void nothing_is_noted_unless_it_is_wanted() {
    CHECK(aclsimWantsHostAccesses() == 0);
    int memory = 0;
    CHECK_OK(note_read(&memory));
    CHECK_OK(aclsimNoteHostRelease(&memory));
    CHECK_OK(aclsimNoteHostAcquire(&memory));
}

}  // namespace

int main() {
    const Watchdog watchdog("host_facts", kLongEnough * 3);
    CHECK_OK(aclrtSetDevice(0));
    nothing_is_noted_unless_it_is_wanted();
    an_access_has_its_bytes_its_thread_and_its_place();
    an_access_of_a_host_function_is_its_tasks();
    the_accesses_of_kernels_are_not_noted();
    a_host_function_stays_itself_after_it_has_waited();
    threads_hand_over_what_they_know();
    nothing_is_noted_unless_it_is_wanted();
    CHECK_OK(aclrtResetDevice(0));
    std::puts("native host_facts: all passed");
    return 0;
}
