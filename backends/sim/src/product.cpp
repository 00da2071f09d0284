#include "product.h"

#include <algorithm>
#include <cstring>

#include "simulated.h"

namespace aclsim {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;
constexpr std::uint64_t kMiB = 1ULL << 20;

// Streams, events, queue depths and tick lengths: events_streams_sync.md sections 1 to 3. Memory of 910B: two devices
// of the recorded Ascend910B1 answered 64 GiB to allocations; the other sizes are those of common boards. Intervals:
// the documented longest limits of operators (1091 s, 547 s, 68 s) divided by 254 are powers of two of nanoseconds.
constexpr Product kProducts[] = {
    // name, soc, memory, l2, cube, vector, aicpu, streams, events, notifies, queue, tick, interval, stars, control,
    // ipc, timeout,
    // 1g
    {"910B", "Ascend910B1", 64 * kGiB, 192 * kMiB, 24, 48, 6, 1984, 65536, 8192, 2013, 20, 4294967, true, true, true,
     true, true},
    {"910C", "Ascend910_9391", 64 * kGiB, 192 * kMiB, 24, 48, 6, 1984, 65536, 8192, 2013, 20, 4294967, true, true, true,
     true, true},
    {"310B", "Ascend310B1", 12 * kGiB, 4 * kMiB, 1, 1, 4, 512, 65536, 2048, 2010, 20, 4294967, true, false, false, true,
     false},
    {"310P", "Ascend310P3", 24 * kGiB, 16 * kMiB, 8, 8, 8, 1024, 1023, 1024, 2042, 1, 2147483, false, false, false,
     false, false},
    {"910", "Ascend910A", 32 * kGiB, 32 * kMiB, 32, 32, 14, 2048, 65535, 1024, 2042, 1, 268435, false, false, false,
     false, false},
    {"950", "Ascend950PR", 128 * kGiB, 128 * kMiB, 32, 64, 6, 1984, 65536, 65535, 2014, 1, 4294967, true, true, true,
     true, true},
};

}  // namespace

const Product *find_product(const std::string &name) {
    for (const Product &product : kProducts) {
        if (name == product.name) {
            return &product;
        }
    }
    return nullptr;
}

bool is_documented_for(const char *function, const Product &product) {
    const PartialSupport *end = kPartialSupport + kPartialSupportCount;
    const PartialSupport *found = std::lower_bound(
        kPartialSupport, end, function,
        [](const PartialSupport &entry, const char *name) { return std::strcmp(entry.function, name) < 0; });
    if (found == end || std::strcmp(found->function, function) != 0) {
        return true;
    }
    return std::strstr(found->products, (" " + std::string(product.name) + " ").c_str()) != nullptr;
}

std::string product_names() {
    std::string names;
    for (const Product &product : kProducts) {
        names += (names.empty() ? "" : ", ") + std::string(product.name);
    }
    return names;
}

}  // namespace aclsim
