// SPDX-License-Identifier: Apache-2.0
// Shared queues of several processes, which are killed, stopped, or damage what they share.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "queue_kit.h"

using namespace queue_kit;

namespace {

void rights_are_granted_to_processes() {
    Pipe to_parent, to_child;
    const Child owner([&] {
        start();
        const std::uint32_t queue = new_queue(4);
        to_child.put(queue);
        const pid_t user = to_parent.get<pid_t>();
        CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, send(queue + 1000, "x"));
        CHECK_OK(acltdtGrantQueue(queue, user, ACL_TDT_QUEUE_PERMISSION_DEQUEUE, 0));
        CHECK_OK(send(queue, "first"));
        CHECK_OK(acltdtEnqueue(queue, new_buffer(std::string(70000, 'b')), kForever));
        CHECK(to_parent.get<int>() == 1);
        CHECK_OK(acltdtGrantQueue(queue, user, ACL_TDT_QUEUE_PERMISSION_ENQUEUE, 0));
        to_child.put(2);
        CHECK(receive(queue, kForever) == "back");
        CHECK_OK(acltdtDestroyQueue(queue));
        to_child.put(3);
        stop();
    });
    const Child user([&] {
        start();
        const std::uint32_t queue = to_child.get<std::uint32_t>();
        std::uint32_t rights = 0;
        CHECK_CODE(ACL_ERROR_RT_NO_PERMISSION, acltdtAttachQueue(queue, 0, &rights));
        CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, send(queue, "x"));
        to_parent.put(getpid());
        CHECK(attach(queue) == ACL_TDT_QUEUE_PERMISSION_DEQUEUE);
        CHECK(receive(queue, kForever) == "first");
        acltdtBuf buffer = nullptr;
        CHECK_OK(acltdtDequeue(queue, &buffer, kForever));
        CHECK(text_of(buffer) == std::string(70000, 'b'));
        CHECK_CODE(ACL_ERROR_RT_NO_PERMISSION, send(queue, "x"));
        CHECK_CODE(ACL_ERROR_RT_NO_PERMISSION, acltdtGrantQueue(queue, 1, kAll, 0));
        CHECK_CODE(ACL_ERROR_RT_NO_PERMISSION, acltdtDestroyQueue(queue));
        to_parent.put(1);
        CHECK(to_child.get<int>() == 2);
        CHECK_OK(send(queue, "back"));
        CHECK(to_child.get<int>() == 3);
        CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, send(queue, "x"));
        CHECK(text_of(buffer) == std::string(70000, 'b'));  // lives on without the queue
        CHECK_OK(acltdtFreeBuf(buffer));
        stop();
    });
    owner.join();
    user.join();
}

// Kills producers and consumers at any moment. Each survivor sees whole messages, every one once, and goes on.
void processes_may_be_killed_at_any_moment() {
    constexpr int kRounds = 12;
    std::minstd_rand random(20260801);
    Pipe to_keeper, from_keeper;
    const Child keeper([&] {
        start();
        const std::uint32_t queue = new_queue(8);
        from_keeper.put(queue);
        for (pid_t user = to_keeper.get<pid_t>(); user != 0; user = to_keeper.get<pid_t>()) {
            CHECK_OK(acltdtGrantQueue(queue, user, kAll, 0));
        }
        while (send(queue, "end") == ACL_ERROR_RT_QUEUE_FULL) {  // whatever the killed ones left is whole
            const std::string text = receive(queue);
            CHECK(text.find_first_not_of(text[0]) == std::string::npos);
        }
        CHECK_OK(acltdtDestroyQueue(queue));
        stop();
    });
    const auto queue = from_keeper.get<std::uint32_t>();
    for (int round = 0; round < kRounds; ++round) {
        std::vector<Child> users;
        for (const bool produces : {true, false, true, false}) {
            users.emplace_back([&, produces] {
                start();
                attach(queue);
                for (int i = 0;; ++i) {
                    const std::string text(static_cast<std::size_t>(i % 3 == 0 ? 5000 : 20), 'a' + i % 26);
                    if (produces && i % 2 == 0) {
                        acltdtBuf buffer = new_buffer(text);
                        if (acltdtEnqueue(queue, buffer, 5) != ACL_SUCCESS) {
                            CHECK_OK(acltdtFreeBuf(buffer));
                        }
                    } else if (produces) {
                        send(queue, text, 5);
                    } else {
                        std::string got(6000, '\0');
                        std::size_t length = 0;
                        const aclError code = acltdtDequeueData(queue, got.data(), got.size(), &length, nullptr, 0, 5);
                        CHECK(code == ACL_SUCCESS || code == ACL_ERROR_RT_QUEUE_EMPTY ||
                              code == ACL_ERROR_RT_DRV_INTERNAL_ERROR);  // taken by a process that was killed
                        CHECK(code != ACL_SUCCESS ||
                              got.find_first_not_of(got[0], 1) == (length == got.size() ? std::string::npos : length));
                    }
                }
            });
            to_keeper.put(users.back().process());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(60 + random() % 60));
        for (const Child &user : users) {
            user.kill();
        }
    }
    to_keeper.put(pid_t{0});
    keeper.join();
}

