// Shared queues and buffers as on a device: in one process, and in several that are killed, stopped, or damage what
// they share.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr std::int32_t kForever = -1;
constexpr std::uint32_t kAll =
    ACL_TDT_QUEUE_PERMISSION_MANAGE | ACL_TDT_QUEUE_PERMISSION_DEQUEUE | ACL_TDT_QUEUE_PERMISSION_ENQUEUE;

// Layout of the attributes in the runtime's own headers.
struct FullAttributes {
    char name[128];
    std::uint32_t depth, work_mode, drop_time;
    bool has_flow_control, overwrites;
};

std::uint32_t new_queue(std::uint32_t depth, bool overwrites = false) {
    acltdtQueueAttr *attributes = acltdtCreateQueueAttr();
    CHECK(attributes != nullptr);
    CHECK_OK(acltdtSetQueueAttr(attributes, ACL_TDT_QUEUE_DEPTH_UINT32, sizeof depth, &depth));
    reinterpret_cast<FullAttributes *>(attributes)->overwrites = overwrites;
    std::uint32_t queue = 0;
    CHECK_OK(acltdtCreateQueue(attributes, &queue));
    CHECK_OK(acltdtDestroyQueueAttr(attributes));
    return queue;
}

acltdtBuf new_buffer(const std::string &text) {
    acltdtBuf buffer = nullptr;
    CHECK_OK(acltdtAllocBuf(text.size(), ACL_TDT_NORMAL_MEM, &buffer));
    void *data = nullptr;
    std::size_t size = 0;
    CHECK_OK(acltdtGetBufData(buffer, &data, &size));
    CHECK(size == text.size());
    std::memcpy(data, text.data(), size);
    CHECK_OK(acltdtSetBufDataLen(buffer, size));
    return buffer;
}

std::string text_of(acltdtBuf buffer) {
    void *data = nullptr;
    std::size_t size = 0, length = 0;
    CHECK_OK(acltdtGetBufData(buffer, &data, &size));
    CHECK_OK(acltdtGetBufDataLen(buffer, &length));
    return std::string(static_cast<const char *>(data), length);
}

aclError send(std::uint32_t queue, const std::string &text, std::int32_t timeout = 0) {
    return acltdtEnqueueData(queue, text.data(), text.size(), nullptr, 0, timeout, 0);
}

std::string receive(std::uint32_t queue, std::int32_t timeout = 0) {
    std::string text(1 << 20, '\0');
    std::size_t length = 0;
    CHECK_OK(acltdtDequeueData(queue, text.data(), text.size(), &length, nullptr, 0, timeout));
    text.resize(length);
    return text;
}

void start() {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
}

void stop() {
    CHECK_OK(aclrtResetDeviceForce(0));
    CHECK_OK(aclFinalize());
}

// --- one process -----------------------------------------------------------------------------------------------------

void a_chain_travels_as_one_message() {
    const std::uint32_t queue = new_queue(2);
    const acltdtBuf head = new_buffer("head");
    const acltdtBuf rest = new_buffer(std::string(5000, 'r'));
    CHECK_OK(acltdtSetBufUserData(rest, "note", 4, 92));
    CHECK_OK(acltdtAppendBufChain(head, rest));
    acltdtBuf copy = nullptr;
    CHECK_OK(acltdtCopyBufRef(head, &copy));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueue(queue, rest, 0));  // not the head
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtFreeBuf(rest));
    CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, acltdtAppendBufChain(head, head));
    CHECK_OK(acltdtEnqueue(queue, head, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtFreeBuf(head));  // is the queue's
    CHECK_OK(acltdtEnqueue(queue, copy, 0));
    CHECK_CODE(ACL_ERROR_FAILURE, acltdtEnqueue(queue, new_buffer("late"), 20));
    acltdtBuf taken = nullptr, member = nullptr;
    CHECK_OK(acltdtDequeue(queue, &taken, 0));
    std::uint32_t count = 0;
    CHECK_OK(acltdtGetBufChainNum(taken, &count));
    CHECK(count == 2);
    CHECK_OK(acltdtGetBufFromChain(taken, 1, &member));
    CHECK(text_of(taken) == "head" && text_of(member) == std::string(5000, 'r'));
    char note[4];
    CHECK_OK(acltdtGetBufUserData(member, note, 4, 92));
    CHECK(std::memcmp(note, "note", 4) == 0);
    void *data = nullptr;
    std::size_t size = 0;
    CHECK_OK(acltdtGetBufData(taken, &data, &size));
    std::memcpy(data, "HEAD", 4);  // the other reference is to the same bytes
    CHECK_OK(acltdtFreeBuf(taken));
    CHECK(receive(queue) == "HEAD" + std::string(5000, 'r'));  // all buffers, one after the other
    CHECK_OK(acltdtDestroyQueue(queue));
}

