// SPDX-License-Identifier: Apache-2.0
// Plain loads and stores of pinned memory that a task uses are facts, and the program goes on as without the check.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "cpu_binary.h"
#include "engine/thread.h"
#include "latch.h"
#include "memory/heap.h"
#include "observe.h"
#include "support/pages.h"
#include "support/text.h"

using namespace aclsim;

namespace {

constexpr std::size_t kSize = 65536;  // whole pages on every host

class Facts final : public Observer {
  public:
    Facts() : Observer(kTasks | kHostAccess | kPlaces) {}
    struct Told {
        const void *address;
        std::uint64_t size;
        AccessMode mode;
        std::uint64_t stream;
        bool has_place;
    };
    void ended(const Moment &, const Stream &, const Task &, std::uint32_t) override { ++ends; }
    void host_accessed(const Moment &, std::uint32_t thread, const Access &it) override {
        CHECK(thread == thread_number());
        const bool has_place = current_call()->place.kind != CallPlace::Kind::Unknown;
        reported.push_back({it.address, it.size, it.mode, running_host_function().stream, has_place});
    }
    std::vector<Told> reported;
    std::atomic<int> ends{0};
};

struct Bench {
    Facts facts;
    const Observing observing{facts};
    aclrtStream stream = nullptr;
    aclrtStream other = nullptr;
    volatile char *pinned = nullptr;
    void *device = nullptr;
    Bench() {
        CHECK_OK(aclrtCreateStream(&stream));
        CHECK_OK(aclrtCreateStream(&other));
        void *block = nullptr;
        CHECK_OK(aclrtMallocHost(&block, kSize));
        std::memset(block, 1, kSize);
        pinned = static_cast<char *>(block);
        CHECK_OK(aclrtMalloc(&device, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(facts.reported.empty());
    }
    ~Bench() {
        CHECK_OK(aclrtDestroyStream(stream));
        CHECK_OK(aclrtDestroyStream(other));
        CHECK_OK(aclrtFreeHost(block()));
        CHECK_OK(aclrtFree(device));
    }
    Bench(const Bench &) = delete;
    Bench &operator=(const Bench &) = delete;

    void *block() const { return const_cast<char *>(pinned); }
    void send(std::size_t size = kSize) const {
        CHECK_OK(aclrtMemcpyAsync(device, kSize, block(), size, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    void receive() const {
        CHECK_OK(aclrtMemcpyAsync(block(), kSize, device, kSize, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    }
    bool reported(std::size_t at, const volatile char *address, AccessMode mode) const {
        const Facts::Told &it = facts.reported.at(at);
        return it.address == address && it.size == 1 && it.mode == mode && it.has_place;
    }
};

void a_store_to_memory_that_a_task_reads_is_reported() {
    Bench it;
    CHECK(aclsimHold(1) == 0);
    it.send();
    CHECK(it.pinned[5] == 1 && it.facts.reported.empty());  // both read
    it.pinned[5] = 2;
    CHECK(it.facts.reported.size() == 1 && it.reported(0, it.pinned + 5, AccessMode::Write) && it.pinned[5] == 2);
    it.pinned[6] = 2;  // the page is open until the next call that changes something
    CHECK(it.facts.reported.size() == 1);
    it.send();
    it.pinned[6] = 3;
    CHECK(it.facts.reported.size() == 2 && it.reported(1, it.pinned + 6, AccessMode::Write));
    CHECK(aclsimHold(0) == 0);
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    it.pinned[7] = 4;
    CHECK(it.facts.reported.size() == 2);
}

void a_load_of_memory_that_a_task_writes_is_reported_although_the_task_has_ended() {
    Bench it;
    CHECK_OK(aclrtMemset(it.device, kSize, 9, kSize));
    const int ends = it.facts.ends;
    it.receive();
    while (it.facts.ends == ends) {
        std::this_thread::yield();
    }
    CHECK(it.pinned[kSize - 1] == 9);
    CHECK(it.facts.reported.size() == 1 && it.reported(0, it.pinned + kSize - 1, AccessMode::Read));
    it.pinned[kSize - 2] = 3;  // a page that was opened for loads is not open for stores
    CHECK(it.facts.reported.size() == 2 && it.reported(1, it.pinned + kSize - 2, AccessMode::Write));
    CHECK(it.pinned[kSize - 2] == 3);
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK(it.pinned[0] == 9 && it.facts.reported.size() == 2);
}

void a_record_in_an_idle_stream_closes_an_opened_page() {
    Bench it;
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK(aclsimHold(1) == 0);
    it.send();
    it.pinned[5] = 2;
    CHECK(aclsimHold(0) == 0);
    while (it.facts.ends == 0) {
        std::this_thread::yield();
    }
    it.pinned[6] = 2;
    CHECK(it.facts.reported.size() == 1);
    CHECK_OK(aclrtRecordEvent(event, it.other));
    it.pinned[6] = 3;
    CHECK(it.facts.reported.size() == 2 && it.reported(1, it.pinned + 6, AccessMode::Write));
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK_OK(aclrtDestroyEvent(event));
}

void the_host_learns_through_other_streams() {
    Bench it;
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_OK(aclsimHold(1));  // else the record may be complete, and the wait no task
    it.receive();
    CHECK_OK(aclrtRecordEvent(event, it.stream));
    CHECK_OK(aclrtStreamWaitEvent(it.other, event));
    CHECK_OK(aclsimHold(0));
    CHECK_OK(aclrtSynchronizeStream(it.other));
    it.pinned[0] = 1;
    CHECK(it.facts.reported.empty());
    it.receive();  // behind the record
    CHECK_OK(aclrtSynchronizeEvent(event));
    it.pinned[0] = 2;
    CHECK(it.facts.reported.size() == 1);
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK_OK(aclrtDestroyEvent(event));
}

void bytes_beside_those_of_a_task_are_free() {
    Bench it;
    const std::size_t part = kSize / 2 - 8;
    it.send(part);
    it.pinned[part] = 1;
    it.pinned[part + 8] = 1;
    CHECK(it.facts.reported.empty());
    it.pinned[0] = 1;
    CHECK(it.facts.reported.size() == 1);
    CHECK_OK(aclrtSynchronizeStream(it.stream));
}

void parts_that_fill_a_page_protect_it_together() {
    Bench it;
    void *block = nullptr;
    CHECK_OK(aclrtMallocHost(&block, 64));
    auto *const bytes = static_cast<volatile char *>(block);
    const auto receive = [&](std::size_t begin, std::size_t size) {
        void *const part = static_cast<char *>(block) + begin;
        CHECK_OK(aclrtMemcpyAsync(part, size, it.device, size, ACL_MEMCPY_DEVICE_TO_HOST, it.stream));
    };
    receive(24, 40);
    bytes[0] = 1;
    CHECK(it.facts.reported.empty());  // the program may use the first bytes
    receive(0, 24);
    bytes[0] = 1;
    CHECK(it.facts.reported.size() == 1 && it.reported(0, bytes, AccessMode::Write));
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    bytes[0] = 1;
    CHECK(it.facts.reported.size() == 1);
    CHECK_OK(aclrtFreeHost(block));
}

void bytes_beyond_what_an_allocator_gives_out_are_not_the_programs() {
    Bench it;
    void *block = nullptr;
    CHECK_OK(aclrtMallocHost(&block, 64));
    CHECK_OK(aclsimNoteGivenOut(block, 40));
    CHECK_OK(aclrtMemcpyAsync(it.device, 40, block, 40, ACL_MEMCPY_HOST_TO_DEVICE, it.stream));
    *static_cast<volatile char *>(block) = 1;
    CHECK(it.facts.reported.size() == 1);
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK_OK(aclrtFreeHost(block));
}

void a_small_block_has_its_own_page() {
    Bench it;
    void *first = nullptr;
    void *second = nullptr;
    CHECK_OK(aclrtMallocHost(&first, 64));
    CHECK_OK(aclrtMallocHost(&second, 64));
    CHECK_OK(aclrtMemcpyAsync(it.device, 64, first, 64, ACL_MEMCPY_HOST_TO_DEVICE, it.stream));
    *static_cast<volatile char *>(second) = 1;
    CHECK(it.facts.reported.empty());
    *static_cast<volatile char *>(first) = 1;
    CHECK(it.facts.reported.size() == 1);
    CHECK_OK(aclrtFreeHost(first));  // although a task uses it: the protection goes with it
    CHECK_OK(aclrtMallocHost(&first, 64));
    *static_cast<volatile char *>(first) = 1;
    CHECK(it.facts.reported.size() == 1);
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK_OK(aclrtFreeHost(first));
    CHECK_OK(aclrtFreeHost(second));
}

void an_access_that_the_program_notes_is_not_reported_twice() {
    Bench it;
    it.receive();
    const aclsimAccess access{it.block(), ACLSIM_ACCESS_WRITE, kSize, 0, nullptr, nullptr, nullptr};
    CHECK_OK(aclsimNoteHostAccess(&access));
    std::memset(it.block(), 1, kSize);
    CHECK(it.facts.reported.size() == 1 && it.facts.reported[0].size == kSize);
    it.receive();
    it.pinned[0] = 1;
    CHECK(it.facts.reported.size() == 2);
    CHECK_OK(aclrtSynchronizeStream(it.stream));
}

aclError read_operand(const aclsimKernelBlock *, void *pinned) {
    return *static_cast<const volatile char *>(pinned) < 0 ? ACL_ERROR_RT_INTERNAL_ERROR : ACL_SUCCESS;
}

void kernels_are_not_reported() {
    Bench it;
    const aclrtBinHandle binary = load_cpu_binary();
    aclrtFuncHandle function = nullptr;
    CHECK_OK(aclrtRegisterCpuFunc(binary, "read_operand", "read_operand", &function));
    const aclsimKernel kernel{read_operand, it.block(), nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel("read_operand", &kernel));
    it.receive();
    std::uint64_t argument = 0;
    CHECK_OK(aclrtLaunchKernelWithHostArgs(function, 1, it.stream, nullptr, &argument, sizeof argument, nullptr, 0));
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK(it.facts.reported.empty());
    CHECK_OK(aclsimUnregisterKernel("read_operand"));
}

// Host function that passes memory of the task before it to a system call.
struct Saving {
    void *memory;
    int file;
    static void run(void *self) {
        const auto &it = *static_cast<Saving *>(self);
        CHECK(write(it.file, it.memory, kSize) == static_cast<ssize_t>(kSize));
    }
};

void a_host_function_may_use_memory_of_earlier_tasks_in_system_calls() {
    Bench it;
    Saving saving{it.block(), open("/dev/null", O_WRONLY)};
    it.receive();
    CHECK_OK(aclrtLaunchHostFunc(it.stream, Saving::run, &saving));
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK(it.facts.reported.empty() && close(saving.file) == 0);
}

void a_host_function_is_reported_as_its_stream() {
    Bench it;
    it.receive();
    CHECK_OK(aclrtLaunchHostFunc(it.other, [](void *to) { *static_cast<volatile char *>(to) = 1; }, it.block()));
    CHECK_OK(aclrtSynchronizeStream(it.other));
    CHECK(it.facts.reported.size() == 1 && it.facts.reported[0].stream != 0);
    CHECK_OK(aclrtSynchronizeStream(it.stream));
}

// The first hundred uses at a place are watched, and then a sample, which is the same in each run.
void of_many_uses_at_a_place_a_sample_is_watched() {
    Bench it;
    for (int i = 0; i < 11000; ++i) {
        it.receive();
        (void)it.pinned[0];
        CHECK_OK(aclrtSynchronizeStream(it.stream));
        CHECK(it.facts.reported.size() == static_cast<std::size_t>(i) + 1 || i >= 100);
    }
    const std::size_t count = it.facts.reported.size();
    CHECK(count > 120 && count < 180);
    it.receive();  // another place
    (void)it.pinned[0];
    CHECK(it.facts.reported.size() == count + 1);
    CHECK_OK(aclrtSynchronizeStream(it.stream));
}

void a_sample_of_replays_is_watched() {
    Bench it;
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureBegin(it.stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    it.receive();
    CHECK_OK(aclmdlRICaptureEnd(it.stream, &graph));
    for (int i = 0; i < 3000; ++i) {
        CHECK_OK(aclmdlRIExecuteAsync(graph, it.stream));
        (void)it.pinned[0];
        CHECK_OK(aclrtSynchronizeStream(it.stream));
    }
    CHECK(it.facts.reported.size() > 100 && it.facts.reported.size() < 200);
    CHECK_OK(aclmdlRIDestroy(graph));
}

// Returns the KiB of shared memory that the process has in large pages.
std::uint64_t large_kib() {
    std::ifstream maps("/proc/self/smaps");
    std::uint64_t sum = 0;
    for (std::string word; maps >> word;) {
        std::uint64_t kib = 0;
        if (word == "ShmemPmdMapped:" && maps >> kib) {
            sum += kib;
        }
    }
    return sum;
}

bool has_large_pages() {
    const int file = memfd_create("probe", 0);
    CHECK(ftruncate(file, kLargePage) == 0);
    const Addresses room = owned_addresses(2 * kLargePage);
    auto *const aligned = reinterpret_cast<void *>(round_up(as_integer(room.get()), kLargePage));
    CHECK(mmap(aligned, kLargePage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == aligned);
    const std::uint64_t before = large_kib();
    make_large_page(aligned);
    close(file);
    return large_kib() > before;
}

void memory_of_large_copies_has_large_pages() {
    if (!has_large_pages()) {
        return;
    }
    constexpr std::uint64_t kCopied = 5 * kLargePage / 2;
    const std::uint64_t before = large_kib();
    for (int round = 0; round < 2; ++round) {  // new pages are small again
        Bench it;
        void *pinned = nullptr;
        void *device = nullptr;
        CHECK_OK(aclrtMallocHost(&pinned, kCopied));
        CHECK_OK(aclrtMalloc(&device, kCopied, ACL_MEM_MALLOC_HUGE_FIRST));
        std::vector<char> content(kCopied);
        for (std::size_t i = 0; i < kCopied; ++i) {
            content[i] = static_cast<char>(i * 7 + i / 4096);
        }
        std::memcpy(pinned, content.data(), kCopied);
        while (large_kib() != before) {  // pages of freed memory return to the host in the background
            std::this_thread::yield();
        }
        CHECK_OK(aclrtMemcpyAsync(device, kCopied, pinned, kCopied, ACL_MEMCPY_HOST_TO_DEVICE, it.stream));
        CHECK_OK(aclrtSynchronizeStream(it.stream));
        CHECK(large_kib() > before);
        CHECK(std::memcmp(pinned, content.data(), kCopied) == 0);
        std::memset(pinned, 0, kCopied);
        CHECK_OK(aclrtMemcpyAsync(pinned, kCopied, device, kCopied, ACL_MEMCPY_DEVICE_TO_HOST, it.stream));
        CHECK_OK(aclrtSynchronizeStream(it.stream));
        CHECK(std::memcmp(pinned, content.data(), kCopied) == 0);
        CHECK_OK(aclrtFree(device));
        CHECK_OK(aclrtFreeHost(pinned));
    }
}

void system_calls_work_once_the_host_knows() {
    Bench it;
    const int file = open("/dev/zero", O_RDONLY);
    it.receive();
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK(read(file, it.block(), kSize) == static_cast<ssize_t>(kSize));
    it.send();
    const int sink = open("/dev/null", O_WRONLY);
    CHECK(write(sink, it.block(), kSize) == static_cast<ssize_t>(kSize));  // both read
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK(it.facts.reported.empty() && close(file) == 0 && close(sink) == 0);
}

sigjmp_buf g_after_fault;
int g_foreign_faults = 0;

// Handler of the program for its own protected page.
void on_foreign_fault(int) {
    ++g_foreign_faults;
    siglongjmp(g_after_fault, 1);
}

void other_handlers_get_other_faults() {
    Bench it;
    void *const page = mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    it.send();  // the check's handler is installed
    struct sigaction own = {};
    own.sa_handler = on_foreign_fault;
    own.sa_flags = SA_NODEFER;
    struct sigaction former = {};
    CHECK(sigaction(SIGSEGV, &own, &former) == 0);
    it.send();  // and again
    if (sigsetjmp(g_after_fault, 1) == 0) {
        *static_cast<volatile char *>(page) = 1;
    }
    CHECK(g_foreign_faults == 1);
    it.pinned[0] = 2;
    CHECK(it.facts.reported.size() == 1 && it.pinned[0] == 2);
    CHECK_OK(aclrtSynchronizeStream(it.stream));
    CHECK(sigaction(SIGSEGV, &former, nullptr) == 0);
    CHECK(munmap(page, kSize) == 0);
}

void a_thread_with_a_small_signal_stack_may_fault() {
    Bench it;
    it.send();
    std::thread([&] {
        alignas(64) static std::array<char, 16384> memory;
        stack_t stack = {};
        stack.ss_sp = memory.data();
        stack.ss_size = memory.size();
        CHECK(sigaltstack(&stack, nullptr) == 0);
        it.pinned[0] = 1;
        stack.ss_flags = SS_DISABLE;
        CHECK(sigaltstack(&stack, nullptr) == 0);
    }).join();
    CHECK(it.facts.reported.size() == 1);
    CHECK_OK(aclrtSynchronizeStream(it.stream));
}

// Runs the function in a forked child; returns its status.
template <class Run>
int in_fork(Run run) {
    const pid_t child = fork();
    if (child == 0) {
        run();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

void a_forked_child_has_its_own_copy() {
    Bench it;
    it.pinned[1] = 7;
    it.send();
    const int status = in_fork([&] {
        if (it.pinned[1] != 7) {
            _exit(1);
        }
        it.pinned[1] = 8;
        _exit(it.pinned[1] == 8 ? 0 : 2);
    });
    CHECK(status == 0 && it.pinned[1] == 7);
    CHECK(it.facts.reported.empty());
    CHECK_OK(aclrtSynchronizeStream(it.stream));
}

void a_fault_without_a_handler_ends_the_process() {
    Bench it;
    it.send();
    const int status = in_fork([] { *reinterpret_cast<volatile char *>(std::uintptr_t{64}) = 1; });
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    CHECK(status != 0);  // ended by the handler of the sanitizer
#else
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
#endif
    CHECK_OK(aclrtSynchronizeStream(it.stream));
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_CHECK", "races", 1);
    CHECK_OK(aclrtSetDevice(0));
    a_store_to_memory_that_a_task_reads_is_reported();
    a_record_in_an_idle_stream_closes_an_opened_page();
    a_load_of_memory_that_a_task_writes_is_reported_although_the_task_has_ended();
    the_host_learns_through_other_streams();
    bytes_beside_those_of_a_task_are_free();
    parts_that_fill_a_page_protect_it_together();
    bytes_beyond_what_an_allocator_gives_out_are_not_the_programs();
    a_small_block_has_its_own_page();
    an_access_that_the_program_notes_is_not_reported_twice();
    kernels_are_not_reported();
    a_host_function_may_use_memory_of_earlier_tasks_in_system_calls();
    a_host_function_is_reported_as_its_stream();
    of_many_uses_at_a_place_a_sample_is_watched();
    a_sample_of_replays_is_watched();
    memory_of_large_copies_has_large_pages();
    system_calls_work_once_the_host_knows();
    other_handlers_get_other_faults();
    a_thread_with_a_small_signal_stack_may_fault();
    a_forked_child_has_its_own_copy();
    a_fault_without_a_handler_ends_the_process();
    CHECK_OK(aclrtResetDevice(0));
    std::puts("native pinned_guard: all passed");
    return 0;
}
