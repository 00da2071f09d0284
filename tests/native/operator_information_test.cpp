// SPDX-License-Identifier: Apache-2.0
// Documented flow of operator information (graphs_kernels.md section D) in C: the information is attached to a task of
// a capture, and the profile of an execution of the graph contains it.
#include <dirent.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "check.h"

namespace {

constexpr char kInformation[] = "MatMulV2, 16x16";

std::string file_in(const std::string &directory, const std::string &beginning) {
    DIR *opened = opendir(directory.c_str());
    CHECK(opened != nullptr);
    std::string found;
    while (const dirent *entry = readdir(opened)) {
        if (std::strncmp(entry->d_name, beginning.c_str(), beginning.size()) == 0) {
            found = directory + "/" + entry->d_name;
        }
    }
    closedir(opened);
    CHECK(!found.empty());
    return found;
}

std::string content(const std::string &path) {
    std::ifstream file(path);
    CHECK(file.good());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void set_switch(aclrtStream stream, std::uint32_t on) {
    aclrtStreamAttrValue value = {};
    value.cacheOpInfoSwitch = on;
    CHECK_OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
}

aclmdlRI capture(aclrtStream stream, void *memory) {
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    set_switch(stream, 1);
    CHECK_OK(aclrtMemsetAsync(memory, 64, 1, 64, stream));
    aclrtStreamAttrValue value = {};
    CHECK_OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
    CHECK(value.cacheOpInfoSwitch == 1);
    CHECK_OK(aclrtCacheLastTaskOpInfo(kInformation, sizeof kInformation));
    set_switch(stream, 0);
    aclmdlRI graph = nullptr;
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    return graph;
}

void profile(aclmdlRI graph, aclrtStream stream, const std::string &directory) {
    std::uint32_t device = 0;
    CHECK_OK(aclprofInit(directory.c_str(), directory.size()));
    aclprofConfig *config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, ACL_PROF_TASK_TIME);
    CHECK(config != nullptr);
    CHECK_OK(aclprofStart(config));
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclprofStop(config));
    CHECK_OK(aclprofDestroyConfig(config));
    CHECK_OK(aclprofFinalize());
}

}  // namespace

int main() {
    char directory[] = "operator_information_XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    aclrtStream stream = nullptr;
    void *memory = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));

    aclmdlRI graph = capture(stream, memory);
    profile(graph, stream, directory);
    CHECK_OK(aclmdlRIDestroy(graph));

    const std::string files = file_in(directory, "PROF_") + "/mindstudio_profiler_output";
    CHECK(content(file_in(files, "op_summary_")).find(kInformation) != std::string::npos);
    CHECK(content(file_in(files, "msprof_")).find(kInformation) != std::string::npos);
    for (const char *name : {"op_summary_", "msprof_", "task_time_"}) {
        CHECK(unlink(file_in(files, name).c_str()) == 0);
    }
    const std::string result = file_in(directory, "PROF_");
    CHECK(rmdir(files.c_str()) == 0 && rmdir(result.c_str()) == 0 && rmdir(directory) == 0);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclFinalize());
    return 0;
}
