// SPDX-License-Identifier: Apache-2.0
// Return of large memory, which takes the host a time that grows with the number of pages: other calls proceed
// meanwhile, and memory allocated meanwhile keeps its content. The test replaces the functions of the C library that
// return pages, so that they wait at a latch first.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>

#include "concurrent.h"
#include "latch.h"

namespace {

constexpr std::size_t kLarge = 1ULL << 30;
constexpr std::size_t kSmall = 4096;

std::atomic<LatchedCallback *> g_held{nullptr};  // latch of the next return of large memory

void return_pages(std::uint64_t size) {
    LatchedCallback *const held = size >= kLarge ? g_held.exchange(nullptr) : nullptr;
    if (held != nullptr) {
        LatchedCallback::run(held);
    }
}

}  // namespace

extern "C" {

int fallocate(int file, int mode, off_t offset, off_t size) {
    return_pages(static_cast<std::uint64_t>(size));
    return static_cast<int>(syscall(SYS_fallocate, file, mode, offset, size));
}

int madvise(void *address, std::size_t size, int advice) noexcept {
    if (advice == MADV_DONTNEED || advice == MADV_REMOVE || advice == MADV_FREE) {
        return_pages(size);
    }
    return static_cast<int>(syscall(SYS_madvise, address, size, advice));
}

void *mmap(void *address, std::size_t size, int protection, int flags, int file, off_t offset) noexcept {
    if ((flags & MAP_FIXED) != 0) {
        return_pages(size);
    }
    return reinterpret_cast<void *>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}

int munmap(void *address, std::size_t size) noexcept {
    return_pages(size);
    return static_cast<int>(syscall(SYS_munmap, address, size));
}

int close(int file) {
    struct stat status{};
    if (g_held.load() != nullptr && fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        return_pages(static_cast<std::uint64_t>(status.st_size));
    }
    return static_cast<int>(syscall(SYS_close, file));
}
}

namespace {

void *new_large() {
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, kLarge, ACL_MEM_MALLOC_HUGE_FIRST));
    return memory;
}

// Makes a few calls of each kind, none of which returns large memory.
void use(std::int32_t device) {
    CHECK_OK(aclrtSetDevice(device));
    const aclrtStream stream = new_stream();
    aclrtEvent event = nullptr;
    aclrtStreamStatus status{};
    void *memory = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    CHECK_OK(aclrtMalloc(&memory, kSmall, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemsetAsync(memory, kSmall, 1, kSmall, stream));
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtSynchronizeEvent(event));
    CHECK_OK(aclrtStreamQuery(stream, &status));
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtResetDevice(device));
}

constexpr unsigned char kMark = 0x5A;

void *new_marked() {
    CHECK_OK(aclrtSetDevice(0));
    void *const memory = new_large();
    CHECK_OK(aclrtMemset(memory, kSmall, kMark, kSmall));
    return memory;
}

void require_marked_and_free(void *memory) {
    unsigned char content[kSmall] = {};
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtMemcpy(content, kSmall, memory, kSmall, ACL_MEMCPY_DEVICE_TO_HOST));
    for (const unsigned char byte : content) {
        CHECK(byte == kMark);
    }
    CHECK_OK(aclrtFree(memory));
    for (int i = 0; i < 2; ++i) {  // undoes aclrtSetDevice here and in new_marked()
        CHECK_OK(aclrtResetDevice(0));
    }
}

// Checks that other calls proceed while give_back() returns large memory of device 0, which the main thread has set.
// If give_back() resets the whole device (`is_reset`), other calls on this device may wait for the reset.
template <class GiveBack>
void others_go_on_while(const char *what, GiveBack give_back, bool is_reset = false) {
    const auto check = [what](bool is_so, const char *text) {
        if (!is_so) {
            std::fprintf(stderr, "%s: %s\n", what, text);
            std::abort();
        }
    };
    LatchedCallback held;
    g_held = &held;
    aclrtContext context = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&context));
    auto giving = begin([&] {
        CHECK_OK(aclrtSetCurrentContext(context));
        give_back();
    });
    check(held.entered.opens(), "gave no large memory back");
    const auto other_device = begin([] { use(1); });
    check(returns(other_device), "stopped the calls on another device");
    auto marked = begin(new_marked);
    if (!is_reset) {
        const auto same_device = begin([] { use(0); });
        check(returns(same_device), "stopped the calls on its device");
        check(returns(marked), "stopped an allocation of the same size");
    }
    held.released.open();
    giving.get();
    void *const memory = marked.get();
    require_marked_and_free(memory);
}

