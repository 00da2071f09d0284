// SPDX-License-Identifier: Apache-2.0
// Calls of the program's functions, which may throw, or end their thread by pthread_exit or a cancellation.
//
// Call without holding the engine lock. In destructors and deferred work, where neither a task nor a call can fail, an
// exception ends the process, as it does when it leaves the function of a thread.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <string>

#include "support/error.h"
#include "support/text.h"

namespace aclsim {

// Passes a description of the function's end to note() if the function did not return. The unwinding of an ended thread
// continues from here.
//
// Reference checks are disabled: the handler of a forced unwinding has no object and binds a reference to null.
template <class Call, class Note>
[[gnu::no_sanitize("null", "alignment")]] void call_program(Call call, Note note) {
    try {
        call();
    } catch (const std::exception &error) {
        note(text_if_memory([&] { return std::string("threw an exception: ") + error.what(); }));
#ifdef __GLIBCXX__
    } catch (const abi::__forced_unwind &) {
        note(text_if_memory([] { return std::string("ended its thread"); }));
        throw;
#endif
    } catch (...) {
        note(text_if_memory([] { return std::string("threw an exception"); }));
    }
}

// Turns an exception of the function, which the text names, into a failure of the present call.
template <class Call>
void call_or_fail(const char *name, Call call) {
    bool has_failed = false;
    std::string text;
    call_program(call, [&](std::string how) {
        has_failed = true;
        text = std::move(how);
    });
    if (has_failed) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "%s %s", name, text.c_str());
    }
}

}  // namespace aclsim
