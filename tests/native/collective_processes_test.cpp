// SPDX-License-Identifier: Apache-2.0
// Collective communication between processes: the program starts itself once for each rank. A rank reads orders from a
// pipe and writes answers to another one.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <set>

#include "collectives_kit.h"

namespace {

constexpr std::uint32_t kRanks = 4;
constexpr int kOrders = 3;  // descriptors of a rank
constexpr int kAnswers = 4;

void write_all(int to, const void *data, std::size_t size) {
    for (const auto *at = static_cast<const char *>(data); size > 0;) {
        const ssize_t written = write(to, at, size);
        CHECK(written > 0);
        at += written;
        size -= static_cast<std::size_t>(written);
    }
}

// Returns false if the other end has gone.
bool read_all(int from, void *data, std::size_t size) {
    for (auto *at = static_cast<char *>(data); size > 0;) {
        const ssize_t part = read(from, at, size);
        if (part <= 0) {
            return false;
        }
        at += part;
        size -= static_cast<std::size_t>(part);
    }
    return true;
}

void write_text(int to, const std::string &text) {
    const std::uint64_t size = text.size();
    write_all(to, &size, sizeof size);
    write_all(to, text.data(), text.size());
}

std::string read_text(int from) {
    std::uint64_t size = 0;
    CHECK(read_all(from, &size, sizeof size));
    std::string text(size, '\0');
    CHECK(read_all(from, text.data(), size));
    return text;
}

// --- a rank ----------------------------------------------------------------------------------------------------------

std::vector<float> numbers_of(std::uint32_t rank, std::size_t count) {
    std::vector<float> content(count);
    for (std::size_t i = 0; i < count; ++i) {
        content[i] = 1.0F / static_cast<float>(1 + (i * 7 + rank * 13) % 1009);
    }
    return content;
}

// Runs operations with small and large messages, and returns the bytes of all results.
std::string results_of(const Rank &rank) {
    std::string results;
    const auto append = [&](const Memory<float> &memory) {
        rank.synchronize();
        const std::vector<float> content = memory.get();
        results.append(reinterpret_cast<const char *>(content.data()), content.size() * sizeof(float));
    };
    constexpr HcclDataType kType = HCCL_DATA_TYPE_FP32;
    for (const std::size_t count : {std::size_t{5}, std::size_t{3000}, std::size_t{200001}}) {
        const Memory<float> from(numbers_of(rank.number, count)), sum(count), largest(count), part(count);
        const Memory<float> wide(numbers_of(rank.number, count * rank.size)), all(count * rank.size);
        CHECK_HCCL(HCCL_SUCCESS,
                   HcclAllReduce(from.data(), sum.data(), count, kType, HCCL_REDUCE_SUM, rank.comm, rank.stream));
        append(sum);
        CHECK_HCCL(HCCL_SUCCESS,
                   HcclReduce(from.data(), largest.data(), count, kType, HCCL_REDUCE_MAX, 2, rank.comm, rank.stream));
        if (rank.number == 2) {
            append(largest);
        }
        CHECK_HCCL(HCCL_SUCCESS,
                   HcclReduceScatter(wide.data(), part.data(), count, kType, HCCL_REDUCE_SUM, rank.comm, rank.stream));
        append(part);
        CHECK_HCCL(HCCL_SUCCESS, HcclBroadcast(from.data(), count, kType, 1, rank.comm, rank.stream));
        append(from);
        CHECK(from.get() == numbers_of(1, count));
        CHECK_HCCL(HCCL_SUCCESS, HcclAllGather(sum.data(), all.data(), count, kType, rank.comm, rank.stream));
        append(all);
        CHECK_HCCL(HCCL_SUCCESS,
                   HcclAlltoAll(wide.data(), count, kType, all.data(), count, kType, rank.comm, rank.stream));
        append(all);
        CHECK(part_of(all.get(), 0, count) == part_of(numbers_of(0, count * rank.size), count * rank.number, count));
        const std::uint32_t next = (rank.number + 1) % rank.size, before = (rank.number + rank.size - 1) % rank.size;
        HcclSendRecvItem items[] = {{HCCL_SEND, part.data(), count, kType, next},
                                    {HCCL_RECV, sum.data(), count, kType, before}};
        CHECK_HCCL(HCCL_SUCCESS, HcclBatchSendRecv(items, 2, rank.comm, rank.stream));
        append(sum);
    }
    return results;
}

// Half of the ranks, in another order.
void works_in_a_part(const Rank &rank) {
    std::uint32_t members[] = {3, 1};
    HcclComm parent = rank.comm, part = nullptr;
    const bool is_member = rank.number % 2 == 1;
    CHECK_HCCL(HCCL_SUCCESS, HcclCreateSubCommConfig(&parent, is_member ? 2 : 0, is_member ? members : nullptr, 1,
                                                     rank.number == 1 ? 1 : 0, nullptr, &part));
    if (is_member) {
        const Memory<float> value(std::vector<float>(20000, static_cast<float>(rank.number)));
        CHECK_HCCL(HCCL_SUCCESS, HcclAllReduce(value.data(), value.data(), 20000, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                               part, rank.stream));
        rank.synchronize();
        CHECK(value.get() == std::vector<float>(20000, 4.0F));
        CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(part));
    }
}

