// SPDX-License-Identifier: Apache-2.0
// Facts about memory: observers receive the accesses of every kind of task with their modes, and each allocation and
// free exactly once.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "check.h"
#include "concurrent.h"
#include "observe.h"

using namespace aclsim;

namespace {

constexpr std::size_t kSize = 4096;
constexpr auto kRead = AccessMode::Read;
constexpr auto kWrite = AccessMode::Write;
constexpr auto kBoth = AccessMode::ReadWrite;

// Access as reported: `count` pieces of `width` bytes that begin `stride` bytes apart; by default one piece.
struct Told {
    const void *address;
    std::uint64_t size;
    AccessMode mode;
    std::uint64_t width = size;
    std::uint64_t count = 1;
    std::uint64_t stride = size;

    explicit Told(const Access &it) : address(it.address), size(it.size), mode(it.mode) {
        if (!it.layout.is_whole()) {
            CHECK(it.layout.count == 1);
            width = it.layout.width;
            count = it.layout.repetitions[0].count;
            stride = it.layout.repetitions[0].stride;
        }
    }
    Told(const void *from, std::uint64_t bytes, AccessMode how) : address(from), size(bytes), mode(how) {}
    Told(const void *from, AccessMode how, std::uint64_t row, std::uint64_t rows, std::uint64_t pitch)
        : address(from), size((rows - 1) * pitch + row), mode(how), width(row), count(rows), stride(pitch) {}
    bool operator==(const Told &other) const {
        return std::tie(address, size, mode, width, count, stride) ==
               std::tie(other.address, other.size, other.mode, other.width, other.count, other.stride);
    }
};
using Accesses = std::vector<Told>;

class Facts final : public Observer {
  public:
    void submitted(const Moment &, const Stream &, const Task &, const Submission &how) override {
        ++tasks;
        for (const Access &it : how.accesses) {
            add(it);
        }
    }
    void accessed(const Moment &, const Stream &, const Task &, const Access &access, bool is_there) override {
        if (is_there) {
            add(access);
        }
    }
    void allocated(const Moment &, const Allocation &it) override {
        CHECK(live.emplace(it.address, it.number).second);
        ++allocations;
    }
    void freed(const Moment &, const void *address) override { CHECK(live.erase(address) == 1); }
    void freed_all(const Moment &, std::uintptr_t begin, std::uint64_t size) override {
        for (auto it = live.begin(); it != live.end();) {
            it = reinterpret_cast<std::uintptr_t>(it->first) - begin < size ? live.erase(it) : std::next(it);
        }
    }
    void free_submitted(const Moment &, const void *address, std::uint64_t number) override {
        CHECK(live.erase(address) == 1);
        CHECK(leaving.emplace(number, address).second);
    }
    void free_reached(const Moment &, std::uint64_t number, Point) override { CHECK(leaving.erase(number) == 1); }

    Accesses accesses;
    int tasks = 0;
    int allocations = 0;
    std::map<const void *, std::uint64_t> live;
    std::map<std::uint64_t, const void *> leaving;  // queued frees that no stream has reached yet

  private:
    void add(const Access &it) {
        if (it.mode != AccessMode::None) {
            accesses.emplace_back(it);
        }
    }
};

// --- accesses --------------------------------------------------------------------------------------------------------

struct Operands {
    unsigned char *a = nullptr;
    unsigned char *b = nullptr;
    unsigned char *pinned = nullptr;
    unsigned char *managed = nullptr;
    unsigned char *status = nullptr;  // float overflow status
    aclrtStream stream = new_stream();

