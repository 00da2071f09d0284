// SPDX-License-Identifier: Apache-2.0
// The runtime's inner functions (rt*): values of those that call documented functions, arguments that are wrong,
// kernels that are registered before there is a device, and functions that are refused.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl_mdl.h"
#include "acl/acl_platform.h"
#include "check.h"
#include "latch.h"
#include "runtime/rt.h"

namespace {

constexpr std::uint64_t kBytes = 4096;
constexpr std::uint16_t kModule = 0;

void devices() {
    std::int32_t count = 0;
    CHECK_OK(rtGetDeviceCount(&count));
    CHECK(count > 1);
    std::vector<std::uint32_t> ids(static_cast<std::size_t>(count) + 1, 77);
    CHECK_OK(rtGetDeviceIDs(ids.data(), static_cast<std::uint32_t>(ids.size())));
    CHECK(ids.front() == 0 && ids[ids.size() - 2] == static_cast<std::uint32_t>(count) - 1 && ids.back() == 77);
    CHECK_OK(rtSetDevice(1));
    std::int32_t device = 0;
    CHECK_OK(rtGetDevice(&device));
    CHECK(device == 1);
    CHECK_CODE(ACL_ERROR_RT_INVALID_DEVICEID, rtSetDevice(count));
    CHECK_OK(rtDeviceReset(1));
    CHECK_OK(rtSetDevice(0));
    rtRunMode mode = RT_RUN_MODE_RESERVED;
    CHECK_OK(rtGetRunMode(&mode));
    CHECK(mode == RT_RUN_MODE_ONLINE);
    std::uint32_t cores = 0;
    CHECK_OK(rtGetAiCoreCount(&cores));
    CHECK(cores > 0);
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    CHECK_OK(rtGetC2cCtrlAddr(&address, &length));
    CHECK(address != 0 && length > 0);
}

void texts_of_the_product() {
    char name[32] = {};
    CHECK_OK(rtGetSocVersion(name, sizeof name));
    CHECK(std::string(name) == aclrtGetSocName());
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtGetSocVersion(name, 3));
    CHECK(recent_text().find("3 bytes are too few") != std::string::npos);
    char value[32] = {};
    CHECK_OK(rtGetSocSpec("version", "SoC_version", value, sizeof value));
    CHECK(std::string(value) == name);
    CHECK_OK(rtGetSocSpec("version", "NpuArch", value, sizeof value));
    CHECK(std::string(value) == "2201");  // value of the default product
    CHECK_CODE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, rtGetSocSpec("AICoreSpec", "l1_size", value, sizeof value));
    CHECK(recent_text().find("l1_size of AICoreSpec; it knows SoC_version of version, NpuArch") != std::string::npos);

    CHECK_OK(aclplatformGetDeviceInfo(ACL_PLATFORM_SOC_VERSION, value, sizeof value));
    CHECK(std::string(value) == name);
    for (const aclplatformDevInfo each :
         {ACL_PLATFORM_AICORE_CNT, ACL_PLATFORM_L2_SIZE, ACL_PLATFORM_MEMORY_SIZE, ACL_PLATFORM_NPU_ARCH}) {
        CHECK_OK(aclplatformGetDeviceInfo(each, value, sizeof value));
        CHECK(std::stoull(value) > 0);
    }
    CHECK_CODE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclplatformGetDeviceInfo(ACL_PLATFORM_CUBE_FREQ, value, sizeof value));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclplatformGetDeviceInfo(ACL_PLATFORM_SOC_VERSION, value, 2));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclplatformGetDeviceInfo(ACL_PLATFORM_SOC_VERSION, nullptr, 2));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, aclplatformGetDeviceInfo(static_cast<aclplatformDevInfo>(17), value, 2));
    CHECK_CODE(ACL_ERROR_API_NOT_SUPPORT,
               aclplatformGetInstructionInfo(ACL_PLATFORM_CORE_TYPE_AI_CORE, "mmad", value, sizeof value));
}

