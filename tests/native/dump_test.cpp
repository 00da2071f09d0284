// SPDX-License-Identifier: Apache-2.0
// Dumps of failed kernels (dumps.md sections 4 to 7): their contents, callbacks, threads, and directories that fail.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "concurrent.h"
#include "cpu_binary.h"

namespace {

namespace fs = std::filesystem;

constexpr aclError kKernelFailed = ACL_ERROR_RT_AICORE_EXCEPTION;
constexpr char kMagic[] = "ASCDUMP1";

fs::path g_place;

struct Arguments {
    void *memory;
    std::uint64_t number;
};

aclError fail_block(const aclsimKernelBlock *, void *) { return kKernelFailed; }

void write_configuration(const std::string &text) {
    const std::string path = (g_place / "dump.json").string();
    std::ofstream(path) << text;
    CHECK_OK(aclmdlSetDump(path.c_str()));
}

void turn_on(const fs::path &path) {
    CHECK_OK(aclmdlInitDump());
    write_configuration(R"({"dump": {"dump_scene": "aic_err_brief_dump", "dump_path": ")" + path.string() + "\"}}");
}

// Device memory that begins with 64 bytes of value 7, the argument of kernels that fail.
struct Work {
    explicit Work(std::size_t size = 64) {
        CHECK_OK(aclrtRegisterCpuFunc(binary, "fails", "fails", &function));
        CHECK_OK(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMemset(memory, 64, 7, 64));
    }
    ~Work() {
        CHECK_OK(aclrtFree(memory));
        CHECK_OK(aclrtBinaryUnLoad(binary));
    }
    Work(const Work &) = delete;
    Work &operator=(const Work &) = delete;
    void fail(aclrtStream stream) const {
        Arguments arguments{memory, 0x1122334455667788};
        CHECK_OK(aclrtLaunchKernelWithHostArgs(function, 2, stream, nullptr, &arguments, sizeof arguments, nullptr, 0));
        CHECK(aclrtSynchronizeStream(stream) != ACL_SUCCESS);
    }

    const aclrtBinHandle binary = load_cpu_binary();
    aclrtFuncHandle function = nullptr;
    void *memory = nullptr;
};

std::vector<std::string> dumps_below(const fs::path &path) {
    std::vector<std::string> found;
    if (fs::exists(path)) {
        for (const auto &entry : fs::recursive_directory_iterator(path)) {
            if (entry.is_regular_file()) {
                std::ifstream file(entry.path(), std::ios::binary);
                found.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
            }
        }
    }
    return found;
}

void check_dump(const Work &work, const std::string &dump) {
    Arguments arguments{};
    std::memcpy(&arguments, dump.data(), sizeof arguments);
    CHECK(arguments.memory == work.memory && arguments.number == 0x1122334455667788);
    CHECK(dump.substr(sizeof arguments, 64) == std::string(64, '\x07'));
    CHECK(dump.substr(dump.size() - 8) == kMagic);
    CHECK(dump.find("\"kernel\":\"fails\",\"blocks\":2,") != std::string::npos);
}

void a_failed_kernel_leaves_its_arguments_and_memory() {
    const Work work;
    const fs::path place = g_place / "files";
    turn_on(place);
    const aclrtStream stream = new_stream();
    work.fail(stream);
    const auto dumps = dumps_below(place);
    CHECK(dumps.size() == 1);
    check_dump(work, dumps[0]);
    CHECK_OK(aclmdlFinalizeDump());
    work.fail(stream);
    CHECK(dumps_below(place).size() == 1);
    CHECK_OK(aclrtDestroyStream(stream));
}

void kernels_of_many_threads_are_all_dumped() {
    const Work work;
    const fs::path place = g_place / "threads";
    turn_on(place);
    in_threads([&](int) {
        const aclrtStream stream = new_stream();
        for (int i = 0; i < 5; ++i) {
            work.fail(stream);
        }
        CHECK_OK(aclrtDestroyStream(stream));
    });
    const auto dumps = dumps_below(place);
    CHECK(dumps.size() == 5 * kThreads);
    for (const std::string &dump : dumps) {
        check_dump(work, dump);
    }
    CHECK_OK(aclmdlFinalizeDump());
}

std::mutex g_mutex;
std::string g_received;
int g_last_chunks = 0;

std::int32_t receive(const acldumpChunk *chunk, std::int32_t size) {
    const std::lock_guard<std::mutex> guard(g_mutex);
    CHECK(static_cast<std::size_t>(size) == sizeof *chunk + chunk->bufLen);
    CHECK(chunk->offset == -1 && std::strstr(chunk->fileName, "/extra-info/data-dump/0/fails.") != nullptr);
    g_received.append(reinterpret_cast<const char *>(chunk->dataBuf), chunk->bufLen);
    g_last_chunks += chunk->isLastChunk != 0 ? 1 : 0;
    return 0;
}