void data_and_buffers_mix() {
    const std::uint32_t queue = new_queue(4);
    CHECK_OK(send(queue, "small"));
    CHECK_OK(send(queue, std::string(100000, 'l')));
    CHECK_OK(acltdtEnqueue(queue, new_buffer("buffer"), 0));
    acltdtBuf taken = nullptr;
    for (const std::string &text : {std::string("small"), std::string(100000, 'l')}) {
        CHECK_OK(acltdtDequeue(queue, &taken, 0));
        CHECK(text_of(taken) == text);
        CHECK_OK(acltdtFreeBuf(taken));
    }
    char little[3];
    std::size_t length = 0;
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtDequeueData(queue, little, 3, &length, nullptr, 0, 0));
    CHECK(length == 6);  // the message stays, and its length is known
    CHECK(receive(queue) == "buffer");
    CHECK_CODE(ACL_ERROR_FAILURE, acltdtDequeue(queue, &taken, 0));
    CHECK_OK(acltdtDestroyQueue(queue));
}

void a_full_queue_may_drop_its_oldest_message() {
    const std::uint32_t queue = new_queue(2, /*overwrites=*/true);
    for (const char *text : {"a", "b", "c"}) {
        CHECK_OK(send(queue, text));
    }
    CHECK(receive(queue) == "b");
    CHECK(receive(queue) == "c");
    CHECK_OK(acltdtDestroyQueue(queue));
}

void routes_copy_to_all_destinations() {
    const std::uint32_t from = new_queue(4), left = new_queue(2), right = new_queue(8);
    acltdtQueueRouteList *list = acltdtCreateQueueRouteList();
    acltdtQueueRoute *routes[] = {acltdtCreateQueueRoute(from, left), acltdtCreateQueueRoute(from, right),
                                  acltdtCreateQueueRoute(left, from)};
    CHECK_OK(send(from, "0"));
    CHECK_OK(acltdtAddQueueRoute(list, routes[0]));
    CHECK_OK(acltdtAddQueueRoute(list, routes[1]));
    CHECK_OK(acltdtBindQueueRoutes(list));
    CHECK(receive(left) == "0");  // was there before the routes
    CHECK(receive(right) == "0");
    acltdtQueueRouteList *circle = acltdtCreateQueueRouteList();
    CHECK_OK(acltdtAddQueueRoute(circle, routes[2]));
    CHECK_CODE(ACL_ERROR_FAILURE, acltdtBindQueueRoutes(circle));
    for (int i = 1; i <= 6; ++i) {  // two reach the destinations; then one is full, and the source fills
        CHECK_OK(send(from, std::string(i == 2 ? 5000 : 1, static_cast<char>('0' + i))));
    }
    CHECK_CODE(ACL_ERROR_RT_QUEUE_FULL, send(from, "7"));
    CHECK(receive(left) == "1");
    CHECK(receive(left) == std::string(5000, '2'));
    CHECK(receive(left) == "3");
    for (const char *text : {"1", "2", "3", "4", "5"}) {
        CHECK(receive(right).substr(0, 1) == text);
    }
    CHECK_CODE(ACL_ERROR_FAILURE, acltdtDestroyQueue(left));
    CHECK_OK(acltdtUnbindQueueRoutes(list));
    for (const std::uint32_t queue : {from, left, right}) {
        CHECK_OK(acltdtDestroyQueue(queue));
    }
    for (const acltdtQueueRoute *route : routes) {
        CHECK_OK(acltdtDestroyQueueRoute(route));
    }
    CHECK_OK(acltdtDestroyQueueRouteList(list));
    CHECK_OK(acltdtDestroyQueueRouteList(circle));
}

