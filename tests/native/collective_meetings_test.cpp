// SPDX-License-Identifier: Apache-2.0
// Meetings of ranks: strangers, ranks that do not come, and settings that are wrong.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "collectives_kit.h"

namespace {

namespace fs = std::filesystem;

std::size_t entries_of(const char *directory) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

// Threads and descriptors of the process. A thread that has ended may be listed for a moment, also when those before
// were counted.
void await_no_more_than(std::size_t threads, std::size_t descriptors) {
    while (entries_of("/proc/self/task") > threads || entries_of("/proc/self/fd") > descriptors) {
        std::this_thread::yield();
    }
}

// --- strangers -------------------------------------------------------------------------------------------------------

int connect_to(std::uint16_t port) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(::connect(descriptor, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0);
    return descriptor;
}

void strangers_hold_up_nothing() {
    setenv("HCCL_CONNECT_TIMEOUT", "9", 1);  // less than the time in which one of them may say something
    HcclRootInfo info;
    CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
    unsigned port = 0;
    CHECK(std::sscanf(info.internal, "%*s %*s %u", &port) == 1);
    std::vector<int> strangers;
    for (const char *const text : {"", "", "GET / HTTP/1.1\r\n\r\n"}) {
        strangers.push_back(connect_to(static_cast<std::uint16_t>(port)));
        CHECK(::send(strangers.back(), text, std::strlen(text), 0) >= 0);
    }
    const std::vector<char> garbage(5000, 'x');
    strangers.push_back(connect_to(static_cast<std::uint16_t>(port)));
    CHECK(::send(strangers.back(), garbage.data(), garbage.size(), 0) > 0);
    std::vector<std::thread> ranks;
    for (std::uint32_t number = 0; number < 2; ++number) {
        ranks.emplace_back([&, number] {
            CHECK_OK(aclrtSetDevice(static_cast<std::int32_t>(number)));
            HcclComm comm = nullptr;
            CHECK_HCCL(HCCL_SUCCESS, HcclCommInitRootInfo(2, &info, number, &comm));
            CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(comm));
        });
    }
    for (std::thread &rank : ranks) {
        rank.join();
    }
    for (const int stranger : strangers) {
        close(stranger);
    }
    unsetenv("HCCL_CONNECT_TIMEOUT");
}

// --- ranks that do not come ------------------------------------------------------------------------------------------

std::string written(const std::string &text) {
    static int number = 0;
    const std::string path = "rank_table_" + std::to_string(getpid()) + "_" + std::to_string(++number) + ".json";
    std::ofstream(path) << text;
    return path;
}

std::string table_of(std::initializer_list<int> ids) {
    std::string devices;
    for (const int id : ids) {
        devices += std::string(devices.empty() ? "" : ", ") + R"({"device_id": ")" + std::to_string(devices.size()) +
                   R"(", "rank_id": ")" + std::to_string(id) + R"("})";
    }
    return R"({"server_list": [{"server_id": "127.0.0.1", "device": [)" + devices + "]}]}";
}

void failed_meetings_leave_nothing() {
    setenv("HCCL_CONNECT_TIMEOUT", "1", 1);
    const std::size_t threads = entries_of("/proc/self/task"), descriptors = entries_of("/proc/self/fd");
    HcclRootInfo info;
    HcclComm comm = nullptr;
    for (int round = 0; round < 2; ++round) {
        CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
        CHECK_HCCL(HCCL_E_TIMEOUT, HcclCommInitRootInfo(2, &info, 0, &comm));
    }
    await_no_more_than(threads, descriptors);
    setenv("HCCL_IF_BASE_PORT", free_port().c_str(), 1);
    const std::string table = written(table_of({0, 1}));
    for (int round = 0; round < 2; ++round) {  // at a place that is the same each time
        CHECK_HCCL(HCCL_E_TIMEOUT, HcclCommInitClusterInfo(table.c_str(), 0, &comm));
    }
    await_no_more_than(threads, descriptors);
    fs::remove(table);
    unsetenv("HCCL_IF_BASE_PORT");
    unsetenv("HCCL_CONNECT_TIMEOUT");
}

// --- settings --------------------------------------------------------------------------------------------------------