void contexts() {
    rtContext_t before = nullptr, created = nullptr, current = nullptr;
    CHECK_OK(rtCtxGetCurrent(&before));
    CHECK_OK(rtCtxCreate(&created, 0, 0));
    CHECK_OK(rtCtxGetCurrent(&current));
    CHECK(current == created);
    CHECK_OK(rtCtxSetCurrent(before));
    CHECK_OK(rtCtxDestroy(created));
    CHECK(rtCtxSetCurrent(created) != ACL_SUCCESS);
    CHECK_CODE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, rtCtxCreate(&created, 1, 0));
}

void memory_and_copies() {
    for (const rtMemType_t type : {RT_MEMORY_DEFAULT, RT_MEMORY_HBM, RT_MEMORY_HBM | RT_MEMORY_POLICY_HUGE_PAGE_ONLY,
                                   RT_MEMORY_HBM | RT_MEMORY_POLICY_DEFAULT_PAGE_ONLY}) {
        void *memory = nullptr;
        CHECK_OK(rtMalloc(&memory, kBytes, type, kModule));
        CHECK_OK(rtFree(memory));
    }
    void *device = nullptr, *host = nullptr;
    CHECK_OK(rtMalloc(&device, kBytes, RT_MEMORY_HBM, kModule));
    CHECK_OK(rtMallocHost(&host, kBytes, kModule));
    std::memset(host, 7, kBytes);
    CHECK_OK(rtMemcpy(device, kBytes, host, kBytes, RT_MEMCPY_HOST_TO_DEVICE));
    CHECK_OK(rtMemset(device, kBytes, 9, kBytes / 2));
    CHECK_OK(rtMemcpy(host, kBytes, device, kBytes, RT_MEMCPY_DEFAULT));
    const auto *bytes = static_cast<unsigned char *>(host);
    CHECK(bytes[0] == 9 && bytes[kBytes / 2] == 7);
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtMemcpy(device, 1, host, 2, RT_MEMCPY_HOST_TO_DEVICE));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtMemcpy(device, kBytes, host, 1, static_cast<rtMemcpyKind_t>(99)));
    CHECK_CODE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, rtMemcpy(device, kBytes, host, 1, RT_MEMCPY_ADDR_DEVICE_TO_DEVICE));

    rtPointerAttributes_t attributes = {};
    CHECK_OK(rtPointerGetAttributes(&attributes, device));
    CHECK(attributes.memoryType == RT_MEMORY_TYPE_DEVICE && attributes.deviceID == 0);
    CHECK_OK(rtPointerGetAttributes(&attributes, host));
    CHECK(attributes.memoryType == RT_MEMORY_TYPE_HOST);
    CHECK_OK(rtPointerGetAttributes(&attributes, &attributes));
    CHECK(attributes.memoryType == RT_MEMORY_TYPE_USER);
    std::size_t before = 0, after = 0, total = 0;
    CHECK_OK(rtMemGetInfo(&before, &total));
    void *large = nullptr;
    CHECK_OK(rtMemAlloc(&large, 64 << 20, RT_MEM_MALLOC_HUGE_FIRST, RT_MEM_ADVISE_NONE, nullptr));
    CHECK_OK(rtMemGetInfoEx(RT_MEMORYINFO_HBM, &after, &total));
    CHECK(after < before && before <= total);
    CHECK_OK(rtFree(large));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID,
               rtMemAlloc(&large, kBytes, RT_MEM_MALLOC_HUGE_FIRST, static_cast<rtMallocAdvise>(9), nullptr));
    CHECK_CODE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, rtMalloc(&large, kBytes, RT_MEMORY_HOST, kModule));
    CHECK_OK(rtFreeHost(host));
    CHECK_OK(rtFree(device));
    CHECK(rtFree(device) != ACL_SUCCESS);
}

void virtual_memory() {
    rtDrvMemProp_t property = {};
    property.side = 1;
    property.pg_type = 1;
    std::size_t granularity = 0;
    CHECK_OK(rtMemGetAllocationGranularity(&property, RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity));
    void *address = nullptr;
    CHECK_OK(rtReserveMemAddress(&address, granularity, 0, nullptr, 1));
    rtDrvMemHandle physical = nullptr;
    CHECK_OK(rtMallocPhysical(&physical, granularity, &property, 0));
    CHECK_OK(rtMapMem(address, granularity, 0, physical, 0));
    CHECK_OK(rtMemset(address, granularity, 3, granularity));
    CHECK_OK(rtUnmapMem(address));
    CHECK_OK(rtFreePhysical(physical));
    CHECK_OK(rtReleaseMemAddress(address));
    property.pg_type = 9;
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtMallocPhysical(&physical, granularity, &property, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtMallocPhysical(&physical, granularity, nullptr, 0));
}