HcclComm join_by_root(std::uint32_t number) {
    HcclRootInfo info;
    if (number == 0) {
        CHECK_HCCL(HCCL_SUCCESS, HcclGetRootInfo(&info));
        write_all(kAnswers, &info, sizeof info);
    } else {
        CHECK(read_all(kOrders, &info, sizeof info));
    }
    HcclComm comm = nullptr;
    CHECK_HCCL(HCCL_SUCCESS, HcclCommInitRootInfo(kRanks, &info, number, &comm));
    return comm;
}

void sum_ones(const Rank &rank, std::size_t count) {
    const Memory<float> value(std::vector<float>(count, 1.0F));
    CHECK_HCCL(HCCL_SUCCESS, all_reduce(rank, value, count));
    rank.synchronize();
    CHECK(value.get() == std::vector<float>(count, static_cast<float>(rank.size)));
}

// Starts a child that can discard what it has inherited, but not use it, and then lives on.
void fork_child(const Rank &rank) {
    int ready[2];
    CHECK(pipe2(ready, O_CLOEXEC) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        HcclRootInfo info;
        HcclResult error = HCCL_SUCCESS;
        CHECK_REFUSED(HCCL_E_RUNTIME, "forked", HcclBarrier(rank.comm, rank.stream));
        CHECK_REFUSED(HCCL_E_RUNTIME, "forked", HcclGetCommAsyncError(rank.comm, &error));
        CHECK_REFUSED(HCCL_E_RUNTIME, "forked", HcclGetRootInfo(&info));
        CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(rank.comm));
        write_all(ready[1], "r", 1);
        char byte = 0;
        while (read(kOrders, &byte, 1) > 0) {
        }
        _exit(0);
    }
    close(ready[1]);
    char byte = 0;
    CHECK(read_all(ready[0], &byte, 1));
    close(ready[0]);
}

// Processes of one user may not read each other's memory any more.
void become_unreadable() {
    if (geteuid() == 0) {
        CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    }
    CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
}

constexpr std::uint32_t kMessages = 1000;
constexpr std::size_t kMessageCount = 4096;  // floats: messages that are sent at once, more than sockets hold

void send_and_leave(const Rank &rank) {
    const Memory<float> memory(kMessageCount);
    for (std::uint32_t number = 0; rank.number < 2 && number < kMessages; ++number) {
        if (rank.number == 0) {
            memory.set(std::vector<float>(kMessageCount, static_cast<float>(number)));
            CHECK_HCCL(HCCL_SUCCESS,
                       HcclSend(memory.data(), kMessageCount, HCCL_DATA_TYPE_FP32, 1, rank.comm, rank.stream));
            rank.synchronize();
        } else {
            CHECK_HCCL(HCCL_SUCCESS,
                       HcclRecv(memory.data(), kMessageCount, HCCL_DATA_TYPE_FP32, 0, rank.comm, rank.stream));
            rank.synchronize();
            CHECK(memory.get() == std::vector<float>(kMessageCount, static_cast<float>(number)));
        }
    }
}

