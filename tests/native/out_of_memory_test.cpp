// SPDX-License-Identifier: Apache-2.0
// Calls of streams, events, notifies, contexts and memory on a host without memory.
#include "out_of_memory.h"

#include <filesystem>

#include "abi/aclsim_refusal.h"

namespace {

aclrtNotify g_notify = nullptr;
aclrtMemPool g_pool = nullptr;
char g_key[65];
std::string g_directory;
aclrtStream g_fresh = nullptr;

aclrtPhysicalMemProp device_memory() {
    aclrtPhysicalMemProp properties{};
    properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    properties.memAttr = ACL_HBM_MEM_HUGE;
    return properties;
}

const char kSymbol = 0;  // is the symbol of a variable of a device program
aclError allocate_managed() { return aclrtMemAllocManaged(&g_made, kSize, ACL_RT_MEM_ATTACH_GLOBAL); }

// --- channels -------------------------------------------------------------------------------------------------------

acltdtChannelHandle *g_channel = nullptr;
acltdtDataset *g_sent = nullptr, *g_received = nullptr;
acltdtDataItem *g_item = nullptr;

void prepare_channel() {
    static std::int64_t count = 4096;
    static char data[4096];
    g_channel = acltdtCreateChannelWithCapacity(0, "without memory", 2);
    g_sent = acltdtCreateDataset();
    g_received = acltdtCreateDataset();
    g_item = acltdtCreateDataItem(ACL_TENSOR_DATA_TENSOR, &count, 1, ACL_INT8, data, sizeof data);
    CHECK_OK(acltdtAddDataItem(g_sent, g_item));
    CHECK_OK(acltdtSendTensor(g_channel, g_sent, 0));
}

std::size_t messages() {
    std::size_t count = 0;
    CHECK_OK(acltdtQueryChannelSize(g_channel, &count));
    return count;
}

void end_channel() {
    CHECK_OK(acltdtDestroyChannel(g_channel));
    CHECK_OK(acltdtDestroyDataset(g_sent));
    CHECK_OK(acltdtDestroyDataset(g_received));
    CHECK_OK(acltdtDestroyDataItem(g_item));
}

void test_channel(aclError (*call)(), std::size_t messages_after) {
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        prepare_channel();
        Shortage shortage(n, /*on_any_thread=*/false);
        const aclError code = call();
        has_failed = shortage.end();
        CHECK(code == ACL_SUCCESS || (has_failed && code == ACL_ERROR_RT_MEMORY_ALLOCATION));
        CHECK(messages() == (code == ACL_SUCCESS ? messages_after : 1));  // nothing is lost
        CHECK(acltdtGetDatasetSize(g_received) == (code == ACL_SUCCESS && messages_after == 0 ? 1 : 0));
        end_channel();
    }
}

void a_channel_loses_nothing_without_memory() {
    test_channel([] { return acltdtSendTensor(g_channel, g_sent, -1); }, 2);
    test_channel([] { return acltdtReceiveTensor(g_channel, g_received, -1); }, 0);
}

// Submits an operation whose data belong to the task, or to the caller if the call fails.
aclError submit_operation(aclrtStream stream) {
    aclsimOperation operation{};
    auto *const data = new (std::nothrow) int(7);
    if (data == nullptr) {
        return aclsimRefuse("submit_operation", ACL_ERROR_RT_MEMORY_ALLOCATION, "no memory for the data");
    }
    const aclsimAccess access{g_memory, ACLSIM_ACCESS_READ, 64, 0, nullptr, nullptr, "data"};
    operation.name = "operation";
    operation.accesses = &access;
    operation.accessCount = 1;
    operation.userData = data;
    operation.begin = [](void *given, std::uint64_t execution) {
        CHECK(*static_cast<int *>(given) == 7);
        CHECK_OK(aclsimEndOperation(execution, ACL_SUCCESS, "a text"));
    };
    operation.release = [](void *given) { delete static_cast<int *>(given); };
    const aclError code = aclsimSubmitOperation(stream, &operation);
    if (code != ACL_SUCCESS) {
        CHECK(*data == 7);
        delete data;
    }
    return code;
}