    Operands() {
        CHECK_OK(aclrtMalloc(as_void(a), kSize, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMalloc(as_void(b), kSize, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMallocHost(as_void(pinned), kSize));
        CHECK_OK(aclrtMemAllocManaged(as_void(managed), kSize, ACL_RT_MEM_ATTACH_GLOBAL));
        CHECK_OK(aclrtCtxGetFloatOverflowAddr(as_void(status)));
    }
    static void **as_void(unsigned char *&pointer) { return reinterpret_cast<void **>(&pointer); }
    ~Operands() {
        CHECK_OK(aclrtDestroyStream(stream));
        CHECK_OK(aclrtFree(managed));
        CHECK_OK(aclrtFreeHost(pinned));
        CHECK_OK(aclrtFree(b));
        CHECK_OK(aclrtFree(a));
    }
    Operands(const Operands &) = delete;
    Operands &operator=(const Operands &) = delete;
};

// Takes the parameters and the seed from memory.
aclError draw_numbers(const Operands &it) {
    aclrtRandomNumTaskInfo info{};
    info.dataType = ACL_FLOAT;
    info.randomNumFuncParaInfo.funcType = ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS;
    info.randomNumFuncParaInfo.paramInfo.normalDisInfo = {{0, {}, 4, {}}, {0, {}, 4, {}}};
    info.randomParaAddr = it.b + 64;
    info.randomResultAddr = it.a;
    info.randomCounterAddr = it.b;
    const void *seed = it.b + 80;
    info.randomSeed = {1, {}, 8, {}};
    std::memcpy(info.randomSeed.valueOrAddr, &seed, sizeof seed);
    info.randomNum = {0, {100}, 8, {}};
    return aclrtRandomNumAsync(&info, it.stream, nullptr);
}

struct Row {
    const char *name;
    std::function<aclError()> submit;
    Accesses expected;
};

void each_task_reports_what_it_accesses() {
    const Operands it;
    void *const a = it.a;
    void *const b = it.b;
    void *const pinned = it.pinned;
    aclrtStream s = it.stream;
    const auto kInside = ACL_MEMCPY_INNER_DEVICE_TO_DEVICE;
    CHECK_OK(aclrtSetMemcpyDesc(it.b + 1024, kInside, it.a, it.b, 64, nullptr));
    auto *const addresses = reinterpret_cast<void **>(it.b + 2048);  // the host can access device memory
    addresses[0] = it.a + 512;
    addresses[1] = it.b + 512;
    const std::vector<Row> rows = {
        {"copy to the device",
         [&] { return aclrtMemcpyAsync(a, kSize, pinned, 100, ACL_MEMCPY_HOST_TO_DEVICE, s); },
         {{a, 100, kWrite}, {pinned, 100, kRead}}},
        {"copy of rows",
         [&] { return aclrtMemcpy2dAsync(a, 20, pinned, 30, 10, 3, ACL_MEMCPY_HOST_TO_DEVICE, s); },
         {{a, kWrite, 10, 3, 20}, {pinned, kRead, 10, 3, 30}}},
        {"buffered copy",
         [&] { return aclrtMemcpyAsync(a, kSize, pinned, 100, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, s); },
         {{a, 100, kWrite}}},
        {"fill", [&] { return aclrtMemsetAsync(a, kSize, 1, 100, s); }, {{a, 100, kWrite}}},
        {"fill of words", [&] { return aclrtMemsetD32Async(a, kSize, 1, 100, s); }, {{a, 400, kWrite}}},
        {"reduction",
         [&] { return aclrtReduceAsync(a, b, 64, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, s, nullptr); },
         {{a, 64, kBoth}, {b, 64, kRead}}},
        {"value write", [&] { return aclrtValueWrite(a, 1, 0, s); }, {{a, 8, kWrite}}},
        {"value wait", [&] { return aclrtValueWait(a, 1, ACL_STREAM_WAIT_VALUE_EQ, s); }, {{a, 8, kRead}}},
        {"cache operation", [&] { return aclrtCmoAsync(a, 64, ACL_RT_CMO_TYPE_PREFETCH, s); }, {{a, 64, kRead}}},
        {"described copy",
         [&] { return aclrtMemcpyAsyncWithDesc(it.b + 1024, kInside, s); },
         {{it.b + 1024, 32, kRead}, {a, 64, kRead}, {b, 64, kWrite}}},
        {"copy with offsets",
         [&] {
             return aclrtMemcpyAsyncWithOffset(addresses, 64, 16, const_cast<const void **>(addresses + 1), 32, 0,
                                               kInside, s);
         },
         {{addresses, 8, kRead}, {addresses + 1, 8, kRead}, {it.b + 512, 32, kRead}, {it.a + 528, 32, kWrite}}},
        {"overflow status",
         [&] { return aclrtGetOverflowStatus(a, 64, s); },
         {{a, 64, kWrite}, {it.status, 64, kRead}}},
        {"reset of the overflow status", [&] { return aclrtResetOverflowStatus(s); }, {{it.status, 64, kWrite}}},
        {"random numbers",
         [&] { return draw_numbers(it); },
         {{it.b + 64, 16, kRead}, {it.b + 80, 8, kRead}, {it.b, 16, kRead}, {a, 400, kWrite}}},
        {"trace", [&] { return aclrtProfTrace(pinned, 18, s); }, {}},
    };
    for (const Row &row : rows) {
        Facts facts;
        {
            const Observing observing(facts);
            CHECK_OK(row.submit());
            CHECK_OK(aclrtSynchronizeStream(s));
        }
        CHECK(facts.tasks == 1);
        if (facts.accesses != row.expected) {
            std::fprintf(stderr, "%s: %zu accesses were reported, not the %zu expected ones\n", row.name,
                         facts.accesses.size(), row.expected.size());
            for (const Told &reported : facts.accesses) {
                std::fprintf(stderr, "  %p %llu %d\n", reported.address, static_cast<unsigned long long>(reported.size),
                             static_cast<int>(reported.mode));
            }
            std::abort();
        }
    }
}

// Uses the stream of a model, because no other stream accepts such an operation.
void a_described_cache_operation_reports_its_range() {
    const Operands it;
    aclmdlRI model = nullptr;
    aclrtStream bound = nullptr;
    CHECK_OK(aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
    CHECK_OK(aclmdlRIBuildBegin(&model, 0));
    CHECK_OK(aclmdlRIBindStream(model, bound, 0));
    CHECK_OK(aclrtCmoSetDesc(it.b, it.a, 128));
    Facts facts;
    const Observing observing(facts);
    CHECK_OK(aclrtCmoAsyncWithDesc(it.b, ACL_RT_CMO_TYPE_PREFETCH, bound, nullptr));
    CHECK((facts.accesses == Accesses{{it.b, 32, kBoth}}));
    CHECK_OK(aclmdlRIEndTask(model, bound));
    CHECK_OK(aclmdlRIBuildEnd(model, nullptr));
    facts.accesses.clear();
    CHECK_OK(aclmdlRIExecute(model, -1));
    CHECK(std::count(facts.accesses.begin(), facts.accesses.end(), Told{it.a, 128, kRead}) == 1);
    CHECK_OK(aclmdlRIDestroy(model));
    CHECK_OK(aclrtDestroyStream(bound));
}

// --- allocations -----------------------------------------------------------------------------------------------------

// One way to allocate and free, and the number of allocations it reports.
struct Way {
    const char *name;
    std::function<void()> use;
    int allocations = 1;
};

void *allocate(const std::function<aclError(void **)> &how) {
    void *address = nullptr;
    CHECK_OK(how(&address));
    return address;
}

void use_virtual_memory() {
    constexpr std::size_t kHuge = 2 << 20;
    aclrtPhysicalMemProp properties{};
    properties.memAttr = ACL_HBM_MEM_HUGE;
    properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    aclrtDrvMemHandle pages = nullptr;
    CHECK_OK(aclrtMallocPhysical(&pages, kHuge, &properties, 0));
    void *at = nullptr;
    CHECK_OK(aclrtReserveMemAddress(&at, kHuge, 0, nullptr, 1));
    CHECK_OK(aclrtMapMem(at, kHuge, 0, pages, 0));
    CHECK_OK(aclrtUnmapMem(at));
    CHECK_OK(aclrtReleaseMemAddress(at));
    CHECK_OK(aclrtFreePhysical(pages));
}

void each_allocation_and_free_is_reported_once() {
    aclrtStream stream = new_stream();
    aclrtMemPool pool = new_pool();
    const auto kFirst = ACL_MEM_MALLOC_HUGE_FIRST;
    const auto take = [&] {
        return allocate([&](void **at) { return aclrtMemPoolMallocAsync(at, kSize, pool, stream); });
    };
    const auto take_block = [&] { return allocate([&](void **at) { return aclrtMalloc(at, kSize, kFirst); }); };
    const std::vector<Way> ways = {
        {"aclrtMalloc", [&] { CHECK_OK(aclrtFree(take_block())); }},
        {"aclrtMallocAlign32",
         [&] { CHECK_OK(aclrtFree(allocate([&](void **at) { return aclrtMallocAlign32(at, kSize, kFirst); }))); }},
        {"aclrtMallocCached",
         [&] { CHECK_OK(aclrtFree(allocate([&](void **at) { return aclrtMallocCached(at, kSize, kFirst); }))); }},
        {"aclrtMallocWithCfg",
         [&] {
             CHECK_OK(aclrtFree(allocate([&](void **at) { return aclrtMallocWithCfg(at, kSize, kFirst, nullptr); })));
         }},
        {"aclrtMallocForTaskScheduler",
         [&] {
             CHECK_OK(aclrtFreeWithDevSync(
                 allocate([&](void **at) { return aclrtMallocForTaskScheduler(at, kSize, kFirst, nullptr); })));
         }},
        {"aclrtMallocHost",
         [&] { CHECK_OK(aclrtFreeHost(allocate([&](void **at) { return aclrtMallocHost(at, kSize); }))); }},
        {"aclrtMallocHostWithCfg",
         [&] {
             CHECK_OK(aclrtFreeHostWithDevSync(
                 allocate([&](void **at) { return aclrtMallocHostWithCfg(at, kSize, nullptr); })));
         }},
        {"aclrtMemAllocManaged",
         [&] {
             CHECK_OK(aclrtFree(
                 allocate([&](void **at) { return aclrtMemAllocManaged(at, kSize, ACL_RT_MEM_ATTACH_GLOBAL); })));
         }},
        {"virtual memory", use_virtual_memory},
        {"a pool", [&] { CHECK_OK(aclrtMemPoolFreeAsync(take(), stream)); }},
        {"a pool, freed at once", [&] { CHECK_OK(aclrtFree(take())); }},
        {"a block that a stream frees", [&] { CHECK_OK(aclrtMemPoolFreeAsync(take_block(), stream)); }},
        {"the workspace of an operator", [&] { CHECK_OK(aclsimRunOperator(stream, kSize)); }},
        {"the overflow status of a context",
         [] {
             aclrtContext context = nullptr;
             void *status = nullptr;
             CHECK_OK(aclrtCreateContext(&context, 0));
             CHECK_OK(aclrtCtxGetFloatOverflowAddr(&status));
             CHECK_OK(aclrtDestroyContext(context));
             CHECK_OK(aclrtSetDevice(0));
         }},
    };
    for (const Way &way : ways) {
        Facts facts;
        {
            const Observing observing(facts);
            way.use();
            CHECK_OK(aclrtSynchronizeStream(stream));
        }
        if (facts.allocations != way.allocations || !facts.live.empty() || !facts.leaving.empty()) {
            std::fprintf(stderr, "%s: %d allocations were reported, %zu of them live on, %zu are leaving\n", way.name,
                         facts.allocations, facts.live.size(), facts.leaving.size());
            std::abort();
        }
    }
    CHECK_OK(aclrtMemPoolDestroy(pool));
    CHECK_OK(aclrtDestroyStream(stream));
}

}  // namespace

int main() {
    CHECK_OK(aclrtSetDevice(0));
    each_task_reports_what_it_accesses();
    a_described_cache_operation_reports_its_range();
    each_allocation_and_free_is_reported_once();
    CHECK_OK(aclrtResetDevice(0));
    std::puts("native facts: all passed");
    return 0;
}