// More small messages than sockets hold, and one that lies in memory which the ranks share.
void send_behind_others(const Rank &rank) {
    const Memory<float> small(kMessageCount), medium(std::vector<float>(kLargeCount, static_cast<float>(rank.number)));
    aclrtStream other = nullptr;
    CHECK_OK(aclrtCreateStream(&other));
    for (std::uint32_t number = 0; rank.number < 2 && number < kMessages; ++number) {
        CHECK_HCCL(HCCL_SUCCESS,
                   rank.number == 0
                       ? HcclSend(small.data(), kMessageCount, HCCL_DATA_TYPE_FP32, 1, rank.comm, rank.stream)
                       : HcclRecv(small.data(), kMessageCount, HCCL_DATA_TYPE_FP32, 0, rank.comm, rank.stream));
    }
    if (rank.number == 0) {
        CHECK_CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(rank.stream, 1000));
        CHECK_HCCL(HCCL_SUCCESS, HcclSend(medium.data(), kLargeCount, HCCL_DATA_TYPE_FP32, 1, rank.comm, other));
        CHECK_CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(other, 1000));
        write_text(kAnswers, "waits");
    } else if (rank.number == 1) {
        rank.synchronize();
        CHECK_HCCL(HCCL_SUCCESS, HcclRecv(medium.data(), kLargeCount, HCCL_DATA_TYPE_FP32, 0, rank.comm, other));
    }
    CHECK_OK(aclrtSynchronizeStream(other));
    CHECK(rank.number != 1 || medium.get() == std::vector<float>(kLargeCount, 0.0F));
    CHECK_OK(aclrtDestroyStream(other));
    rank.synchronize();
}

void be_rank(const std::string &task, std::uint32_t number) {
    const Watchdog watchdog(task.c_str(), 3 * kLongEnough);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(static_cast<std::int32_t>(number)));
    Rank rank{kRanks, number, nullptr, nullptr, nullptr};
    CHECK_OK(aclrtCreateStream(&rank.stream));
    if (task == "works") {
        rank.comm = join_by_root(number);
        write_text(kAnswers, results_of(rank));
        works_in_a_part(rank);
    } else if (task == "meets by a table") {
        const std::string table = read_text(kOrders);
        for (int round = 0; round < 5; ++round) {  // one after the other, under the same port
            CHECK_HCCL(HCCL_SUCCESS, HcclCommInitClusterInfo(table.c_str(), number, &rank.comm));
            const Memory<float> value(std::vector<float>(3, 1.0F));
            CHECK_HCCL(HCCL_SUCCESS, HcclAllReduce(value.data(), value.data(), 3, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                                   rank.comm, rank.stream));
            rank.synchronize();
            CHECK(value.get() == std::vector<float>(3, 4.0F));
            if (round < 4) {
                CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(rank.comm));
            }
        }
        write_text(kAnswers, "met");
    } else if (task == "becomes unreadable") {
        rank.comm = join_by_root(number);
        sum_ones(rank, 100000);
        write_text(kAnswers, "read");
        read_text(kOrders);
        become_unreadable();
        write_text(kAnswers, "unreadable");
        read_text(kOrders);
        sum_ones(rank, 4000000);
        sum_ones(rank, 100000);
    } else if (task == "sends and leaves") {
        rank.comm = join_by_root(number);
        write_text(kAnswers, "joined");
        read_text(kOrders);
        send_and_leave(rank);
        write_text(kAnswers, "done");
    } else if (task == "sends behind others") {
        rank.comm = join_by_root(number);
        sum_ones(rank, 100000);  // whose ranks share memory from now on
        write_text(kAnswers, "joined");
        read_text(kOrders);
        send_behind_others(rank);
    } else if (task == "leaves a stopped rank") {
        rank.comm = join_by_root(number);
        std::vector<HcclComm> pairs(number == 0 || number == 3 ? 30 : 0);  // another rank would wake rank 0
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            std::uint32_t members[] = {0, 3};
            CHECK_HCCL(HCCL_SUCCESS,
                       HcclCreateSubCommConfig(&rank.comm, 2, members, i + 1, number == 0 ? 0 : 1, nullptr, &pairs[i]));
        }
        write_text(kAnswers, "joined");
        read_text(kOrders);
        const Memory<float> part(16), whole(32);
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            if (number == 0) {
                CHECK_HCCL(HCCL_SUCCESS,
                           HcclAllGather(part.data(), whole.data(), 16, HCCL_DATA_TYPE_FP32, pairs[i], rank.stream));
                std::this_thread::sleep_for(i * std::chrono::microseconds(100));  // in different states of the wait
            }
            CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(pairs[i]));
            if (number == 0) {
                rank.failure();
            }
        }
        write_text(kAnswers, "left");
    } else {  // loses rank 3
        rank.comm = join_by_root(number);
        const Memory<float> value(std::vector<float>(100000, 1.0F));
        CHECK_HCCL(HCCL_SUCCESS, HcclBarrier(rank.comm, rank.stream));
        rank.synchronize();
        if (number == 3) {
            fork_child(rank);
        }
        sum_ones(rank, 100000);
        if (number == 3) {
            write_text(kAnswers, "idle");
            read_text(kOrders);  // never comes
        }
        CHECK_HCCL(HCCL_SUCCESS, HcclAllReduce(value.data(), value.data(), 100000, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                               rank.comm, rank.stream));
        write_text(kAnswers, "waiting");
        const std::string text = rank.failure();
        CHECK_CONTAINS(text, "rank 3 has ended");
        CHECK_CONTAINS(text, "HcclAllReduce number 3");
        CHECK(rank.async_error() == HCCL_E_REMOTE);
        CHECK_HCCL(HCCL_E_REMOTE, HcclBarrier(rank.comm, rank.stream));
        write_text(kAnswers, text);
    }
    CHECK_OK(aclrtDestroyStream(rank.stream));
    CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(rank.comm));
    CHECK_OK(aclrtResetDevice(static_cast<std::int32_t>(number)));
    CHECK_OK(aclFinalize());
}