int g_refusals = 0;

std::int32_t refuse(const acldumpChunk *, std::int32_t) {
    ++g_refusals;
    acldumpUnregCallback();  // a callback may do so itself
    return -5;
}

void a_callback_receives_the_dump_in_place_of_the_file() {
    const Work work;
    const fs::path place = g_place / "callback";
    turn_on(place);
    const aclrtStream stream = new_stream();
    CHECK_OK(acldumpRegCallback(receive, 0));
    work.fail(stream);
    CHECK(dumps_below(place).empty());
    check_dump(work, g_received);
    CHECK(g_last_chunks == 1);
    CHECK_OK(acldumpRegCallback(refuse, 0));
    work.fail(stream);
    CHECK(dumps_below(place).empty() && g_refusals == 1);
    work.fail(stream);
    CHECK(dumps_below(place).size() == 1);
    CHECK_OK(aclmdlFinalizeDump());
    CHECK_OK(aclrtDestroyStream(stream));
}

std::atomic<int> g_calls{0};
void *g_saved = nullptr;

// Calls the API, which dumps into this callback again.
std::int32_t call_back(const acldumpChunk *, std::int32_t) {
    if (++g_calls == 1) {
        CHECK_OK(aclrtSetDevice(0));  // it may be called in a thread of the library
        const aclrtStream stream = new_stream();
        CHECK_OK(aclrtMemsetAsync(g_saved, 64, 7, 64, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtDestroyStream(stream));
        acldumpTensorInfo tensor{};
        tensor.tensorSize = 64;
        tensor.tensorAddr = static_cast<std::int64_t *>(g_saved);
        tensor.addrType = ACL_DUMP_ADDR_RAW;
        tensor.placement = ACL_DUMP_PLACEMENT_DEVICE;
        CHECK_OK(acldumpSaveExceptionInfo("nested", "tag", &tensor, 1));
        CHECK_OK(aclrtResetDevice(0));
    }
    return 0;
}

void callbacks_may_call_back_and_change_while_kernels_fail() {
    const Work work;
    turn_on(g_place / "changes");
    g_saved = work.memory;
    CHECK_OK(acldumpRegCallback(call_back, 0));
    const aclrtStream stream = new_stream();
    work.fail(stream);
    CHECK(g_calls > 2);
    CHECK_OK(aclrtDestroyStream(stream));
    std::atomic<int> at_work{2 * kThreads};
    std::thread other([&] {
        while (at_work > 0) {
            CHECK_OK(acldumpRegCallback(call_back, 0));
            acldumpUnregCallback();
        }
    });
    const auto fail_often = [&](int) {
        const aclrtStream own = new_stream();
        for (int i = 0; i < 10; ++i) {
            work.fail(own);
        }
        CHECK_OK(aclrtDestroyStream(own));
        --at_work;
    };
    std::thread more([&] { in_threads(fail_often); });
    in_threads(fail_often);
    more.join();
    other.join();
    acldumpUnregCallback();
    CHECK_OK(aclmdlFinalizeDump());
}

// The failure of the kernel is reported whatever happens to its dump.
void a_directory_that_fails_hides_nothing() {
    const Work work(4 << 20);
    const aclrtStream stream = new_stream();
    std::ofstream(g_place / "file") << "x";
    turn_on(g_place / "file" / "below");
    work.fail(stream);
    char path[64];
    CHECK_CODE(ACL_ERROR_FAILURE, acldumpGetExceptionInfoPath(path, sizeof path));
    CHECK_OK(aclmdlFinalizeDump());
    const fs::path full("/dev/full/x");
    turn_on(full);
    work.fail(stream);
    CHECK_OK(aclmdlFinalizeDump());
    const fs::path place = g_place / "limit";
    turn_on(place);
    rlimit before{};
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit low{1 << 20, before.rlim_max};
    CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
    work.fail(stream);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(dumps_below(place).empty());  // no part of a file
    CHECK_OK(aclmdlFinalizeDump());
    CHECK_OK(aclrtDestroyStream(stream));
}

void tensors_of_the_program_are_saved() {
    const Work work;
    acldumpTensorInfo tensor{};
    tensor.type = ACL_DUMP_TENSOR_OUTPUT;
    tensor.tensorSize = 64;
    tensor.tensorAddr = static_cast<std::int64_t *>(work.memory);
    tensor.addrType = ACL_DUMP_ADDR_RAW;
    tensor.placement = ACL_DUMP_PLACEMENT_DEVICE;
    tensor.shapeNum = 2;
    tensor.shape[0] = 4;
    tensor.shape[1] = 16;
    CHECK_CODE(ACL_ERROR_FAILURE, acldumpSaveExceptionInfo("saved", "tag", &tensor, 1));
    const fs::path place = g_place / "tensors";
    turn_on(place);
    CHECK_OK(acldumpSaveExceptionInfo("sub/saved", "a \"tag\"", &tensor, 1));
    for (const char *bad : {"", "..", "../x", "x/../y"}) {
        CHECK_CODE(ACL_ERROR_INVALID_PARAM, acldumpSaveExceptionInfo(bad, nullptr, &tensor, 1));
    }
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acldumpSaveExceptionInfo("x", nullptr, nullptr, 1));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acldumpSaveExceptionInfo("x", nullptr, &tensor, 0));
    acldumpTensorInfo bad = tensor;
    bad.shapeNum = ACL_DUMP_MAX_SHAPE_NUM + 1;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acldumpSaveExceptionInfo("x", nullptr, &bad, 1));
    bad = tensor;
    bad.addrType = ACL_DUMP_ADDR_PTR;
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acldumpSaveExceptionInfo("x", nullptr, &bad, 1));
    bad = tensor;
    bad.tensorAddr = reinterpret_cast<std::int64_t *>(0x1000);
    CHECK_CODE(ACL_ERROR_FAILURE, acldumpSaveExceptionInfo("x", nullptr, &bad, 1));
    const auto dumps = dumps_below(place);
    CHECK(dumps.size() == 1);
    CHECK(dumps[0].substr(0, 64) == std::string(64, '\x07'));
    CHECK(dumps[0].find("\"shape\":[4,16]") != std::string::npos);
    CHECK(dumps[0].find("\"user_tag\":\"a \\\"tag\\\"\"") != std::string::npos);
    CHECK_OK(aclmdlFinalizeDump());
}