const Case kCases[] = {
    {"aclrtCreateStream", no_preparation, [] { return aclrtCreateStream(&g_made); },
     [] { CHECK_OK(aclrtDestroyStream(g_made)); }},
    {"aclrtCreateEvent", no_preparation, [] { return aclrtCreateEvent(&g_made); },
     [] { CHECK_OK(aclrtDestroyEvent(g_made)); }},
    {"aclrtCreateNotify", no_preparation, [] { return aclrtCreateNotify(&g_made, 0); },
     [] { CHECK_OK(aclrtDestroyNotify(g_made)); }},
    {"aclrtCreateContext", no_preparation, [] { return aclrtCreateContext(&g_made, 0); },
     [] {
         CHECK_OK(aclrtDestroyContext(g_made));
         CHECK_OK(aclrtSetCurrentContext(g_context));
     }},
    {"aclrtSetDevice", no_preparation, [] { return aclrtSetDevice(1); },
     [] {
         CHECK_OK(aclrtResetDevice(1));
         CHECK_OK(aclrtSetCurrentContext(g_context));
     }},
    {"aclrtMalloc", no_preparation, [] { return aclrtMalloc(&g_made, kSize, ACL_MEM_MALLOC_HUGE_FIRST); },
     [] { CHECK_OK(aclrtFree(g_made)); }},
    {"aclrtMalloc, small", no_preparation, [] { return aclrtMalloc(&g_made, 4096, ACL_MEM_MALLOC_HUGE_FIRST); },
     [] { CHECK_OK(aclrtFree(g_made)); }},
    {"aclrtMallocHost", no_preparation, [] { return aclrtMallocHost(&g_made, kSize); },
     [] { CHECK_OK(aclrtFreeHost(g_made)); }},
    {"aclrtFree", [] { CHECK_OK(aclrtMalloc(&g_made, kSize, ACL_MEM_MALLOC_HUGE_FIRST)); },
     [] { return aclrtFree(g_made); }, no_preparation, true},
    {"aclrtFreeHost", [] { CHECK_OK(aclrtMallocHost(&g_made, kSize)); }, [] { return aclrtFreeHost(g_made); },
     no_preparation, true},
    {"aclrtLaunchHostFunc", hold, [] { return aclrtLaunchHostFunc(g_busy, nothing, nullptr); }, release},
    {"aclrtLaunchHostFunc, idle", no_preparation, [] { return aclrtLaunchHostFunc(g_other, nothing, nullptr); },
     no_preparation},
    {"aclsimSubmitOperation", hold, [] { return submit_operation(g_busy); }, release},
    {"aclsimSubmitOperation, idle", no_preparation, [] { return submit_operation(g_other); }, no_preparation},
    {"aclrtRecordEvent", hold, [] { return aclrtRecordEvent(g_event, g_busy); }, release},
    {"aclrtStreamWaitEvent",
     [] {
         hold();
         CHECK_OK(aclrtRecordEvent(g_event, g_busy));
     },
     [] { return aclrtStreamWaitEvent(g_other, g_event); }, release},
    {"aclrtStreamWaitEventWithTimeout",
     [] {
         hold();
         CHECK_OK(aclrtRecordEvent(g_event, g_busy));
     },
     [] { return aclrtStreamWaitEventWithTimeout(g_other, g_event, 100); }, release},
    {"aclrtMemcpyAsync", no_preparation,
     [] { return aclrtMemcpyAsync(g_memory, 1 << 20, g_host, 1 << 20, ACL_MEMCPY_HOST_TO_DEVICE, g_other); },
     no_preparation},
    {"aclrtMemcpy", no_preparation,
     [] { return aclrtMemcpy(g_memory, 1 << 20, g_host, 1 << 20, ACL_MEMCPY_HOST_TO_DEVICE); }, no_preparation},
    {"aclrtMemset", no_preparation, [] { return aclrtMemset(g_memory, 1 << 20, 0, 1 << 20); }, no_preparation},
    {"aclrtMemsetAsync", hold, [] { return aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_busy); }, release},
    {"aclrtSynchronizeStream", [] { CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other)); },
     [] { return aclrtSynchronizeStream(g_other); }, no_preparation},
    {"aclrtSynchronizeStreamWithTimeout", [] { CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other)); },
     [] { return aclrtSynchronizeStreamWithTimeout(g_other, kLongest_ms); }, no_preparation},
    {"aclrtSynchronizeDevice", [] { CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other)); },
     [] { return aclrtSynchronizeDevice(); }, no_preparation},
    {"aclrtSynchronizeEvent",
     [] {
         CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other));
         CHECK_OK(aclrtRecordEvent(g_event, g_other));
     },
     [] { return aclrtSynchronizeEvent(g_event); }, no_preparation},
    {"aclrtWaitAndResetNotify", hold, [] { return aclrtWaitAndResetNotify(g_notify, g_busy, 1000); },
     [] {
         CHECK_OK(aclrtRecordNotify(g_notify, g_other));
         release();
     }},
    {"aclrtRecordNotify", no_preparation, [] { return aclrtRecordNotify(g_notify, g_other); },
     [] { CHECK_OK(aclrtWaitAndResetNotify(g_notify, g_other, 1000)); }},
    {"aclrtDestroyStream", [] { CHECK_OK(aclrtCreateStream(&g_made)); }, [] { return aclrtDestroyStream(g_made); },
     no_preparation, true},
    {"aclrtDestroyStream, busy",
     [] {
         CHECK_OK(aclrtCreateStream(&g_made));
         keep_busy(g_made);
         CHECK_OK(aclrtRecordEvent(g_event, g_made));
         CHECK_OK(aclrtStreamWaitEvent(g_other, g_event));
     },
     [] { return aclrtDestroyStream(g_made); }, no_preparation, true},
    {"aclrtDestroyStreamForce, busy",
     [] {
         CHECK_OK(aclrtCreateStream(&g_made));
         keep_busy(g_made);
     },
     [] { return aclrtDestroyStreamForce(g_made); }, no_preparation, true},
    {"aclrtDestroyEvent", [] { CHECK_OK(aclrtCreateEvent(&g_made)); }, [] { return aclrtDestroyEvent(g_made); },
     no_preparation, true},
    {"aclrtDestroyContext",
     [] {
         CHECK_OK(aclrtCreateContext(&g_made, 0));
         CHECK_OK(aclrtSetCurrentContext(g_context));
     },
     [] { return aclrtDestroyContext(g_made); }, no_preparation, true},
    {"aclrtDestroyContext, busy",
     [] {
         CHECK_OK(aclrtCreateContext(&g_made, 0));
         const aclrtStream stream = new_stream();
         keep_busy(stream);
         CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, stream));
         CHECK_OK(aclrtSetCurrentContext(g_context));
     },
     [] { return aclrtDestroyContext(g_made); }, no_preparation, true},
    {"aclrtStreamAbort", [] { CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other)); },
     [] { return aclrtStreamAbort(g_other); }, no_preparation},
    {"aclrtStreamAbort, busy",
     [] {
         keep_busy(g_other);
         CHECK_OK(aclrtMemsetAsync(g_memory, 1 << 20, 0, 1 << 20, g_other));
     },
     [] { return aclrtStreamAbort(g_other); }, no_preparation},
    {"aclrtDeviceTaskAbort", no_preparation, [] { return aclrtDeviceTaskAbort(0, 1000); }, no_preparation},
    {"pool", no_preparation,
     [] {
         const aclError code = aclrtMemPoolMallocAsync(&g_made, 1 << 20, g_pool, g_other);
         const aclError freed = code == ACL_SUCCESS ? aclrtMemPoolFreeAsync(g_made, g_other) : ACL_SUCCESS;
         if (freed != ACL_SUCCESS) {
             CHECK_OK(aclrtMemPoolFreeAsync(g_made, g_other));
         }
         return code != ACL_SUCCESS ? code : freed;
     },
     no_preparation},
    {"aclrtNotifyGetExportKey", [] { CHECK_OK(aclrtCreateNotify(&g_made, 0)); },
     [] { return aclrtNotifyGetExportKey(g_made, g_key, sizeof g_key, 0); }, no_preparation, true},
    {"aclrtIpcGetEventHandle", [] { CHECK_OK(aclrtCreateEventExWithFlag(&g_made, ACL_EVENT_IPC)); },
     [] {
         aclrtIpcEventHandle handle{};
         return first_failure({
             [&] { return aclrtIpcGetEventHandle(g_made, &handle); },
             [] { return aclrtRecordEvent(g_made, g_other); },
             [] { return aclrtStreamWaitEvent(g_other, g_made); },
         });
     },
     [] { CHECK_OK(aclrtDestroyEvent(g_made)); }, true},
    {"a task that fails",
     [] {
         CHECK_OK(aclsimClearFaults());
         CHECK_OK(aclrtSetExceptionInfoCallback([](aclrtExceptionInfo *) {}));
     },
     [] {
         const aclError code = first_failure({
             [] { return aclsimFailTask(g_other, 1, ACL_ERROR_RT_AICORE_EXCEPTION); },
             [] { return aclrtRecordEvent(g_event, g_other); },
         });
         const aclError failure = aclrtSynchronizeStream(g_other);
         CHECK(code != ACL_SUCCESS || failure != ACL_SUCCESS);
         return failure == ACL_ERROR_RT_AICORE_EXCEPTION ? ACL_SUCCESS : code;
     },
     no_preparation},
    {"profile",
     [] {
         (void)aclprofFinalize();  // ends the profile of a failed attempt
         CHECK_OK(aclprofInit(g_directory.c_str(), g_directory.size()));
     },
     [] {
         std::uint32_t device = 0;
         aclprofConfig *const config =
             aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, ACL_PROF_TASK_TIME | ACL_PROF_ACL_API);
         if (config == nullptr) {
             return static_cast<aclError>(ACL_ERROR_BAD_ALLOC);
         }
         const aclError code = first_failure({
             [=] { return aclprofStart(config); },
             [] { return aclrtMemsetAsync(g_memory, 4096, 1, 4096, g_other); },
             [] { return aclrtRecordEvent(g_event, g_other); },
             [] { return aclrtSynchronizeStream(g_other); },
             [=] { return aclprofStop(config); },
         });
         CHECK_OK(aclprofDestroyConfig(config));
         return code;
     },
     [] { CHECK_OK(aclprofFinalize()); }},
    {"aclrtMemPoolCreate", no_preparation,
     [] {
         aclrtMemPoolProps properties{};
         properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
         return aclrtMemPoolCreate(&g_made, &properties);
     },
     [] { CHECK_OK(aclrtMemPoolDestroy(g_made)); }, false, true},
    {"aclrtReserveMemAddress", no_preparation, [] { return aclrtReserveMemAddress(&g_made, 2 << 20, 0, nullptr, 0); },
     [] { CHECK_OK(aclrtReleaseMemAddress(g_made)); }},
