// SPDX-License-Identifier: Apache-2.0
// Failure of a call: a code, a text, and the code that the thread remembers.
//
// Code inside the library throws a Failure through one of the functions below; the C entry point (entry.h) turns it
// into the return value. Failures are not on any hot path: a "not ready" status is a result, not a failure.
#pragma once

#include <cstdint>
#include <string>

#include "abi/acl.h"
#include "support/call_place.h"
#include "support/function.h"

namespace aclsim {

struct Failure {
    aclError code;
    bool remembered;        // aclrtGetLastError reports it (device_context_init_errors.md section 2.4)
    bool is_final = false;  // true if a profile must not replace the code
};

#define ACLSIM_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))

// Fails with a code that the thread remembers for aclrtGetLastError: failures found by the runtime layer.
[[noreturn]] void fail(aclError code, const char *format, ...) ACLSIM_PRINTF(2, 3);
// Fails with a code that the thread does not remember: argument checks of the ACL layer, and codes that the runtime
// layer returns without remembering them (most 207000, some 107002).
[[noreturn]] void fail_unremembered(aclError code, const char *format, ...) ACLSIM_PRINTF(2, 3);

// Fails with ACL_ERROR_INVALID_PARAM for a NULL argument.
inline void require(const void *argument, const char *name) {
    if (argument == nullptr) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%s is NULL", name);
    }
}

// Fail in the same way for a size of 0, and for flags if none are defined.
inline void require_size(std::uint64_t size) {
    if (size == 0) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "size is 0");
    }
}
inline void require_no_flags(std::uint64_t flags) {
    if (flags != 0) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "flags must be 0, not %llu", static_cast<unsigned long long>(flags));
    }
}

// Returns the code that the profile has in place of the given one; if it differs, adds this to the failure's text.
aclError answer_of(Function function, aclError code);
// Returns the result of every declared function that is not simulated.
aclError unsupported(Function function);
// Returns the result if the host has no memory for the simulator itself.
aclError out_of_memory();
// Returns the result for any other exception of the C++ library, with its text.
aclError unexpected_exception(const char *what);

// Call of the C API in which the calling thread is. Calls nest, because callbacks make calls.
class CurrentCall {
  public:
    explicit CurrentCall(Function called) : CurrentCall(called, nullptr) {}
    explicit CurrentCall(const char *what) : CurrentCall(Function::None, what) {}  // names no function of the API
    ~CurrentCall() { newest_ = outer_; }
    CurrentCall(const CurrentCall &) = delete;
    CurrentCall &operator=(const CurrentCall &) = delete;

    const Function function;
    const char *name() const { return what_ != nullptr ? what_ : info_of(function).name; }
    CallPlace place;  // place in the program; known while places are wanted
    // Makes the call appear as one of a companion library's functions, which made it. The name is kept.
    void appear_as(const char *name) {
        what_ = name;
        leave_library(place);
    }

  private:
    friend CurrentCall *current_call();
    CurrentCall(Function called, const char *text) : function(called), what_(text) { newest_ = this; }

    static inline thread_local CurrentCall *newest_ = nullptr;
    const char *what_;
    CurrentCall *const outer_ = newest_;
};
// Returns nullptr in a thread of the simulator and in user code.
inline CurrentCall *current_call() { return CurrentCall::newest_; }
inline const char *current_function() { return current_call() == nullptr ? "" : current_call()->name(); }  // or ""

// Errors of the calling thread.
void remember(aclError code);
aclError last_error(bool clear);
void share_recent_texts(bool on);  // err_msg_mode of aclInit: any thread takes any thread's texts
const char *take_recent_text();    // NULL if there is none; valid until the thread's next call

// Keeps the text of the newest failure while user code runs, because that may fail too.
class KeptText {
  public:
    KeptText();
    ~KeptText();
    KeptText(const KeptText &) = delete;
    KeptText &operator=(const KeptText &) = delete;

  private:
    std::string text_;
};

}  // namespace aclsim
