// SPDX-License-Identifier: Apache-2.0
// An operation of a companion library whose calls are noted, for tests.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "concurrent.h"
#include "latch.h"

inline constexpr const char *kName = "hcom_allReduce_";

// Notes the calls of an operation's functions. Whatever a test does, it must be released exactly once.
class Companion {
  public:
    using Function = std::function<void(std::uint64_t)>;

    explicit Companion(Function on_begin = {}, Function on_cancel = {})
        : on_begin_(std::move(on_begin)), on_cancel_(std::move(on_cancel)) {}
    Companion(const Companion &) = delete;
    Companion &operator=(const Companion &) = delete;
    ~Companion() { CHECK(is_released(submissions)); }

    aclsimOperation operation() {
        aclsimOperation made{};
        made.name = kName;
        made.userData = this;
        made.begin = [](void *self, std::uint64_t execution) { static_cast<Companion *>(self)->begin(execution); };
        made.cancel = [](void *self, std::uint64_t execution) { static_cast<Companion *>(self)->cancel(execution); };
        made.describe = [](void *, std::uint64_t execution, char *text, std::size_t size) {
            std::snprintf(text, size, "%s, execution %llu, which waits for rank 2", kName,
                          static_cast<unsigned long long>(execution));
        };
        made.release = [](void *self) { static_cast<Companion *>(self)->release(); };
        return made;
    }
    void submit(aclrtStream stream) {
        const aclsimOperation made = operation();
        submit(stream, made);
    }
    void submit(aclrtStream stream, const aclsimOperation &made) {
        ++submissions;
        CHECK_OK(aclsimSubmitOperation(stream, &made));
    }
    // Waits until that many executions have begun, and returns the newest.
    std::uint64_t await_begin(std::size_t count = 1) {
        std::unique_lock<std::mutex> lock(mutex_);
        CHECK(changed_.wait_for(lock, kLongEnough, [&] { return begun_.size() >= count; }));
        CHECK(begun_.size() == count);
        return begun_.back();
    }
    // Waits until the operation has been released so often: after begin, which may still run on another thread.
    bool is_released(int times = 1) {
        std::unique_lock<std::mutex> lock(mutex_);
        return changed_.wait_for(lock, kLongEnough, [&] { return releases >= times; }) && releases == times;
    }
    std::size_t begins() {
        const std::lock_guard<std::mutex> guard(mutex_);
        return begun_.size();
    }
    std::vector<std::uint64_t> cancelled() {
        const std::lock_guard<std::mutex> guard(mutex_);
        return cancelled_;
    }
    void end(aclError result = ACL_SUCCESS, const char *text = nullptr) {
        CHECK_OK(aclsimEndOperation(await_begin(), result, text));
    }

    std::atomic<int> submissions{0};
    std::atomic<int> releases{0};

  private:
    void begin(std::uint64_t execution) {
        use_library();
        CHECK(releases == 0);
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            for (const std::uint64_t before : begun_) {
                CHECK(execution != before);
            }
            begun_.push_back(execution);
            changed_.notify_all();
        }
        if (on_begin_) {
            on_begin_(execution);
        }
        CHECK(releases == 0);  // not before this function has returned
    }
    void cancel(std::uint64_t execution) {
        use_library();
        CHECK(releases == 0);
        CHECK_CODE(ACL_ERROR_RT_INVALID_HANDLE, aclsimEndOperation(execution, ACL_SUCCESS, nullptr));
        if (on_cancel_) {
            on_cancel_(execution);
        }
        const std::lock_guard<std::mutex> guard(mutex_);
        CHECK(std::count(begun_.begin(), begun_.end(), execution) == 1);
        cancelled_.push_back(execution);
    }
    void release() {
        use_library();
        const std::lock_guard<std::mutex> guard(mutex_);
        ++releases;
        changed_.notify_all();
    }
    static void use_library() {
        std::uint32_t devices = 0;  // by a call that takes the lock, as is permitted
        CHECK_OK(aclrtGetDeviceCount(&devices));
    }

    const Function on_begin_;
    const Function on_cancel_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::uint64_t> begun_;
    std::vector<std::uint64_t> cancelled_;
};

inline void end_at_once(std::uint64_t execution) { CHECK_OK(aclsimEndOperation(execution, ACL_SUCCESS, nullptr)); }

inline aclsimAccess bytes(const void *address, std::uint32_t size, aclsimAccessMode mode, const char *name) {
    return {address, mode, size, /*rank=*/0, nullptr, nullptr, name};
}

inline bool is_complete(aclrtStream stream) {
    aclrtStreamStatus status{};
    CHECK_OK(aclrtStreamQuery(stream, &status));
    return status == ACL_STREAM_STATUS_COMPLETE;
}