#ifndef __SANITIZE_THREAD__  // keeps a program from the addresses of wishes
    {"aclrtReserveMemAddress, wish", no_preparation,
     [] { return aclrtReserveMemAddress(&g_made, 2 << 20, 0, reinterpret_cast<void *>(17ULL << 40), 0); },
     [] { CHECK_OK(aclrtReleaseMemAddress(g_made)); }, false, true},
#endif
    {"aclrtMemAllocManaged", no_preparation, allocate_managed,
     [] {
         static void *const first = g_made;
         CHECK(g_made == first);  // otherwise a failed attempt has kept the addresses
         CHECK_OK(aclrtFree(g_made));
     },
     false, true},
    {"aclrtFree, managed", [] { CHECK_OK(allocate_managed()); }, [] { return aclrtFree(g_made); }, no_preparation,
     false, true},
    {"aclrtGetSymbolAddress", [] { CHECK_OK(aclsimRegisterSymbol(&kSymbol, &kSymbol, sizeof kSymbol)); },
     [] {
         void *address = nullptr;
         return aclrtGetSymbolAddress(&kSymbol, &address);
     },
     [] { CHECK_OK(aclsimUnregisterSymbol(&kSymbol)); }, false, true},
    {"aclrtSubscribeReport", [] { g_fresh = new_stream(); },
     [] { return aclrtSubscribeReport(pthread_self(), g_fresh); },
     [] {
         CHECK_OK(aclrtUnSubscribeReport(pthread_self(), g_fresh));
         CHECK_OK(aclrtDestroyStream(g_fresh));
     },
     false, true},
    {"aclrtLaunchHostFunc, new context",
     [] {
         CHECK_OK(aclrtCreateContext(&g_made, 0));
         g_fresh = new_stream();
     },
     [] {
         const aclError code = aclrtLaunchHostFunc(g_fresh, nothing, nullptr);
         if (code != ACL_SUCCESS) {  // no thread has been chosen for its callbacks
             CHECK_OK(aclrtSubscribeReport(pthread_self(), g_fresh));
             CHECK_OK(aclrtUnSubscribeReport(pthread_self(), g_fresh));
         }
         return code;
     },
     [] {
         CHECK_OK(aclrtDestroyContext(g_made));
         CHECK_OK(aclrtSetCurrentContext(g_context));
     },
     false, true},
    {"aclrtResetEvent",
     [] {
         CHECK_OK(aclrtCreateEvent(&g_made));
         CHECK_OK(aclrtRecordEvent(g_made, g_other));
         hold();
     },
     [] {
         const aclError code = aclrtResetEvent(g_made, g_busy);
         if (code != ACL_SUCCESS) {  // a wait for the event ends
             CHECK_OK(aclrtStreamWaitEvent(g_other, g_made));
             CHECK_OK(aclrtSynchronizeStreamWithTimeout(g_other, kLongest_ms));
         }
         return code;
     },
     [] {
         release();
         CHECK_OK(aclrtDestroyEvent(g_made));
     },
     false, true},
    {"aclrtMapMem", no_preparation,
     [] {
         const aclrtPhysicalMemProp properties = device_memory();
         aclrtDrvMemHandle pages = nullptr;
         void *address = nullptr;
         const aclError code = first_failure({
             [&] { return aclrtMallocPhysical(&pages, 2 << 20, &properties, 0); },
             [&] { return aclrtReserveMemAddress(&address, 2 << 20, 0, nullptr, 0); },
             [&] { return aclrtMapMem(address, 2 << 20, 0, pages, 0); },
             [&] { return aclrtUnmapMem(address); },
         });
         if (address != nullptr) {
             if (code != ACL_SUCCESS) {
                 (void)aclrtUnmapMem(address);
             }
             (void)aclrtReleaseMemAddress(address);
         }
         if (pages != nullptr) {
             (void)aclrtFreePhysical(pages);
         }
         return code;
     },
     no_preparation},
};

