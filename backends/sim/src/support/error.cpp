#include "support/error.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include "support/config.h"

namespace aclsim {
namespace {

struct ThreadErrors {
    aclError last = ACL_SUCCESS;
    std::string recent;  // text of the newest failure, until it is read
    std::string taken;   // what aclGetRecentErrMsg last returned: its pointer must stay valid
};

ThreadErrors &thread_errors() {
    thread_local ThreadErrors errors;
    return errors;
}

// The newest text of all threads, while they share it.
struct SharedText {
    std::atomic<bool> is_on{false};
    std::mutex mutex;
    std::string recent;
};

SharedText &shared_text() {
    static SharedText *text = new SharedText();  // threads may fail while the process ends
    return *text;
}

void set_recent_text(std::string text) {
    SharedText &shared = shared_text();
    if (!shared.is_on.load(std::memory_order_relaxed)) {
        thread_errors().recent = std::move(text);
        return;
    }
    const std::lock_guard<std::mutex> guard(shared.mutex);
    shared.recent = std::move(text);
}

std::string exchange_recent_text() {
    SharedText &shared = shared_text();
    if (!shared.is_on.load(std::memory_order_relaxed)) {
        return std::exchange(thread_errors().recent, {});
    }
    const std::lock_guard<std::mutex> guard(shared.mutex);
    return std::exchange(shared.recent, {});
}

[[noreturn]] void raise(Failure failure, const char *format, va_list arguments) {
    va_list measured;
    va_copy(measured, arguments);
    std::string text(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, format, measured)) + 1, '\0');
    va_end(measured);
    std::vsnprintf(text.data(), text.size(), format, arguments);
    text.pop_back();
    set_recent_text(std::string(current_function()) + ": " + text);
    throw failure;
}

}  // namespace

// va_end is not reached because raise throws; on the supported ABIs va_end is a no-op.
void fail(aclError code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    raise({code, true}, format, arguments);
}

void fail_unremembered(aclError code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    raise({code, false}, format, arguments);
}

aclError answer_of(Function function, aclError code) {
    const CardProfile *const profile = config().profile.get();
    const aclError answer = profile == nullptr ? code : profile->answer(function, code);
    if (answer != code) {
        set_recent_text(exchange_recent_text() + "; the profile " + profile->path + " has " + std::to_string(answer) +
                        " in place of " + std::to_string(code));
    }
    return answer;
}

aclError unsupported(Function function) {
    set_recent_text(std::string(info_of(function).name) + ": the simulator does not simulate this function");
    return answer_of(function, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

// Without allocating: the short text fits into any string, and an older one must not be taken for this failure's.
aclError out_of_memory() {
    set_recent_text("host out of RAM");
    remember(ACL_ERROR_RT_MEMORY_ALLOCATION);
    return ACL_ERROR_RT_MEMORY_ALLOCATION;
}

aclError unexpected_exception(const char *what) {
    set_recent_text(std::string(current_function()) + ": the simulator failed: " + what);
    remember(ACL_ERROR_RT_INTERNAL_ERROR);
    return ACL_ERROR_RT_INTERNAL_ERROR;
}

KeptText::KeptText() : text_(exchange_recent_text()) {}

KeptText::~KeptText() {
    if (!text_.empty()) {
        set_recent_text(std::move(text_));
    }
}

const char *current_function() { return current_call() == nullptr ? "" : current_call()->name(); }

void remember(aclError code) { thread_errors().last = code; }

aclError last_error(bool clear) {
    ThreadErrors &errors = thread_errors();
    const aclError code = errors.last;
    if (clear) {
        errors.last = ACL_SUCCESS;
    }
    return code;
}

void share_recent_texts(bool on) { shared_text().is_on.store(on, std::memory_order_relaxed); }

const char *take_recent_text() {
    std::string text = exchange_recent_text();
    if (text.empty()) {
        return nullptr;
    }
    ThreadErrors &errors = thread_errors();
    errors.taken = std::move(text);
    return errors.taken.c_str();
}

}  // namespace aclsim