void destruction_and_reset_end_waits() {
    for (const bool resets : {false, true}) {
        const std::uint32_t queue = new_queue(2);
        aclError code = ACL_SUCCESS;
        std::thread waiting([&] {
            CHECK_OK(aclrtSetDevice(0));
            acltdtBuf buffer = nullptr;
            code = acltdtDequeue(queue, &buffer, kForever);
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // either order of the calls is right
        if (resets) {
            CHECK_OK(aclrtResetDeviceForce(0));
        } else {
            CHECK_OK(acltdtDestroyQueue(queue));
        }
        waiting.join();
        CHECK(code == ACL_ERROR_RT_DRV_INTERNAL_ERROR || code == ACL_ERROR_RT_CONTEXT_NULL);
        CHECK_OK(aclrtSetDevice(0));
    }
}

void wrong_arguments_have_codes() {
    const std::uint32_t queue = new_queue(2);
    acltdtBuf buffer = nullptr;
    std::uint32_t number = 0;
    std::size_t length = 0;
    int garbage = 0;
    char data[8] = "";
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueue(queue, &garbage, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueue(queue, &buffer, -2));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtEnqueue(queue, nullptr, 0));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtDequeue(queue, nullptr, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtAllocBuf(0, 0, &buffer));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtAllocBuf(std::size_t{1} << 40, 0, &buffer));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtAllocBuf(SIZE_MAX, 1, &buffer));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtFreeBuf(&garbage));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtGetBufDataLen(&garbage, &length));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtGrantQueue(queue, 0, kAll, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtGrantQueue(queue, getpid(), 0, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtGrantQueue(queue, getpid(), 8, 0));
    CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, acltdtGrantQueue(99999, getpid(), kAll, 0));
    CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, acltdtAttachQueue(99999, 0, &number));
    CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtAttachQueue(queue, 0, nullptr));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueueData(queue, data, 8, data, 97, 0, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueueData(queue, data, 8, nullptr, 8, 0, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtEnqueueData(queue, data, SIZE_MAX, nullptr, 0, 0, 0));
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtDequeueData(queue, data, 8, &length, data, 97, 0));
    std::thread([&] { CHECK_CODE(ACL_ERROR_RT_CONTEXT_NULL, send(queue, "x")); }).join();
    CHECK_OK(acltdtDestroyQueue(queue));
    CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, acltdtDestroyQueue(queue));
    for (const std::uint32_t depth : {0U, 1U, 8193U, UINT32_MAX}) {
        acltdtQueueAttr *attributes = acltdtCreateQueueAttr();
        CHECK_OK(acltdtSetQueueAttr(attributes, ACL_TDT_QUEUE_DEPTH_UINT32, sizeof depth, &depth));
        CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, acltdtCreateQueue(attributes, &number));
        CHECK_OK(acltdtDestroyQueueAttr(attributes));
        CHECK_CODE(ACL_ERROR_INVALID_PARAM, acltdtDestroyQueueAttr(attributes));
    }
}

void a_chain_is_limited() {
    const acltdtBuf head = new_buffer("0");
    for (int i = 1; i < 128; ++i) {
        CHECK_OK(acltdtAppendBufChain(head, new_buffer(std::to_string(i))));
    }
    const acltdtBuf other = new_buffer("x");
    CHECK_CODE(ACL_ERROR_RT_OVER_LIMIT, acltdtAppendBufChain(head, other));
    const std::uint32_t queue = new_queue(2);
    CHECK_OK(acltdtEnqueue(queue, head, 0));
    acltdtBuf taken = nullptr, last = nullptr;
    CHECK_OK(acltdtDequeue(queue, &taken, 0));
    CHECK_OK(acltdtGetBufFromChain(taken, 127, &last));
    CHECK(text_of(last) == "127");
    CHECK_OK(acltdtFreeBuf(taken));
    CHECK_OK(acltdtFreeBuf(other));
    CHECK_OK(acltdtDestroyQueue(queue));
}