void device_memory() {
    void *memory = new_large();
    others_go_on_while("aclrtFree", [=] { CHECK_OK(aclrtFree(memory)); });
    memory = new_large();
    others_go_on_while("aclrtFreeWithDevSync", [=] { CHECK_OK(aclrtFreeWithDevSync(memory)); });
    memory = new_large();
    const aclrtStream stream = new_stream();
    others_go_on_while("aclrtMemPoolFreeAsync", [=] {
        CHECK_OK(aclrtMemPoolFreeAsync(memory, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
    });
    CHECK_OK(aclrtDestroyStream(stream));
}

void host_memory() {
    void *memory = nullptr;
    CHECK_OK(aclrtMallocHost(&memory, kLarge));
    others_go_on_while("aclrtFreeHost", [=] { CHECK_OK(aclrtFreeHost(memory)); });
}

void managed_memory() {
    void *memory = nullptr;
    CHECK_OK(aclrtMemAllocManaged(&memory, kLarge, ACL_RT_MEM_ATTACH_GLOBAL));
    others_go_on_while("aclrtFree of managed memory", [=] { CHECK_OK(aclrtFree(memory)); });
}

aclrtPhysicalMemProp physical(aclrtMemLocationType location) {
    const aclrtMemAttr attribute = location == ACL_MEM_LOCATION_TYPE_DEVICE ? ACL_HBM_MEM_HUGE : ACL_MEM_NORMAL;
    return {ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_ALLOCATION_TYPE_PINNED, attribute, {0, location}, 0};
}

void physical_memory() {
    for (const auto location : {ACL_MEM_LOCATION_TYPE_DEVICE, ACL_MEM_LOCATION_TYPE_HOST}) {
        const aclrtPhysicalMemProp properties = physical(location);
        aclrtDrvMemHandle handle = nullptr;
        CHECK_OK(aclrtMallocPhysical(&handle, kLarge, &properties, 0));
        others_go_on_while("aclrtFreePhysical", [=] { CHECK_OK(aclrtFreePhysical(handle)); });
    }
    const aclrtPhysicalMemProp properties = physical(ACL_MEM_LOCATION_TYPE_DEVICE);
    aclrtDrvMemHandle handle = nullptr;
    void *address = nullptr;
    CHECK_OK(aclrtMallocPhysical(&handle, kLarge, &properties, 0));
    CHECK_OK(aclrtReserveMemAddress(&address, kLarge, 0, nullptr, 1));
    CHECK_OK(aclrtMapMem(address, kLarge, 0, handle, 0));
    others_go_on_while("aclrtUnmapMem", [=] { CHECK_OK(aclrtUnmapMem(address)); });
    CHECK_OK(aclrtReleaseMemAddress(address));
    CHECK_OK(aclrtFreePhysical(handle));
}

// Removing the last mapping also frees the memory, so the call has two pieces of deferred work. Another thread must
// take neither of them: otherwise the call could return while that thread still works on the addresses.
void an_unmapped_address_is_free_at_once() {
    const aclrtPhysicalMemProp properties = physical(ACL_MEM_LOCATION_TYPE_DEVICE);
    aclrtDrvMemHandle handle = nullptr;
    void *address = nullptr;
    CHECK_OK(aclrtMallocPhysical(&handle, kLarge, &properties, 0));
    CHECK_OK(aclrtReserveMemAddress(&address, kLarge, 0, nullptr, 1));
    CHECK_OK(aclrtMapMem(address, kLarge, 0, handle, 0));
    CHECK_OK(aclrtFreePhysical(handle));
    LatchedCallback first;
    LatchedCallback second;
    g_held = &first;
    auto unmapping = begin([=] { CHECK_OK(aclrtUnmapMem(address)); });
    CHECK(first.entered.opens());
    g_held = &second;
    const auto other = begin([] { use(1); });
    CHECK(returns(other));
    CHECK(!second.entered.is_open());
    second.released.open();
    first.released.open();
    unmapping.get();
    CHECK(second.entered.is_open());
    CHECK_OK(aclrtReleaseMemAddress(address));
}

// Creates a pool to which the stream has freed kLarge bytes.
aclrtMemPool new_pool(aclrtStream stream, std::uint64_t threshold) {
    aclrtMemPoolProps properties{};
    properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    properties.maxSize = 2 * kLarge;
    aclrtMemPool pool = nullptr;
    void *memory = nullptr;
    CHECK_OK(aclrtMemPoolCreate(&pool, &properties));
    CHECK_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
    CHECK_OK(aclrtMemPoolMallocAsync(&memory, kLarge, pool, stream));
    CHECK_OK(aclrtMemPoolFreeAsync(memory, stream));
    return pool;
}

void pools() {
    const aclrtStream stream = new_stream();
    const aclrtMemPool trimmed = new_pool(stream, kLarge);
    others_go_on_while("aclrtMemPoolTrimTo", [=] { CHECK_OK(aclrtMemPoolTrimTo(trimmed, 0)); });
    CHECK_OK(aclrtMemPoolDestroy(trimmed));
    const aclrtMemPool destroyed = new_pool(stream, kLarge);
    others_go_on_while("aclrtMemPoolDestroy", [=] { CHECK_OK(aclrtMemPoolDestroy(destroyed)); });
    const aclrtMemPool synchronized = new_pool(stream, 0);
    others_go_on_while("aclrtSynchronizeStream", [=] { CHECK_OK(aclrtSynchronizeStream(stream)); });
    CHECK_OK(aclrtMemPoolDestroy(synchronized));
    CHECK_OK(aclrtDestroyStream(stream));
}

void whole_device() {
    (void)new_large();
    others_go_on_while("aclrtResetDevice", [] { CHECK_OK(aclrtResetDevice(0)); }, /*is_reset=*/true);
}

}  // namespace

int main() {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(1));  // keeps device 1 open
    CHECK_OK(aclrtSetDevice(0));
    device_memory();
    host_memory();
    managed_memory();
    physical_memory();
    an_unmapped_address_is_free_at_once();
    pools();
    whole_device();
    CHECK_OK(aclrtResetDevice(1));
    CHECK_OK(aclFinalize());
    return 0;
}