constexpr std::uint64_t kShared = 2 << 20;

// Exports memory to the parent until it closes its pipe.
[[noreturn]] void export_memory(int to_parent, int from_parent) {
    CHECK_OK(rtSetDevice(0));
    void *memory = nullptr;
    char name[65] = {};
    std::int32_t parent = getppid();
    CHECK_OK(rtMalloc(&memory, kShared, RT_MEMORY_HBM, kModule));
    CHECK_OK(rtMemset(memory, kShared, 6, kShared));
    CHECK_OK(rtIpcSetMemoryName(memory, kShared, name, sizeof name));
    CHECK_OK(rtSetIpcMemPid(name, &parent, 1));
    CHECK(write(to_parent, name, sizeof name) == sizeof name);
    CHECK(read(from_parent, name, 1) == 0);
    CHECK_OK(rtIpcDestroyMemoryName(name));
    CHECK_OK(rtFree(memory));
    _exit(0);
}

void memory_of_another_process_is_closed_by_address() {
    int names[2], end[2];
    CHECK(pipe(names) == 0 && pipe(end) == 0);
    const pid_t process = fork();
    CHECK(process >= 0);
    if (process == 0) {
        close(end[1]);
        export_memory(names[1], end[0]);
    }
    char name[65] = {};
    CHECK(read(names[0], name, sizeof name) == sizeof name);
    CHECK_OK(rtSetDevice(0));
    void *opened = nullptr;
    CHECK(rtIpcOpenMemory(&opened, "no such name") != ACL_SUCCESS);
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtIpcCloseMemory(name));
    CHECK(recent_text().find("is not memory that rtIpcOpenMemory has opened") != std::string::npos);
    CHECK_OK(rtIpcOpenMemory(&opened, name));
    unsigned char first = 0;
    CHECK_OK(rtMemcpy(&first, 1, opened, 1, RT_MEMCPY_DEVICE_TO_HOST));
    CHECK(first == 6);
    CHECK_OK(rtIpcCloseMemory(opened));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtIpcCloseMemory(opened));
    close(end[1]);
    int status = 0;
    CHECK(waitpid(process, &status, 0) == process && status == 0);
}