void threads_lose_and_repeat_nothing() {
    constexpr int kThreads = 3, kMessages = 300;
    const std::uint32_t queue = new_queue(4);
    std::vector<std::atomic<int>> seen(kThreads * kMessages);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            CHECK_OK(aclrtSetDevice(0));
            for (int i = 0; i < kMessages; ++i) {
                const std::string text = std::to_string(t * kMessages + i);
                if (i % 3 == 0) {
                    CHECK_OK(acltdtEnqueue(queue, new_buffer(text), kForever));
                } else {
                    CHECK_OK(send(queue, text, kForever));
                }
            }
        });
        threads.emplace_back([&] {
            CHECK_OK(aclrtSetDevice(0));
            for (int i = 0; i < kMessages; ++i) {
                char text[16] = "";
                std::size_t length = 0;
                CHECK_OK(acltdtDequeueData(queue, text, 15, &length, nullptr, 0, kForever));
                ++seen[static_cast<std::size_t>(std::atoi(text))];
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const std::atomic<int> &count : seen) {
        CHECK(count == 1);
    }
    CHECK_OK(acltdtDestroyQueue(queue));
}

// --- several processes -----------------------------------------------------------------------------------------------

// Process that runs a function of the test. No process that has used the runtime is forked.
class Child {
  public:
    template <class Body>
    explicit Child(Body body) : process_(fork()) {
        CHECK(process_ >= 0);
        if (process_ == 0) {
            body();
            std::exit(0);
        }
    }
    pid_t process() const { return process_; }
    void join() const {
        int status = 0;
        CHECK(waitpid(process_, &status, 0) == process_);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    void kill() const {
        CHECK(::kill(process_, SIGKILL) == 0);
        CHECK(waitpid(process_, nullptr, 0) == process_);
    }

  private:
    pid_t process_;
};

class Pipe {
  public:
    Pipe() { CHECK(pipe(ends_) == 0); }
    template <class T>
    void put(const T &value) const {
        CHECK(write(ends_[1], &value, sizeof value) == sizeof value);
    }
    template <class T>
    T get() const {
        T value{};
        CHECK(read(ends_[0], &value, sizeof value) == sizeof value);
        return value;
    }

  private:
    int ends_[2];
};

std::uint32_t attach(std::uint32_t queue) {
    std::uint32_t rights = 0;
    CHECK_OK(acltdtAttachQueue(queue, 10000, &rights));
    return rights;
}

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

// A wait without a limit ends when the process that it waited for is killed.
void a_wait_for_a_killed_process_ends() {
    Pipe to_owner, to_user, attached;
    const Child owner([&] {
        start();
        const std::uint32_t queue = new_queue(4);
        to_user.put(queue);
        CHECK_OK(acltdtGrantQueue(queue, to_owner.get<pid_t>(), ACL_TDT_QUEUE_PERMISSION_ENQUEUE, 0));
        acltdtBuf buffer = nullptr;
        CHECK_CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, acltdtDequeue(queue, &buffer, kForever));
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
    a_wait_for_a_killed_process_ends();
    a_stopped_process_blocks_nobody();
    damaged_memory_has_codes();
    a_full_host_has_codes();
    nothing_stays_behind();
    start();
    a_chain_travels_as_one_message();
    data_and_buffers_mix();
    a_full_queue_may_drop_its_oldest_message();
    routes_copy_to_all_destinations();
    destruction_and_reset_end_waits();
    wrong_arguments_have_codes();
    a_chain_is_limited();
    threads_lose_and_repeat_nothing();
    stop();
    return 0;
}
