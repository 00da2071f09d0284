// SPDX-License-Identifier: Apache-2.0
// End of a process while streams wait: everything that the library's threads use after main() still exists.
#include <cstdint>
#include <cstdlib>

#include "concurrent.h"

namespace {

std::uint64_t *g_value = nullptr;
aclrtStream g_streams[8] = {};

// Runs last, because it is registered first: the library has already destroyed everything that it destroys at the end
// of the process.
void release_them() {
    __atomic_store_n(g_value, 1, __ATOMIC_RELEASE);  // another thread polls it
    for (const aclrtStream stream : g_streams) {
        CHECK_OK(aclrtSynchronizeStream(stream));
    }
}

}  // namespace

int main() {
    CHECK(std::atexit(release_them) == 0);
    CHECK_OK(aclrtSetDevice(0));
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, sizeof *g_value, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemset(memory, sizeof *g_value, 0, sizeof *g_value));
    g_value = static_cast<std::uint64_t *>(memory);
    for (aclrtStream &stream : g_streams) {
        stream = new_stream();
        CHECK_OK(aclrtValueWait(memory, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
    }
    return 0;
}
