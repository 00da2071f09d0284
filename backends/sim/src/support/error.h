// What a call answers when it fails: a code, a text, and what the thread remembers of it.
//
// Code inside the library throws a Failure through one of the functions below; the C entry point (entry.h) turns it
// into the return value. Failures are not on any hot path: a "not ready" status is an answer, not a failure.
#pragma once

#include <string>

#include "abi/acl.h"

namespace aclsim {

struct Failure {
    aclError code;
    bool remembered;  // aclrtGetLastError reports it (device_context_init_errors.md, section 2, rule 4)
};

#define ACLSIM_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))

// An argument check of the ACL layer: 100000 or what the specification says; never remembered.
[[noreturn]] void reject(aclError code, const char *format, ...) ACLSIM_PRINTF(2, 3);
// A failure found by the runtime layer: remembered by the thread.
[[noreturn]] void fail(aclError code, const char *format, ...) ACLSIM_PRINTF(2, 3);
// A failure of the runtime layer that the runtime deliberately does not remember (most 207000, some 107002).
[[noreturn]] void refuse(aclError code, const char *format, ...) ACLSIM_PRINTF(2, 3);

// ACL_ERROR_INVALID_PARAM for a NULL argument.
inline void require(const void *argument, const char *name) {
    if (argument == nullptr) {
        reject(ACL_ERROR_INVALID_PARAM, "%s is NULL", name);
    }
}

// The answer of every declared function that is not simulated.
aclError unsupported(const char *function);
// The answer when the host has no memory for the simulator itself.
aclError out_of_memory();

// The calling thread's errors.
void begin_call(const char *function);  // names the function in the texts of failures
// Where in the program the present call is; empty if nobody wants to know.
void set_call_place(std::string place);
const std::string &call_place();
const char *current_function();
void remember(aclError code);
aclError last_error(bool clear);
void share_recent_texts(bool on);  // aclInit's err_msg_mode: any thread takes any thread's texts
const char *take_recent_text();    // NULL if there is none; valid until the thread's next call

// What the thread knows of its present call, kept while user code runs, which may make calls of its own.
class KeptCall {
  public:
    KeptCall();
    ~KeptCall();
    KeptCall(const KeptCall &) = delete;
    KeptCall &operator=(const KeptCall &) = delete;

  private:
    const char *function_;
    std::string place_;
};

}  // namespace aclsim