class LastFirst final : public aclsim::Scheduler {
  public:
    LastFirst() : Scheduler(/*takes_first=*/false) {}
    aclsim::Stream &choose(aclsim::Choice, const std::vector<aclsim::Stream *> &candidates) override {
        return *candidates.back();
    }
};

class Group final : public aclsim::StreamGroup {
  public:
    Group() : StreamGroup(health_) {}
    void require_accepting(const aclsim::Stream &) const override {}
    void stop(aclError) override {}

  private:
    aclsim::DeviceHealth health_;
};

// Effects of the cancellation of a task: it wakes the tasks that wait for it, and the time of its end changes.
void nothing_that_cancels_a_task_needs_memory() {
    using namespace aclsim;
    static LastFirst scheduler;
    static Core &core = *new Core(host_clock(), scheduler);  // never destroyed: its threads would outlive main()
    const Lock lock = core.acquire();
    const Ref<Group> group = make_ref<Group>();
    std::vector<Ref<Stream>> streams;
    Waiters waiters;
    for (std::uint32_t id = 0; id < 3; ++id) {
        streams.push_back(make_ref_in<Stream>(0, *group, id, 0, 0));
        core.registry().add(streams.back());
    }
    core.timer().arm(*streams[0], host_clock().now() + std::chrono::hours(1));
    Shortage shortage(0, /*on_any_thread=*/false);
    core.timer().arm(*streams[0], host_clock().now() + std::chrono::hours(2));
    CHECK(!shortage.end());
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        for (const auto &stream : streams) {
            waiters.add(*stream);
        }
        Shortage of_wake(n, /*on_any_thread=*/false);
        waiters.wake(core);
        has_failed = of_wake.end();
        CHECK(waiters.empty());
        core.pump();
    }
    core.timer().disarm(*streams[0]);
    for (const auto &stream : streams) {
        core.registry().remove(*stream);
    }
}

const Test kTests[] = {
    {"cancel", nothing_that_cancels_a_task_needs_memory},
    {"channel", a_channel_loses_nothing_without_memory},
};

}  // namespace

int main(int count, char **arguments) {
    const Watchdog watchdog("out_of_memory", std::chrono::seconds(200));
    char directory[] = "/tmp/ascend_rt_no_memory_XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    g_directory = directory;
    set_up();
    g_pool = new_pool();
    CHECK_OK(aclrtCreateNotify(&g_notify, 0));
    survive(kCases, kTests, count, arguments);
    std::filesystem::remove_all(g_directory);
    tear_down();
    return 0;
}