// A wait ends when the process that it waited for is killed.
void a_wait_for_a_killed_process_ends(std::int32_t limit) {
    Pipe to_owner, to_user, attached;
    const Child owner([&] {
        start();
        const std::uint32_t queue = new_queue(4);
        to_user.put(queue);
        CHECK_OK(acltdtGrantQueue(queue, to_owner.get<pid_t>(), ACL_TDT_QUEUE_PERMISSION_ENQUEUE, 0));
        acltdtBuf buffer = nullptr;
        CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, acltdtDequeue(queue, &buffer, limit));
        CHECK_CODE(ACL_ERROR_FAILURE, acltdtDequeue(queue, &buffer, 1));  // said once
        stop();
    });
    const Child user([&] {
        start();
        const auto queue = to_user.get<std::uint32_t>();
        to_owner.put(getpid());
        attach(queue);
        attached.put(1);
        pause();
    });
    attached.get<int>();
    user.kill();
    owner.join();
}

// Threads that attach at the same time all get the queue; a reset ends the waits of a process that did not make it.
void threads_attach_and_are_reset_together() {
    Pipe to_owner, to_user;
    const Child owner([&] {
        start();
        const std::uint32_t queue = new_queue(4);
        to_user.put(queue);
        const auto user = to_owner.get<pid_t>();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // either order of the calls is right
        CHECK_OK(acltdtGrantQueue(queue, user, kAll, 0));
        CHECK(to_owner.get<pid_t>() == 0);
        CHECK_OK(acltdtDestroyQueue(queue));
        stop();
    });
    const Child user([&] {
        start();
        const auto queue = to_user.get<std::uint32_t>();
        std::atomic<int> attached{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                CHECK_OK(aclrtSetDevice(0));
                CHECK(attach(queue) == kAll);
                ++attached;
                acltdtBuf buffer = nullptr;
                const aclError code = acltdtDequeue(queue, &buffer, kForever);
                CHECK(code == ACL_ERROR_RT_DRV_INTERNAL_ERROR || code == ACL_ERROR_RT_CONTEXT_NULL);
            });
        }
        to_owner.put(getpid());
        while (attached < 4) {
            std::this_thread::yield();
        }
        CHECK_OK(aclrtResetDeviceForce(0));
        for (std::thread &thread : threads) {
            thread.join();
        }
        to_owner.put(pid_t{0});
        CHECK_OK(aclFinalize());
    });
    owner.join();
    user.join();
}

// A process stopped at any moment, even in the middle of a step, leaves codes to the others, which do not hang.
void a_stopped_process_blocks_nobody() {
    Pipe to_owner, to_user;
    const Child user([&] {
        const auto queue = to_user.get<std::uint32_t>();
        start();
        to_owner.put(getpid());
        attach(queue);
        to_owner.put(pid_t{0});
        for (;;) {
            send(queue, std::string(2000, 'x'), 0);
        }
    });
    const Child owner([&] {
        start();
        const std::uint32_t queue = new_queue(16);
        to_user.put(queue);
        const pid_t other = to_owner.get<pid_t>();
        CHECK_OK(acltdtGrantQueue(queue, other, kAll, 0));
        to_owner.get<pid_t>();
        std::string text(4000, '\0');
        std::size_t length = 0;
        for (int round = 0; round < 10; ++round) {
            kill(other, SIGSTOP);
            for (int i = 0; i < 20; ++i) {
                const aclError code = acltdtDequeueData(queue, text.data(), text.size(), &length, nullptr, 0, 10);
                CHECK(code == ACL_SUCCESS || code == ACL_ERROR_RT_QUEUE_EMPTY ||
                      code == ACL_ERROR_RT_DRV_INTERNAL_ERROR);
                if (code == ACL_ERROR_RT_DRV_INTERNAL_ERROR) {
                    break;
                }
            }
            kill(other, SIGCONT);
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
        }
        kill(other, SIGKILL);
        stop();
    });
    owner.join();
    CHECK(waitpid(user.process(), nullptr, 0) == user.process());
}

