// SPDX-License-Identifier: Apache-2.0
// Calls of the program that pass through this library to the vendor's.
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>

#include "abi/acl.h"
#include "check.h"
#include "support/call_place.h"
#include "vendor.h"

namespace aclsim::wrapped {

// Call in which the calling thread is. Calls inside another one are the runtime's, and are not noted.
class Call {
  public:
    Call(const char *called, const void *return_address) : function(called) {
        find_place(place, return_address);
        present_ = this;
    }
    ~Call() { present_ = outer_; }
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;
    static const Call *present() { return present_; }

    const char *const function;
    CallPlace place;

    // Lets the program call inside a call: the runtime runs its host functions on any thread.
    class Outside {
      public:
        Outside() { present_ = nullptr; }
        ~Outside() { present_ = inside_; }
        Outside(const Outside &) = delete;
        Outside &operator=(const Outside &) = delete;

      private:
        const Call *const inside_ = present_;
    };

  private:
    static inline thread_local const Call *present_ = nullptr;
    const Call *const outer_ = present_;
};

// Returns what the function returns; nullopt if the check is over, or ends because of an exception.
template <class Function>
auto note(Function function) noexcept -> std::optional<decltype(function(Check::get()))> {
    Check &check = Check::get();
    const std::lock_guard<std::mutex> guard(check.mutex);
    if (check.is_over()) {
        return std::nullopt;
    }
    try {
        return function(check);
    } catch (const std::exception &) {  // the host is out of memory
        check.give_up();
        return std::nullopt;
    }
}

// Calls the vendor's function. before(check) is called first, and may change the arguments; after(check, result of the
// former) is called if the code counts.
template <auto *kFunction, class Counts, class Before, class After, class... Arguments>
[[gnu::always_inline]] inline aclError forward_if(const char *name, Counts counts, Before before, After after,
                                                  Arguments &&...arguments) {
    const auto function = vendor<kFunction>(name);
    if (function == nullptr) {
        return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
    }
    if (!Check::is_on() || Call::present() != nullptr) {
        return function(arguments...);
    }
    const Call call(name, __builtin_return_address(0));
    const auto prepared = note(before);
    const aclError code = function(arguments...);
    if (counts(code) && prepared) {
        note([&](Check &check) {
            after(check, *prepared);
            return true;
        });
    }
    return code;
}

inline constexpr auto kIsSuccess = [](aclError code) { return code == ACL_SUCCESS; };

// Does the same for a call whose success counts.
template <auto *kFunction, class Before, class After, class... Arguments>
[[gnu::always_inline]] inline aclError forward(const char *name, Before before, After after, Arguments &&...arguments) {
    return forward_if<kFunction>(name, kIsSuccess, before, after, arguments...);
}

// A wait of the host has ended: it reports the failure of a task when all tasks are over.
inline constexpr auto kIsEndOfWait = [](aclError code) {
    constexpr aclError kFailures = 500000;  // least code of the runtime and of devices
    const bool is_timeout = code == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT || code == ACL_ERROR_RT_EVENT_SYNC_TIMEOUT;
    return code == ACL_SUCCESS || code == ACL_ERROR_RT_TASK_TIMEOUT || (code >= kFailures && !is_timeout);
};

inline constexpr auto kNothingBefore = [](Check &) { return true; };
inline constexpr auto kNothingAfter = [](Check &, auto &) {};

// NOLINTBEGIN: the name of the function is needed as text, too
// Notes a call after its success.
#define FORWARD(function, after, ...)                                                                          \
    ::aclsim::wrapped::forward<function>(                                                                      \
        #function, ::aclsim::wrapped::kNothingBefore, [&](::aclsim::wrapped::Check &check, auto &) { after; }, \
        __VA_ARGS__)
// Notes a call before the vendor's library sees it, whatever its result.
#define FORWARD_AFTER_NOTE(function, before, ...) \
    ::aclsim::wrapped::forward<function>(         \
        #function,                                \
        [&](::aclsim::wrapped::Check &check) {    \
            before;                               \
            return true;                          \
        },                                        \
        ::aclsim::wrapped::kNothingAfter, __VA_ARGS__)
// NOLINTEND

}  // namespace aclsim::wrapped