// --- the program that starts them ------------------------------------------------------------------------------------

struct Process {
    pid_t id;
    int orders;
    int answers;
};

std::vector<Process> start(const std::string &task) {
    std::vector<Process> processes;
    for (std::uint32_t number = 0; number < kRanks; ++number) {
        int orders[2], answers[2];
        CHECK(pipe2(orders, O_CLOEXEC) == 0 && pipe2(answers, O_CLOEXEC) == 0);
        const std::string argument = std::to_string(number);  // nothing is allocated between fork and exec
        const pid_t id = fork();
        CHECK(id >= 0);
        if (id == 0) {
            // Moved out of the way first: the descriptors may be those that they are to become.
            const int in = fcntl(orders[0], F_DUPFD_CLOEXEC, 100), out = fcntl(answers[1], F_DUPFD_CLOEXEC, 100);
            dup2(in, kOrders);
            dup2(out, kAnswers);
            execl("/proc/self/exe", "rank", task.c_str(), argument.c_str(), nullptr);
            _exit(127);
        }
        close(orders[0]);
        close(answers[1]);
        processes.push_back({id, orders[1], answers[0]});
    }
    return processes;
}

void distribute_root(const std::vector<Process> &processes) {
    HcclRootInfo info;
    CHECK(read_all(processes[0].answers, &info, sizeof info));
    for (std::uint32_t number = 1; number < kRanks; ++number) {
        write_all(processes[number].orders, &info, sizeof info);
    }
}

std::set<std::string> shared_files() {
    std::set<std::string> names;
    DIR *const directory = opendir("/dev/shm");
    while (const dirent *entry = directory == nullptr ? nullptr : readdir(directory)) {
        names.insert(entry->d_name);
    }
    if (directory != nullptr) {
        closedir(directory);
    }
    return names;
}