std::vector<std::string> shared_files() {
    std::vector<std::string> names;
    DIR *directory = opendir("/dev/shm");
    CHECK(directory != nullptr);
    while (const dirent *found = readdir(directory)) {
        const std::string name = found->d_name;
        const std::string own = "ascend_rt-" + std::to_string(getpid()) + ".";
        if (name.compare(0, own.size(), own) == 0) {
            names.push_back(name);
        }
    }
    closedir(directory);
    return names;
}

// Whatever another process writes to the shared memory, calls answer codes.
void damaged_memory_has_codes() {
    const Child child([] {
        start();
        std::minstd_rand random(7);
        for (int round = 0; round < 150; ++round) {
            const std::uint32_t queue = new_queue(2);
            CHECK_OK(acltdtEnqueue(queue, new_buffer("one"), 0));
            CHECK_OK(send(queue, std::string(2000, 't')));
            for (const std::string &name : shared_files()) {
                const int file = shm_open(("/" + name).c_str(), O_RDWR, 0);
                CHECK(file >= 0);
                const bool is_part = name.find('+') != std::string::npos;
                if (round % 5 == 4) {
                    CHECK(ftruncate(file, is_part ? 1 : 100) == 0);
                } else if (round % 5 == 3 && is_part) {
                    shm_unlink(("/" + name).c_str());
                } else {
                    constexpr off_t kHead = 4096;
                    for (int i = 0; i < 200; ++i) {
                        const auto value = static_cast<std::uint32_t>(random() * (random() % 3));
                        CHECK(is_part || pwrite(file, &value, 4, static_cast<off_t>(random() % kHead)) == 4);
                    }
                }
                close(file);
            }
            acltdtBuf buffer = nullptr;
            if (acltdtDequeue(queue, &buffer, 0) == ACL_SUCCESS) {
                acltdtFreeBuf(buffer);
            }
            std::string text(4000, '\0');
            std::size_t length = 0;
            acltdtDequeueData(queue, text.data(), text.size(), &length, nullptr, 0, 0);
            send(queue, std::string(3000, 'x'));
            acltdtDestroyQueue(queue);
        }
        stop();
    });
    child.join();
}

// The host gives no more memory.
void a_full_host_has_codes() {
    const Child child([] {
        start();
        const std::uint32_t queue = new_queue(8);
        acltdtBuf buffer = nullptr;
        const rlimit limit = {1 << 20, 1 << 20};
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        CHECK_CODE(ACL_ERROR_RT_MEMORY_ALLOCATION, acltdtAllocBuf(2 << 20, 0, &buffer));
        CHECK_CODE(ACL_ERROR_RT_MEMORY_ALLOCATION, send(queue, std::string(2 << 20, 'x')));
        CHECK_OK(send(queue, std::string(1000, 'x')));
        CHECK(receive(queue) == std::string(1000, 'x'));
        CHECK_OK(acltdtDestroyQueue(queue));
        stop();
    });
    child.join();
}

std::uint64_t free_shared_memory() {
    struct statvfs status{};
    CHECK(statvfs("/dev/shm", &status) == 0);
    return status.f_bfree * status.f_frsize;
}

