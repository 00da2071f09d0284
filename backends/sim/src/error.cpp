#include "error.h"

#include <cstdarg>
#include <cstdio>
#include <string>

namespace aclsim {
namespace {

struct ThreadErrors {
    const char *function = "";
    aclError last = ACL_SUCCESS;
    std::string recent;  // text of the newest failure, until it is read
    std::string taken;   // what aclGetRecentErrMsg last returned: its pointer must stay valid
};

ThreadErrors &thread_errors() {
    thread_local ThreadErrors errors;
    return errors;
}

[[noreturn]] void raise(Failure failure, const char *format, va_list arguments) {
    char text[512];
    std::vsnprintf(text, sizeof text, format, arguments);
    ThreadErrors &errors = thread_errors();
    errors.recent = std::string(errors.function) + ": " + text;
    throw failure;
}

}  // namespace

// va_end is not reached because raise throws; on the supported ABIs va_end is a no-op.
void reject(aclError code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    raise({code, false}, format, arguments);
}

void fail(aclError code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    raise({code, true}, format, arguments);
}

void refuse(aclError code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    raise({code, false}, format, arguments);
}

aclError unsupported(const char *function) {
    thread_errors().recent = std::string(function) + ": the simulator does not simulate this function";
    return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
}

void begin_call(const char *function) { thread_errors().function = function; }

const char *current_function() { return thread_errors().function; }

void remember(aclError code) { thread_errors().last = code; }

aclError last_error(bool clear) {
    ThreadErrors &errors = thread_errors();
    const aclError code = errors.last;
    if (clear) {
        errors.last = ACL_SUCCESS;
    }
    return code;
}

const char *take_recent_text() {
    ThreadErrors &errors = thread_errors();
    if (errors.recent.empty()) {
        return nullptr;
    }
    errors.taken = std::move(errors.recent);
    errors.recent.clear();
    return errors.taken.c_str();
}

}  // namespace aclsim