// Waits for the ranks. The files in shared memory of other programs may change meanwhile.
void end(const std::vector<Process> &processes, const std::set<std::string> &files_before, pid_t killed = 0) {
    for (const Process &process : processes) {
        int status = 0;
        CHECK(waitpid(process.id, &status, 0) == process.id);
        CHECK(process.id == killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
        close(process.orders);
        close(process.answers);
    }
    for (const std::string &name : shared_files()) {
        CHECK(files_before.count(name) == 1 || !contains(name, "hccl"));
        for (const Process &process : processes) {
            CHECK(files_before.count(name) == 1 || !contains(name, std::to_string(process.id)));
        }
    }
}

std::vector<std::string> results_with(const char *shared_memory) {
    setenv("ASCEND_RT_HCCL_SHARED_MEMORY", shared_memory, 1);
    const std::set<std::string> files = shared_files();
    const std::vector<Process> processes = start("works");
    distribute_root(processes);
    std::vector<std::string> results;
    for (const Process &process : processes) {
        results.push_back(read_text(process.answers));
    }
    end(processes, files);
    return results;
}

void results_do_not_depend_on_the_way() {
    const std::vector<std::string> results = results_with("1");
    CHECK(results[0].size() > 1000000);
    CHECK(results == results_with("0"));
}

void a_killed_rank_is_named(const char *shared_memory) {
    setenv("ASCEND_RT_HCCL_SHARED_MEMORY", shared_memory, 1);
    const std::set<std::string> files = shared_files();
    const std::vector<Process> processes = start("loses rank 3");
    distribute_root(processes);
    CHECK(read_text(processes[3].answers) == "idle");
    for (std::uint32_t number = 0; number < 3; ++number) {
        CHECK(read_text(processes[number].answers) == "waiting");
    }
    CHECK(kill(processes[3].id, SIGKILL) == 0);
    for (std::uint32_t number = 0; number < 3; ++number) {
        CHECK_CONTAINS(read_text(processes[number].answers), "on rank " + std::to_string(number) + " of 4");
    }
    end(processes, files, processes[3].id);
}

void memory_may_become_unreadable() {
    setenv("ASCEND_RT_HCCL_SHARED_MEMORY", "1", 1);
    const std::set<std::string> files = shared_files();
    const std::vector<Process> processes = start("becomes unreadable");
    distribute_root(processes);
    for (const char *const answer : {"read", "unreadable"}) {
        for (const Process &process : processes) {
            CHECK(read_text(process.answers) == answer);
        }
        for (const Process &process : processes) {
            write_text(process.orders, "go on");
        }
    }
    end(processes, files);
}

// Starts processes that go on when one of them has been stopped.
std::vector<Process> start_beside_a_stopped_one(const char *program, std::uint32_t stopped) {
    std::vector<Process> processes = start(program);
    distribute_root(processes);
    for (const Process &process : processes) {
        CHECK(read_text(process.answers) == "joined");
    }
    CHECK(kill(processes[stopped].id, SIGSTOP) == 0);
    for (const Process &process : processes) {
        write_text(process.orders, "go on");
    }
    return processes;
}

void what_was_sent_arrives_without_its_sender() {
    const std::set<std::string> files = shared_files();
    const std::vector<Process> processes = start_beside_a_stopped_one("sends and leaves", 1);
    // It has sent all, or waits: only a limit ends the wait for something that must not come.
    pollfd sent{processes[0].answers, POLLIN, 0};
    CHECK(poll(&sent, 1, 1000) == 0);
    CHECK(kill(processes[1].id, SIGCONT) == 0);
    for (const Process &process : processes) {
        CHECK(read_text(process.answers) == "done");
    }
    end(processes, files);
}

// A sender that left a message in shared memory, of which the other rank does not know, would take it along.
void a_message_in_shared_memory_has_been_sent_when_it_is_complete() {
    setenv("ASCEND_RT_HCCL_SHARED_MEMORY", "1", 1);
    const std::set<std::string> files = shared_files();
    const std::vector<Process> processes = start_beside_a_stopped_one("sends behind others", 1);
    CHECK(read_text(processes[0].answers) == "waits");
    CHECK(kill(processes[1].id, SIGCONT) == 0);
    end(processes, files);
}

// A stopped rank does not notice that others leave it.
void a_stopped_rank_can_be_left() {
    const std::set<std::string> files = shared_files();
    const std::vector<Process> processes = start_beside_a_stopped_one("leaves a stopped rank", 3);
    for (std::uint32_t number = 0; number < 3; ++number) {
        CHECK(read_text(processes[number].answers) == "left");
    }
    CHECK(kill(processes[3].id, SIGCONT) == 0);
    CHECK(read_text(processes[3].answers) == "left");
    end(processes, files);
}

void ranks_meet_by_a_table() {
    char path[] = "/tmp/rank_table_XXXXXX";
    const int file = mkstemp(path);
    CHECK(file >= 0);
    close(file);
    std::ofstream(path) << R"({"version": "1.0", "server_count": "1", "status": "completed", "server_list": [{
        "server_id": "10.0.0.1", "device": [
            {"device_id": "0", "device_ip": "192.168.1.8", "rank_id": "0"},
            {"device_id": "1", "device_ip": "192.168.1.9", "rank_id": "1"},
            {"device_id": "2", "device_ip": "192.168.1.10", "rank_id": "2"},
            {"device_id": "3", "device_ip": "192.168.1.11", "rank_id": "3"}]}]})";
    setenv("HCCL_IF_BASE_PORT", free_port().c_str(), 1);
    const std::set<std::string> files = shared_files();
    const std::vector<Process> processes = start("meets by a table");
    for (const Process &process : processes) {
        write_text(process.orders, path);
    }
    for (const Process &process : processes) {
        CHECK(read_text(process.answers) == "met");
    }
    end(processes, files);
    unlink(path);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc == 3) {
        be_rank(argv[1], static_cast<std::uint32_t>(std::stoul(argv[2])));
        return 0;
    }
    const Watchdog watchdog("collective_processes_test", 6 * kLongEnough);
    results_do_not_depend_on_the_way();
    a_killed_rank_is_named("1");
    a_killed_rank_is_named("0");
    ranks_meet_by_a_table();
    memory_may_become_unreadable();
    what_was_sent_arrives_without_its_sender();
    a_message_in_shared_memory_has_been_sent_when_it_is_complete();
    a_stopped_rank_can_be_left();
    return 0;
}