// /dev/shm is full. No message is lost, and nothing stays behind.
void full_shared_memory_has_codes() {
    const Child child([] {
        if (!has_separate_shm("size=256k")) {
            return;
        }
        start();
        CHECK_OK(acltdtDestroyQueue(new_queue(2)));
        CHECK_OK(acltdtFreeBuf(new_buffer("first")));
        const std::uint64_t free_before = free_shared_memory();
        const std::uint32_t queue = new_queue(4);
        CHECK_OK(send(queue, "small"));
        CHECK_OK(send(queue, std::string(4000, 'l')));
        std::vector<acltdtBuf> held(1);
        while (acltdtAllocBuf(4096, ACL_TDT_NORMAL_MEM, &held.back()) == ACL_SUCCESS) {
            held.push_back(nullptr);
        }
        held.pop_back();
        CHECK(!held.empty() && free_shared_memory() == 0);
        acltdtBuf buffer = nullptr;
        std::uint32_t other = 0;
        CHECK_CODE(ACL_ERROR_RT_MEMORY_ALLOCATION, acltdtDequeue(queue, &buffer, 0));  // needs a page
        CHECK_CODE(ACL_ERROR_RT_MEMORY_ALLOCATION, send(queue, std::string(4000, 'x')));
        CHECK_CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, acltdtCreateQueue(nullptr, &other));
        CHECK_OK(send(queue, "fits"));
        CHECK_OK(acltdtFreeBuf(held.back()));
        held.pop_back();
        CHECK_OK(acltdtDequeue(queue, &buffer, 0));
        CHECK(text_of(buffer) == "small");
        CHECK(receive(queue) == std::string(4000, 'l'));
        CHECK(receive(queue) == "fits");
        held.push_back(buffer);
        for (const acltdtBuf it : held) {
            CHECK_OK(acltdtFreeBuf(it));
        }
        CHECK_OK(acltdtDestroyQueue(queue));
        CHECK(free_shared_memory() == free_before);
        stop();
    });
    child.join();
}

// --- the list of queues and routes, which all processes of the user share --------------------------------------------

std::string directory_file() {
    DIR *directory = opendir("/dev/shm");
    std::string name;
    while (const dirent *found = readdir(directory)) {
        name = std::strncmp(found->d_name, "ascend_rt-queues", 16) == 0 ? found->d_name : name;
    }
    closedir(directory);
    CHECK(!name.empty());
    return "/dev/shm/" + name;
}

// A process that is stopped while it has the routes fails no call of others: their messages go on later.
void locked_routes_lose_no_message() {
    const Child child([] {
        if (!has_separate_shm("size=1m")) {
            return;
        }
        start();
        const std::uint32_t from = new_queue(4), to = new_queue(4);
        acltdtQueueRouteList *const list = routes_of({acltdtCreateQueueRoute(from, to)});
        CHECK_OK(acltdtBindQueueRoutes(list));
        const int file = open(directory_file().c_str(), O_RDWR);
        struct flock lock{};
        lock.l_type = F_WRLCK;
        lock.l_len = 1;
        CHECK(fcntl(file, F_OFD_SETLK, &lock) == 0);
        CHECK_OK(acltdtEnqueue(from, new_buffer("one"), 0));
        lock.l_type = F_UNLCK;
        CHECK(fcntl(file, F_OFD_SETLK, &lock) == 0);
        CHECK_OK(send(from, "two"));
        CHECK(receive(to) == "one" && receive(to) == "two");
        CHECK_OK(acltdtUnbindQueueRoutes(list));
        CHECK_OK(acltdtDestroyQueueRouteList(list));
        stop();
    });
    child.join();
}

struct RouteRow {  // as the list of routes has it
    std::uint64_t source_identity, destination_identity;
    std::uint32_t source, destination, is_abnormal, unused;
};
constexpr std::size_t kQueueRows = 4096, kRouteRows = 1024;
struct DirectoryFile {
    std::uint64_t identities[kQueueRows];
    RouteRow routes[kRouteRows];
};