void streams_and_events() {
    rtStream_t stream = nullptr;
    const std::uint32_t flags = RT_STREAM_FAST_LAUNCH | RT_STREAM_FAST_SYNC;
    CHECK_OK(rtStreamCreateWithFlags(&stream, 0, flags));
    std::uint32_t set = 0;
    CHECK_OK(rtStreamGetFlags(stream, &set));
    CHECK(set == flags);
    rtStream_t other = nullptr;
    CHECK_CODE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, rtStreamCreateWithFlags(&other, 0, RT_STREAM_HEAD));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtStreamCreate(&other, -1));
    CHECK_OK(rtStreamCreate(&other, 0));
    CHECK_OK(rtStreamSetMode(other, ACL_STOP_ON_FAILURE));
    std::uint64_t mode = 0;
    CHECK_OK(rtStreamGetMode(other, &mode));
    CHECK(mode == ACL_STOP_ON_FAILURE);

    rtEvent_t event = nullptr;
    CHECK_OK(rtEventCreateWithFlag(&event, RT_EVENT_DEFAULT));
    rtEventStatus_t status = RT_EVENT_RECORDED;
    LatchedCallback held;
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &held));
    CHECK(held.entered.opens());
    CHECK_OK(rtEventRecord(event, stream));
    CHECK_OK(rtStreamWaitEvent(other, event));
    CHECK_OK(rtStreamWaitEventWithTimeout(other, event, UINT32_MAX));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtStreamWaitEventWithTimeout(other, event, UINT32_MAX - 1));
    CHECK_CODE(ACL_ERROR_RT_STREAM_NOT_COMPLETE, rtStreamQuery(stream));
    CHECK_CODE(ACL_ERROR_RT_STREAM_NOT_COMPLETE, rtStreamQuery(other));
    CHECK_CODE(ACL_ERROR_RT_EVENT_NOT_COMPLETE, rtEventQuery(event));
    CHECK_OK(rtEventQueryStatus(event, &status));
    CHECK(status == RT_EVENT_INIT);
    CHECK_CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, rtStreamSynchronizeWithTimeout(other, 1));
    held.released.open();
    CHECK_OK(rtStreamSynchronize(other));
    CHECK_OK(rtStreamQuery(stream));
    CHECK_OK(rtEventQuery(event));
    CHECK_OK(rtEventQueryStatus(event, &status));
    CHECK(status == RT_EVENT_RECORDED);
    std::uint64_t stamp = 0;
    CHECK_OK(rtEventGetTimeStamp(&stamp, event));
    CHECK(stamp > 0);

    CHECK(rtStreamQuery(event) != ACL_SUCCESS && rtStreamSynchronize(event) != ACL_SUCCESS);  // handles of another type
    CHECK(rtEventQuery(stream) != ACL_SUCCESS && rtEventDestroy(stream) != ACL_SUCCESS);

    rtNotify_t notify = nullptr;
    CHECK_CODE(ACL_ERROR_RT_INVALID_DEVICEID, rtNotifyCreate(1, &notify));
    CHECK_OK(rtNotifyCreate(0, &notify));
    CHECK_OK(rtNotifyRecord(notify, stream));
    CHECK_OK(rtNotifyWait(notify, other));
    CHECK_OK(rtStreamSynchronize(other));
    CHECK_OK(rtNotifyReset(notify));
    CHECK_OK(rtNotifyDestroy(notify));
    CHECK_OK(rtEventDestroy(event));
    CHECK_OK(rtStreamDestroy(stream));
    CHECK_OK(rtStreamDestroy(other));
    CHECK_CODE(aclrtStreamAbort(stream), rtStreamQuery(stream));  // both refuse the handle
    CHECK(rtEventQuery(event) != ACL_SUCCESS && rtNotifyDestroy(notify) != ACL_SUCCESS);
}

void models() {
    rtModel_t model = nullptr;
    rtStream_t inside = nullptr, outside = nullptr;
    CHECK_OK(rtStreamCreateWithFlags(&inside, 0, RT_STREAM_PERSISTENT));
    CHECK_OK(rtStreamCreate(&outside, 0));
    void *memory = nullptr;
    CHECK_OK(rtMalloc(&memory, kBytes, RT_MEMORY_HBM, kModule));
    CHECK_OK(rtMemset(memory, kBytes, 0, kBytes));
    CHECK_OK(rtModelCreate(&model, 0));
    CHECK_OK(rtModelBindStream(model, inside, 0));
    CHECK_OK(rtMemsetAsync(memory, kBytes, 5, kBytes, inside));
    CHECK_OK(rtEndGraph(model, inside));
    CHECK_OK(rtModelLoadComplete(model));
    CHECK_OK(rtModelExecute(model, outside, 0));
    CHECK_OK(rtStreamSynchronize(outside));
    unsigned char first = 0;
    CHECK_OK(rtMemcpy(&first, 1, memory, 1, RT_MEMCPY_DEVICE_TO_HOST));
    CHECK(first == 5);
    CHECK_OK(rtModelUnbindStream(model, inside));
    CHECK_OK(rtModelDestroy(model));
    CHECK_OK(rtStreamDestroy(inside));
    CHECK_OK(rtStreamDestroy(outside));
    CHECK_OK(rtFree(memory));
}

// The arguments of the kernel "length".
struct Length {
    const void *text;
    std::uint64_t *result;
};

using Object = std::vector<char>;

std::uint64_t length_by(rtError_t (*launch)(const void *, Length *), const void *subject) {
    Length arguments = {};
    void *memory = nullptr;
    CHECK_OK(rtMalloc(&memory, kBytes, RT_MEMORY_HBM, kModule));
    CHECK_OK(rtMemcpy(memory, kBytes, "seven..", 8, RT_MEMCPY_HOST_TO_DEVICE));
    arguments.text = memory;
    arguments.result = reinterpret_cast<std::uint64_t *>(static_cast<char *>(memory) + 64);
    CHECK_OK(launch(subject, &arguments));
    CHECK_OK(rtDeviceSynchronize());
    std::uint64_t result = 0;
    CHECK_OK(rtMemcpy(&result, sizeof result, arguments.result, sizeof result, RT_MEMCPY_DEVICE_TO_HOST));
    CHECK_OK(rtFree(memory));
    return result;
}

