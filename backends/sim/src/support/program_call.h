// Calls of the program's functions, which may throw, or end their thread by pthread_exit or a cancellation.
//
// Without the engine lock. Where neither a task nor a call can fail, in destructors and deferred work, an exception
// ends the process, as one that leaves the function of a thread does.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <string>

#include "support/error.h"
#include "support/text.h"

namespace aclsim {

// Passes to note() how the function ended, if it did not return. The end of its thread goes on from here.
//
// Leaves out the checks of references: the handler of a forced unwinding, which has no object, binds one to null.
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

// An exception of the function, which the text names, is a failure of the present call.
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
