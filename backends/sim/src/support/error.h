// What a call answers when it fails: a code, a text, and what the thread remembers of it.
//
// Code inside the library throws a Failure through one of the functions below; the C entry point (entry.h) turns it
// into the return value. Failures are not on any hot path: a "not ready" status is an answer, not a failure.
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
    bool is_final = false;  // a profile does not replace the code
};

#define ACLSIM_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))

// A failure that the thread remembers for aclrtGetLastError: those found by the runtime layer.
[[noreturn]] void fail(aclError code, const char *format, ...) ACLSIM_PRINTF(2, 3);
// One that it does not remember: the argument checks of the ACL layer, and what the runtime layer answers without
// remembering it (most 207000, some 107002).
[[noreturn]] void fail_unremembered(aclError code, const char *format, ...) ACLSIM_PRINTF(2, 3);

// ACL_ERROR_INVALID_PARAM for a NULL argument.
inline void require(const void *argument, const char *name) {
    if (argument == nullptr) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%s is NULL", name);
    }
}

// The same for sizes of 0, and for flags where none are known.
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

// What the function answers by the profile, in place of the code; if that differs, the failure's text says so.
aclError answer_of(Function function, aclError code);
// The answer of every declared function that is not simulated.
aclError unsupported(Function function);
// The answer when the host has no memory for the simulator itself.
aclError out_of_memory();
// The answer to any other exception of the C++ library, with its text.
aclError unexpected_exception(const char *what);

// The call of the C API that the calling thread is in. Calls nest: callbacks make them.
class CurrentCall {
  public:
    explicit CurrentCall(Function called) : CurrentCall(called, nullptr) {}
    explicit CurrentCall(const char *what) : CurrentCall(Function::None, what) {}  // no function of the API
    ~CurrentCall() { newest_ = outer_; }
    CurrentCall(const CurrentCall &) = delete;
    CurrentCall &operator=(const CurrentCall &) = delete;

    const Function function;
    const char *name() const { return what_ != nullptr ? what_ : info_of(function).name; }
    CallPlace place;  // in the program; known while somebody wants places

  private:
    friend CurrentCall *current_call();
    CurrentCall(Function called, const char *text) : function(called), what_(text) { newest_ = this; }

    static inline thread_local CurrentCall *newest_ = nullptr;
    const char *const what_;
    CurrentCall *const outer_ = newest_;
};
// nullptr: a thread of the simulator's own, or user code
inline CurrentCall *current_call() { return CurrentCall::newest_; }
const char *current_function();  // "" outside calls

// The calling thread's errors.
void remember(aclError code);
aclError last_error(bool clear);
void share_recent_texts(bool on);  // aclInit's err_msg_mode: any thread takes any thread's texts
const char *take_recent_text();    // NULL if there is none; valid until the thread's next call

// Keeps the text of the newest failure while user code runs, which may fail by itself.
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