rtError_t launch_plainly(const void *stub, Length *arguments) {
    return rtKernelLaunch(stub, 1, arguments, sizeof *arguments, nullptr, nullptr);
}

// The text is behind the arguments, and the launch writes its address on the device into them.
rtError_t launch_with_text(const void *stub, Length *arguments) {
    struct {
        Length arguments;
        char text[8];
    } all = {*arguments, "two"};
    rtHostInputInfo_t text = {0, sizeof all.arguments};
    rtArgsEx_t extended = {};
    extended.args = &all;
    extended.argsSize = sizeof all;
    extended.hostInputInfoPtr = &text;
    extended.hostInputInfoNum = 1;
    return rtKernelLaunchWithFlag(stub, 1, &extended, nullptr, nullptr, RT_KERNEL_DEFAULT);
}

// The arguments are on the device already.
rtError_t launch_in_place(const void *stub, Length *arguments) {
    void *const memory = const_cast<char *>(static_cast<const char *>(arguments->text)) + 128;
    CHECK_OK(rtMemcpy(memory, sizeof *arguments, arguments, sizeof *arguments, RT_MEMCPY_HOST_TO_DEVICE));
    rtArgsEx_t extended = {};
    extended.args = memory;
    extended.argsSize = sizeof *arguments;
    extended.isNoNeedH2DCopy = 1;
    return rtKernelLaunchWithFlag(stub, 1, &extended, nullptr, nullptr, RT_KERNEL_DEFAULT);
}

// The number of a kernel is that at the end of its name, or 0.
rtError_t launch_by_number(const void *binary, Length *arguments) {
    rtArgsEx_t extended = {};
    extended.args = arguments;
    extended.argsSize = sizeof *arguments;
    return rtKernelLaunchWithHandle(const_cast<void *>(binary), 0, 1, &extended, nullptr, nullptr, nullptr);
}

// The launch copies the arguments, so they may end before the kernel runs.
void arguments_end_before_the_kernel_runs(const void *stub) {
    rtStream_t stream = nullptr;
    CHECK_OK(rtStreamCreate(&stream, 0));
    void *memory = nullptr;
    CHECK_OK(rtMalloc(&memory, kBytes, RT_MEMORY_HBM, kModule));
    CHECK_OK(rtMemcpy(memory, kBytes, "four", 5, RT_MEMCPY_HOST_TO_DEVICE));
    auto *const result = reinterpret_cast<std::uint64_t *>(static_cast<char *>(memory) + 64);
    LatchedCallback held;
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &held));
    Length arguments = {memory, result};
    CHECK_OK(rtKernelLaunch(stub, 1, &arguments, sizeof arguments, nullptr, stream));
    arguments = {};
    held.released.open();
    CHECK_OK(rtStreamSynchronize(stream));
    std::uint64_t length = 0;
    CHECK_OK(rtMemcpy(&length, sizeof length, result, sizeof length, RT_MEMCPY_DEVICE_TO_HOST));
    CHECK(length == 4);
    std::int32_t id = 0;
    std::uint32_t last_stream = 0, last_task = 0, number = 0;
    CHECK_OK(rtGetStreamId(stream, &id));
    CHECK_OK(rtGetTaskIdAndStreamID(&last_task, &last_stream));
    CHECK_OK(aclrtGetThreadLastTaskId(&number));
    CHECK(last_stream == static_cast<std::uint32_t>(id) && last_task == number);
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtGetTaskIdAndStreamID(&last_task, nullptr));
    CHECK_OK(rtFree(memory));
    CHECK_OK(rtStreamDestroy(stream));
    std::thread([&] {
        CHECK_OK(rtGetTaskIdAndStreamID(&last_task, &last_stream));
        CHECK(last_task == UINT32_MAX && last_stream == UINT16_MAX);
    }).join();
}

