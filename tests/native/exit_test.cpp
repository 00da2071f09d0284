// A process that ends while streams wait: what the library's threads still do after main() finds everything they need.
#include <cstdint>
#include <cstdlib>

#include "concurrent.h"

namespace {

std::uint64_t *g_value = nullptr;
aclrtStream g_streams[8] = {};

// The first handler is the last to run: whatever the library destroys at the end of the process is gone by now.
void release_them() {
    __atomic_store_n(g_value, 1, __ATOMIC_RELEASE);  // another thread looks at it
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