void wrong_limits_are_refused() {
    HcclRootInfo info;
    HcclComm comm = nullptr;
    CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
    for (const char *const variable : {"HCCL_CONNECT_TIMEOUT", "HCCL_EXEC_TIMEOUT"}) {
        for (const char *const value : {"abc", "-3", "1s", "1.5"}) {
            setenv(variable, value, 1);
            CHECK_REFUSED(HCCL_E_PARA, std::string(variable) + " is \"" + value + "\"",
                          HcclCommInitRootInfo(1, &info, 0, &comm));
        }
        setenv(variable, "0", 1);
        CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
        CHECK_HCCL(HCCL_SUCCESS, HcclCommInitRootInfo(1, &info, 0, &comm));
        CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(comm));
        CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
        unsetenv(variable);
    }
    CHECK_HCCL(HCCL_SUCCESS, HcclCommInitRootInfo(1, &info, 0, &comm));
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(comm));
}

void wrong_tables_are_refused() {
    struct Case {
        std::initializer_list<int> ids;
        const char *reason;
    };
    HcclComm comm = nullptr;
    for (const Case &each :
         {Case{{0, 0}, "two devices with rank_id 0"}, Case{{0, 5}, "2 devices, but none with rank_id 1"},
          Case{{1, 2}, "no device with rank_id 0"}}) {
        const std::string table = written(table_of(each.ids));
        CHECK_REFUSED(HCCL_E_PARA, each.reason, HcclCommInitClusterInfo(table.c_str(), 0, &comm));
        fs::remove(table);
    }
    CHECK_REFUSED(HCCL_E_OPEN_FILE_FAILURE, "/proc/self", HcclCommInitClusterInfo("/proc/self", 0, &comm));
}

// One of both describes the ranks of a device.
void rank_tables_exclude_root_information() {
    setenv("HCCL_IF_BASE_PORT", free_port().c_str(), 1);
    const std::string table = written(table_of({0}));
    const auto by_table = [&table](HcclComm *comm) { return HcclCommInitClusterInfo(table.c_str(), 0, comm); };
    const auto by_root = [](HcclComm *comm) {
        HcclRootInfo info;
        CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
        return HcclCommInitRootInfo(1, &info, 0, comm);
    };
    const std::size_t descriptors = entries_of("/proc/self/fd");
    HcclComm first = nullptr, part = nullptr, other = nullptr;

    CHECK_HCCL(HCCL_SUCCESS, by_table(&first));
    CHECK_REFUSED(HCCL_E_NOT_SUPPORT, "was created from a rank table", by_root(&other));
    std::int32_t devices[] = {0};
    CHECK_REFUSED(HCCL_E_NOT_SUPPORT, "root information is not supported", HcclCommInitAll(1, devices, &other));
    std::thread([&] {
        HcclComm elsewhere = nullptr;
        CHECK_OK(aclrtSetDevice(1));
        CHECK_HCCL(HCCL_SUCCESS, by_root(&elsewhere));
        CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(elsewhere));
        CHECK_OK(aclrtResetDevice(1));
    }).join();
    std::uint32_t ranks[] = {0};
    CHECK_HCCL(HCCL_SUCCESS, HcclCreateSubCommConfig(&first, 1, ranks, 1, 0, nullptr, &part));
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(first));
    CHECK_REFUSED(HCCL_E_NOT_SUPPORT, "was created from a rank table", by_root(&other));
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(part));

    CHECK_HCCL(HCCL_SUCCESS, by_root(&first));
    CHECK_REFUSED(HCCL_E_NOT_SUPPORT, "was created from root information", by_table(&other));
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(first));
    CHECK_HCCL(HCCL_SUCCESS, by_table(&first));
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(first));
    await_no_more_than(entries_of("/proc/self/task"), descriptors);
    fs::remove(table);
    unsetenv("HCCL_IF_BASE_PORT");
}

}  // namespace

int main() {
    const Watchdog watchdog("collective_meetings_test", 3 * kLongEnough);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    strangers_hold_up_nothing();
    failed_meetings_leave_nothing();
    wrong_limits_are_refused();
    wrong_tables_are_refused();
    rank_tables_exclude_root_information();
    CHECK_OK(aclFinalize());
    return 0;
}