void meta_information(rtFuncHandle function) {
    std::size_t size = 0;
    CHECK_OK(rtFunctionGetMetaInfoSize(function, RT_FUNCTION_TYPE_KERNEL_TYPE, &size));
    std::uint32_t kind = 0;
    CHECK(size == sizeof kind);
    CHECK_OK(rtFunctionGetMetaInfo(function, RT_FUNCTION_TYPE_KERNEL_TYPE, &kind, sizeof kind));
    CHECK(kind == 1);
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID,
               rtFunctionGetMetaInfo(function, RT_FUNCTION_TYPE_KERNEL_TYPE, &kind, sizeof kind - 1));
    CHECK(recent_text().find("length is 3; the item has 4 bytes") != std::string::npos);
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID,
               rtFunctionGetMetaInfo(function, RT_FUNCTION_TYPE_MIX_TASK_RATION, &kind, sizeof kind));
    CHECK(recent_text() == "rtFunctionGetMetaInfo: the function has no meta information 3");
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtFunctionGetMetaInfoSize(function, RT_FUNCTION_TYPE_DFX_TYPE, &size));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtFunctionGetMetaInfoSize(nullptr, RT_FUNCTION_TYPE_KERNEL_TYPE, &size));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtFunctionGetMetaInfoSize(function, RT_FUNCTION_TYPE_KERNEL_TYPE, nullptr));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtFunctionGetMetaInfo(function, RT_FUNCTION_TYPE_KERNEL_TYPE, nullptr, 4));
}

void kernels(const Object &object) {
    static const char stub = 0, second_stub = 0;
    rtDevBinary_t binary = {RT_DEV_BINARY_MAGIC_ELF, 0, object.data(), object.size()};
    void *handle = nullptr, *found = nullptr;
    CHECK_OK(rtDevBinaryRegister(&binary, &handle));
    CHECK_CODE(ACL_ERROR_RT_KERNEL_LOOKUP, rtQueryFunctionRegistered("length_stub"));
    CHECK_OK(rtFunctionRegister(handle, &stub, "length_stub", "length", 0));
    CHECK_CODE(ACL_ERROR_RT_KERNEL_DUPLICATE, rtFunctionRegister(handle, &stub, "length_stub", "length", 0));
    CHECK_OK(rtQueryFunctionRegistered("length_stub"));
    CHECK_OK(rtGetFunctionByName("length_stub", &found));
    CHECK(found == &stub);
    CHECK(length_by(launch_plainly, &stub) == 7);
    CHECK(length_by(launch_with_text, &stub) == 3);
    CHECK(length_by(launch_in_place, &stub) == 7);
    CHECK(length_by(launch_by_number, handle) == 7);
    arguments_end_before_the_kernel_runs(&stub);
    CHECK_OK(rtDeviceReset(0));
    CHECK_OK(rtSetDevice(0));
    CHECK(length_by(launch_plainly, &stub) == 7);
    CHECK_OK(rtSetDevice(1));
    CHECK(length_by(launch_plainly, &stub) == 7);
    CHECK_OK(rtDeviceReset(1));
    CHECK_OK(rtSetDevice(0));

    CHECK_OK(rtFunctionRegister(handle, &second_stub, "missing", nullptr, 0));
    CHECK(rtKernelLaunch(&second_stub, 1, &binary, sizeof binary, nullptr, nullptr) != ACL_SUCCESS);
    CHECK(recent_text().find("rtKernelLaunch: aclrtBinaryGetFunction: ") == 0);
    CHECK_OK(rtDevBinaryUnRegister(handle));
    CHECK_CODE(ACL_ERROR_RT_INTERNAL_ERROR, rtKernelLaunch(&stub, 1, &binary, 8, nullptr, nullptr));
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, rtDevBinaryUnRegister(handle));
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, rtFunctionRegister(handle, &stub, "length_stub", "length", 0));
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, rtFunctionRegister(nullptr, &stub, "length_stub", "length", 0));

    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, rtKernelLaunchWithHandle(handle, 0, 1, nullptr, nullptr, nullptr, nullptr));

    rtBinHandle loaded = nullptr;
    rtFuncHandle function = nullptr;
    CHECK_OK(rtBinaryLoad(&binary, &loaded));
    CHECK_OK(rtBinaryGetFunctionByName(loaded, "length", &function));
    meta_information(function);
    CHECK(rtFunctionGetMetaInfo(loaded, RT_FUNCTION_TYPE_KERNEL_TYPE, &found, 4) != ACL_SUCCESS);  // a binary
    CHECK_OK(rtBinaryUnLoad(loaded));
    binary.length = UINT64_MAX;
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtDevBinaryRegister(&binary, &handle));
    binary.length = 0;
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtDevBinaryRegister(&binary, &handle));
    binary.data = nullptr;
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, rtDevBinaryRegister(&binary, &handle));
}

