// SPDX-License-Identifier: Apache-2.0
// Limit on the size of files (ulimit -f), as set by batch systems: calls that would exceed it fail with a text that
// names the limit, and the process continues. After the limit is raised, the same calls succeed.
#include <sys/resource.h>

#include <cstring>

#include "concurrent.h"

namespace {

class FileLimit {
  public:
    explicit FileLimit(rlim_t bytes) {
        CHECK(getrlimit(RLIMIT_FSIZE, &before_) == 0);
        const rlimit low{bytes, before_.rlim_max};
        CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
    }
    ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
    FileLimit(const FileLimit &) = delete;
    FileLimit &operator=(const FileLimit &) = delete;

  private:
    rlimit before_{};
};

void check_text_names_limit() {
    const char *text = aclGetRecentErrMsg();
    CHECK(text != nullptr && std::strstr(text, "ulimit -f") != nullptr);
}

void memory_of_a_device_fails() {
    void *memory = nullptr;
    {
        const FileLimit limit(1 << 30);
        for (int i = 0; i < 1000; ++i) {  // a failure must not keep addresses
            CHECK_CODE(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
            check_text_names_limit();
        }
    }
    CHECK_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemset(memory, 4096, 1, 4096));
    CHECK_OK(aclrtFree(memory));
}

// Physical memory on the host has a separate file; that of a device is part of the file of the device.
void physical_memory_of_the_host_fails() {
    aclrtPhysicalMemProp properties{};
    properties.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    properties.memAttr = ACL_MEM_HUGE;
    constexpr std::size_t kSize = 4 << 20;
    aclrtDrvMemHandle pages = nullptr;
    {
        const FileLimit limit(kSize - 1);
        CHECK_CODE(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtMallocPhysical(&pages, kSize, &properties, 0));
        check_text_names_limit();
    }
    CHECK_OK(aclrtMallocPhysical(&pages, kSize, &properties, 0));
    CHECK_OK(aclrtFreePhysical(pages));
}

void an_exported_notify_fails() {
    aclrtNotify notify = nullptr;
    CHECK_OK(aclrtCreateNotify(&notify, 0));
    char key[65];
    {
        const FileLimit limit(0);
        CHECK(aclrtNotifyGetExportKey(notify, key, sizeof key, 0) != ACL_SUCCESS);
        check_text_names_limit();
    }
    CHECK_OK(aclrtNotifyGetExportKey(notify, key, sizeof key, 0));
    CHECK_OK(aclrtDestroyNotify(notify));
}

}  // namespace

int main() {
    CHECK_OK(aclrtSetDevice(0));
    memory_of_a_device_fails();
    physical_memory_of_the_host_fails();
    an_exported_notify_fails();
    return 0;
}