// A name with the characters of a path stays in the directory.
void operators_may_have_any_name() {
    constexpr char kName[] = "../../a b/c";
    const aclsimKernel kernel{fail_block, nullptr, nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel(kName, &kernel));
    const aclrtBinHandle binary = load_cpu_binary();
    aclrtFuncHandle function = nullptr;
    CHECK_OK(aclrtRegisterCpuFunc(binary, kName, kName, &function));
    const fs::path place = g_place / "names";
    CHECK_OK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, place.c_str()));
    const aclrtStream stream = new_stream();
    std::uint64_t argument = 0;
    CHECK_OK(aclrtLaunchKernelWithHostArgs(function, 1, stream, nullptr, &argument, sizeof argument, nullptr, 0));
    CHECK(aclrtSynchronizeStream(stream) != ACL_SUCCESS);
    CHECK_OK(aclopStopDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS));
    CHECK(fs::exists(place / ".._.._a_b_c.0.json"));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtBinaryUnLoad(binary));
}

void operators_are_recorded_between_start_and_stop() {
    const Work work;
    const fs::path place = g_place / "operators" / "below";
    CHECK_OK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, place.c_str()));
    CHECK_CODE(ACL_ERROR_FAILURE, aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, place.c_str()));
    in_threads([&](int) {
        const aclrtStream stream = new_stream();
        work.fail(stream);
        CHECK_OK(aclrtDestroyStream(stream));
    });
    CHECK_OK(aclopStopDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS));
    CHECK_OK(aclopStopDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS));
    const auto files = dumps_below(place);
    CHECK(files.size() == 1);
    CHECK(files[0].find("\"name\":\"fails\",\"blocks\":2,\"arguments_size\":16") != std::string::npos);
    CHECK(files[0].find("\"launches\":4") != std::string::npos);
    CHECK_OK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, place.c_str()));
    CHECK(chmod(place.c_str(), 0700) == 0 && fs::remove_all(place) == 2);
    const aclrtStream stream = new_stream();
    work.fail(stream);
    CHECK_CODE(ACL_ERROR_FAILURE, aclopStopDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS));
    CHECK_OK(aclrtDestroyStream(stream));
}

}  // namespace

int main() {
    char directory[] = "dump_XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    g_place = fs::absolute(directory);
    for (const char *name : {"ASCEND_DUMP_PATH", "ASCEND_WORK_PATH", "ASCEND_DUMP_SCENE", "NPU_COLLECT_PATH"}) {
        CHECK(unsetenv(name) == 0);
    }
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    const aclsimKernel kernel{fail_block, nullptr, nullptr, 0, 0};
    CHECK_OK(aclsimRegisterKernel("fails", &kernel));
    a_failed_kernel_leaves_its_arguments_and_memory();
    kernels_of_many_threads_are_all_dumped();
    a_callback_receives_the_dump_in_place_of_the_file();
    callbacks_may_call_back_and_change_while_kernels_fail();
    a_directory_that_fails_hides_nothing();
    tensors_of_the_program_are_saved();
    operators_are_recorded_between_start_and_stop();
    operators_may_have_any_name();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    fs::remove_all(g_place);
    return 0;
}