// Machine code of an NPU can be registered, as by operators while their library is loaded, but not launched.
void code_of_an_npu_is_registered_only() {
    static const char stub = 0;
    const char code[64] = "\177ELF";
    const rtDevBinary_t binary = {RT_DEV_BINARY_MAGIC_ELF_AIVEC, 0, code, sizeof code};
    void *handle = nullptr;
    CHECK_OK(rtDevBinaryRegister(&binary, &handle));
    CHECK_OK(rtFunctionRegister(handle, &stub, "add", "add", 0));
    CHECK(rtKernelLaunch(&stub, 1, nullptr, 0, nullptr, nullptr) != ACL_SUCCESS);
    CHECK(recent_text().find("rtKernelLaunch: aclrtBinaryLoadFromData: ") == 0);
    CHECK_OK(rtDevBinaryUnRegister(handle));
}

void threads_register_and_launch(const Object &object) {
    static const char stubs[4] = {};
    std::vector<std::thread> threads;
    for (const char &stub : stubs) {
        threads.emplace_back([&object, &stub] {
            CHECK_OK(rtSetDevice(0));
            const rtDevBinary_t binary = {RT_DEV_BINARY_MAGIC_ELF, 0, object.data(), object.size()};
            for (int round = 0; round < 5; ++round) {
                void *handle = nullptr;
                CHECK_OK(rtDevBinaryRegister(&binary, &handle));
                CHECK_OK(rtFunctionRegister(handle, &stub, "length_stub", "length", 0));
                CHECK(length_by(launch_plainly, &stub) == 7);
                CHECK_OK(rtDevBinaryUnRegister(handle));
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

// A launch beside an unregistration succeeds or is refused.
void threads_launch_what_another_unregisters(const Object &object) {
    static const char stub = 0;
    const rtDevBinary_t binary = {RT_DEV_BINARY_MAGIC_ELF, 0, object.data(), object.size()};
    std::atomic<bool> is_over = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            CHECK_OK(rtSetDevice(0));
            while (!is_over) {
                char text[8] = "one";
                std::uint64_t result = 0;
                Length arguments = {text, &result};
                rtKernelLaunch(&stub, 1, &arguments, sizeof arguments, nullptr, nullptr);
                CHECK_OK(rtDeviceSynchronize());
            }
        });
    }
    for (int round = 0; round < 50; ++round) {
        void *handle = nullptr;
        CHECK_OK(rtDevBinaryRegister(&binary, &handle));
        CHECK_OK(rtFunctionRegister(handle, &stub, "length_stub", "length", 0));
        CHECK_OK(rtDevBinaryUnRegister(handle));
    }
    is_over = true;
    for (std::thread &thread : threads) {
        thread.join();
    }
}

void a_thread_without_a_device() {
    static const char stub = 0;
    const char code[64] = "\177ELF";
    const rtDevBinary_t binary = {RT_DEV_BINARY_MAGIC_ELF, 0, code, sizeof code};
    std::thread([&] {
        std::int32_t device = 0;
        std::uint32_t cores = 0;
        void *handle = nullptr, *memory = nullptr;
        CHECK_CODE(ACL_ERROR_RT_CONTEXT_NULL, rtGetDevice(&device));
        CHECK_CODE(ACL_ERROR_RT_CONTEXT_NULL, rtMalloc(&memory, kBytes, RT_MEMORY_HBM, kModule));
        CHECK_CODE(ACL_ERROR_RT_CONTEXT_NULL, rtGetAiCoreCount(&cores));
        CHECK(recent_text().find("call rtSetDevice") != std::string::npos);
        CHECK_OK(rtDevBinaryRegister(&binary, &handle));
        CHECK_OK(rtFunctionRegister(handle, &stub, "kernel", nullptr, 0));
        CHECK_CODE(ACL_ERROR_RT_CONTEXT_NULL, rtKernelLaunch(&stub, 1, nullptr, 0, nullptr, nullptr));
        CHECK_OK(rtDevBinaryUnRegister(handle));
    }).join();
}

void nothing_is_refused_as_an_argument() {
    const rtError_t codes[] = {
        rtMalloc(nullptr, kBytes, RT_MEMORY_HBM, kModule),
        rtMallocHost(nullptr, kBytes, kModule),
        rtMemcpy(nullptr, kBytes, nullptr, kBytes, RT_MEMCPY_HOST_TO_DEVICE),
        rtMemGetInfo(nullptr, nullptr),
        rtPointerGetAttributes(nullptr, nullptr),
        rtGetDevice(nullptr),
        rtGetDeviceCount(nullptr),
        rtGetDeviceIDs(nullptr, 1),
        rtGetSocVersion(nullptr, 8),
        rtGetSocSpec(nullptr, "NpuArch", nullptr, 8),
        rtGetRunMode(nullptr),
        rtGetC2cCtrlAddr(nullptr, nullptr),
        rtGetAiCoreCount(nullptr),
        rtStreamCreate(nullptr, 0),
        rtStreamGetFlags(nullptr, nullptr),
        rtStreamGetMode(nullptr, nullptr),
        rtEventCreate(nullptr),
        rtEventDestroy(nullptr),
        rtEventRecord(nullptr, nullptr),
        rtEventQuery(nullptr),
        rtNotifyDestroy(nullptr),
        rtNotifyRecord(nullptr, nullptr),
        rtModelCreate(nullptr, 0),
        rtModelDestroy(nullptr),
        rtCtxCreate(nullptr, 0, 0),
        rtDevBinaryRegister(nullptr, nullptr),
        rtGetFunctionByName(nullptr, nullptr),
        rtQueryFunctionRegistered(nullptr),
        rtKernelLaunch(nullptr, 1, nullptr, 0, nullptr, nullptr),
        rtIpcCloseMemory(nullptr),
        rtIpcOpenMemory(nullptr, nullptr),
        rtCallbackLaunch(nullptr, nullptr, nullptr, true),
    };
    for (const rtError_t &code : codes) {
        if (code != ACL_ERROR_RT_PARAM_INVALID) {
            std::fprintf(stderr, "call %zd answered %d\n", &code - codes, code);
            std::abort();
        }
    }
}

extern "C" std::int32_t rtMbufAlloc(void);  // declared by no header

void refusals_name_the_function_and_what_to_call() {
    CHECK_CODE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, rtStreamGetSqid(nullptr, nullptr));
    CHECK(recent_text() == "rtStreamGetSqid: the simulator does not have this function of the runtime");
    CHECK_CODE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, rtSetTaskFailCallback(nullptr));
    CHECK(recent_text() == "rtSetTaskFailCallback: call aclrtSetExceptionInfoCallback");
    CHECK_CODE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, rtMbufAlloc());
    CHECK(recent_text() == "rtMbufAlloc: the simulator does not have this function of the runtime");
    std::uint32_t model = 0;
    CHECK_CODE(ACL_ERROR_API_NOT_SUPPORT, aclmdlLoadFromFile("model.om", &model));
    CHECK(recent_text() == "aclmdlLoadFromFile: the simulator runs no offline models (.om)");
    CHECK(aclmdlCreateDesc() == nullptr && aclmdlGetInputSizeByIndex(nullptr, 0) == 0);
}

}  // namespace

int main(int count, char **arguments) {
    CHECK(count == 2);
    std::ifstream file(arguments[1], std::ios::binary);
    const Object object(std::istreambuf_iterator<char>(file), {});
    memory_of_another_process_is_closed_by_address();  // first, because it forks
    devices();
    texts_of_the_product();
    contexts();
    memory_and_copies();
    virtual_memory();
    streams_and_events();
    models();
    kernels(object);
    code_of_an_npu_is_registered_only();
    threads_register_and_launch(object);
    threads_launch_what_another_unregisters(object);
    a_thread_without_a_device();
    nothing_is_refused_as_an_argument();
    refusals_name_the_function_and_what_to_call();
    return 0;
}
