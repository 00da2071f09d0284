// SPDX-License-Identifier: Apache-2.0
// Queues, buffers and processes of the tests of shared queues.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>

#include "check.h"

namespace queue_kit {

constexpr std::int32_t kForever = -1;
constexpr std::uint32_t kAll =
    ACL_TDT_QUEUE_PERMISSION_MANAGE | ACL_TDT_QUEUE_PERMISSION_DEQUEUE | ACL_TDT_QUEUE_PERMISSION_ENQUEUE;

// Layout of the attributes in the runtime's own headers.
struct FullAttributes {
    char name[128];
    std::uint32_t depth, work_mode, drop_time;
    bool has_flow_control, overwrites;
};

inline std::uint32_t new_queue(std::uint32_t depth, bool overwrites = false) {
    acltdtQueueAttr *attributes = acltdtCreateQueueAttr();
    CHECK(attributes != nullptr);
    CHECK_OK(acltdtSetQueueAttr(attributes, ACL_TDT_QUEUE_DEPTH_UINT32, sizeof depth, &depth));
    reinterpret_cast<FullAttributes *>(attributes)->overwrites = overwrites;
    std::uint32_t queue = 0;
    CHECK_OK(acltdtCreateQueue(attributes, &queue));
    CHECK_OK(acltdtDestroyQueueAttr(attributes));
    return queue;
}

inline acltdtBuf new_buffer(const std::string &text) {
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

inline std::string text_of(acltdtBuf buffer) {
    void *data = nullptr;
    std::size_t size = 0, length = 0;
    CHECK_OK(acltdtGetBufData(buffer, &data, &size));
    CHECK_OK(acltdtGetBufDataLen(buffer, &length));
    return std::string(static_cast<const char *>(data), length);
}

inline aclError send(std::uint32_t queue, const std::string &text, std::int32_t timeout = 0) {
    return acltdtEnqueueData(queue, text.data(), text.size(), nullptr, 0, timeout, 0);
}

inline std::string receive(std::uint32_t queue, std::int32_t timeout = 0) {
    std::string text(1 << 20, '\0');
    std::size_t length = 0;
    CHECK_OK(acltdtDequeueData(queue, text.data(), text.size(), &length, nullptr, 0, timeout));
    text.resize(length);
    return text;
}

inline void start() {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
}

inline void stop() {
    CHECK_OK(aclrtResetDeviceForce(0));
    CHECK_OK(aclFinalize());
}

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

inline std::uint32_t attach(std::uint32_t queue) {
    std::uint32_t rights = 0;
    CHECK_OK(acltdtAttachQueue(queue, 10000, &rights));
    return rights;
}

// Gives the process a /dev/shm that no other process sees; returns false if it may not, because it is not root.
inline bool has_separate_shm(const char *options) {
    if (unshare(CLONE_NEWNS) != 0) {
        return false;
    }
    CHECK(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    CHECK(mount("tmpfs", "/dev/shm", "tmpfs", 0, options) == 0);
    return true;
}

inline acltdtQueueRouteList *routes_of(std::initializer_list<acltdtQueueRoute *> routes) {
    acltdtQueueRouteList *const list = acltdtCreateQueueRouteList();
    for (acltdtQueueRoute *const route : routes) {
        CHECK_OK(acltdtAddQueueRoute(list, route));
        CHECK_OK(acltdtDestroyQueueRoute(route));
    }
    return list;
}

}  // namespace queue_kit
