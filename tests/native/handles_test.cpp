// A destroyed handle never names another object, however many objects are created after it.
#include "check.h"
#include "concurrent.h"

namespace {

// One object at a time, so that all have the same place.
void no_handle_comes_back() {
    constexpr int kCreations = (1 << 24) + 1;
    const aclrtEvent first = new_event();
    CHECK_OK(aclrtDestroyEvent(first));
    for (int i = 0; i < kCreations; ++i) {
        const aclrtEvent event = new_event();
        CHECK(event != first);
        CHECK_OK(aclrtDestroyEvent(event));
    }
    CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyEvent(first));
}

}  // namespace

int main() {
    CHECK_OK(aclrtSetDevice(0));
    no_handle_comes_back();
    CHECK_OK(aclrtResetDevice(0));
    return 0;
}