DirectoryFile &map_directory() {
    const int file = open(directory_file().c_str(), O_RDWR);
    void *const memory = mmap(nullptr, sizeof(DirectoryFile), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(memory != MAP_FAILED);
    return *static_cast<DirectoryFile *>(memory);
}

// Another process writes a circle of routes, which no call would make.
void a_written_circle_of_routes_ends() {
    const Child child([] {
        if (!has_separate_shm("size=1m")) {
            return;
        }
        alarm(60);
        start();
        const std::uint32_t left = new_queue(4), right = new_queue(4);
        acltdtQueueRouteList *const list = routes_of({acltdtCreateQueueRoute(left, right)});
        CHECK_OK(acltdtBindQueueRoutes(list));
        DirectoryFile &file = map_directory();
        const RouteRow row = file.routes[0];
        CHECK(row.source == left && row.destination == right);
        file.routes[1] = {row.destination_identity, row.source_identity, right, left, 0, 0};
        file.routes[2] = {row.source_identity, row.source_identity, left, left, 0, 0};
        CHECK_OK(send(left, "once"));
        CHECK(receive(right) == "once");
        stop();
    });
    child.join();
}

// Whatever another process writes to the list, calls answer.
void a_damaged_list_has_codes() {
    const Child child([] {
        if (!has_separate_shm("size=4m")) {
            return;
        }
        alarm(120);
        start();
        std::minstd_rand random(11);
        new_queue(2);
        DirectoryFile &file = map_directory();
        for (int round = 0; round < 300; ++round) {
            std::uint32_t queues[3] = {};
            for (std::uint32_t &queue : queues) {
                acltdtCreateQueue(nullptr, &queue);
            }
            acltdtQueueRouteList *const list =
                routes_of({acltdtCreateQueueRoute(queues[0], queues[1]), acltdtCreateQueueRoute(queues[1], queues[2])});
            acltdtBindQueueRoutes(list);
            for (int i = 0; i < 50; ++i) {
                const std::uint64_t kinds[] = {0, random(), std::uint64_t{random()} << 33,
                                               file.identities[random() % 8]};
                file.identities[random() % 8] = random() % 4 == 0 ? kinds[random() % 4] : file.identities[random() % 8];
                RouteRow &row = file.routes[random() % 6];
                (random() % 2 == 0 ? row.source_identity : row.destination_identity) = kinds[random() % 4];
                (random() % 2 == 0 ? row.source : row.destination) =
                    static_cast<std::uint32_t>(random() % 3 == 0 ? random() : random() % 8);
            }
            send(queues[0], "text");
            std::string text(100, '\0');
            std::size_t length = 0;
            acltdtDequeueData(queues[2], text.data(), text.size(), &length, nullptr, 0, 0);
            std::uint32_t rights = 0;
            acltdtAttachQueue(static_cast<std::uint32_t>(random() % 10), 0, &rights);
            acltdtUnbindQueueRoutes(list);
            for (const std::uint32_t queue : queues) {
                acltdtDestroyQueue(queue);
            }
            CHECK_OK(acltdtDestroyQueueRouteList(list));
        }
        stop();
    });
    child.join();
}

// Nothing stays behind: neither of processes that end well, nor, after the next start, of killed ones.
void nothing_stays_behind() {
    Pipe ready;
    const Child child([&] {
        start();
        const std::uint32_t queue = new_queue(4);
        CHECK_OK(acltdtEnqueue(queue, new_buffer("left"), 0));
        new_buffer("held");
        CHECK(shared_files().size() == 4);  // the queue, the process, and a part of each
        ready.put(getpid());
        pause();
    });
    const pid_t process = ready.get<pid_t>();
    child.kill();
    const Child next([process] {
        start();
        DIR *directory = opendir("/dev/shm");
        while (const dirent *found = readdir(directory)) {
            CHECK(std::string(found->d_name).find("ascend_rt-" + std::to_string(process) + ".") != 0);
        }
        closedir(directory);
        const std::uint32_t queue = new_queue(4);
        CHECK_OK(acltdtEnqueue(queue, new_buffer("left"), 0));
        new_buffer("held");
    });
    next.join();
    DIR *directory = opendir("/dev/shm");
    while (const dirent *found = readdir(directory)) {
        CHECK(std::string(found->d_name).find("ascend_rt-" + std::to_string(next.process()) + ".") != 0);
    }
    closedir(directory);
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_QUEUES", "device", 1);
    rights_are_granted_to_processes();
    processes_may_be_killed_at_any_moment();
    a_wait_for_a_killed_process_ends(kForever);
    a_wait_for_a_killed_process_ends(60000);
    threads_attach_and_are_reset_together();
    a_stopped_process_blocks_nobody();
    damaged_memory_has_codes();
    a_full_host_has_codes();
    full_shared_memory_has_codes();
    locked_routes_lose_no_message();
    a_written_circle_of_routes_ends();
    a_damaged_list_has_codes();
    nothing_stays_behind();
    return 0;
}
