// SPDX-License-Identifier: Apache-2.0
#include "support/error.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "support/config.h"
#include "support/thread_state.h"

namespace aclsim {
namespace {

constexpr const char *kNoMemory = "host out of RAM";  // fits into a string without an allocation

struct ThreadTexts {
    std::string recent;  // newest failure, until it is read
    std::string taken;   // last result of aclGetRecentErrMsg: its pointer must stay valid
};

thread_local aclError t_last = ACL_SUCCESS;
thread_local bool t_lacks_memory = false;  // no memory for the text of the newest failure

// Newest text of all threads, while they share it.
struct SharedText {
    std::atomic<bool> is_on{false};
    std::mutex mutex;
    std::string recent;
};

SharedText &shared_text() {
    static SharedText *text = new SharedText();  // never destroyed, because threads may fail during exit
    return *text;
}

void set_recent_text(std::string text) {
    SharedText &shared = shared_text();
    if (!shared.is_on.load(std::memory_order_relaxed)) {
        ThreadState<ThreadTexts>::get().recent = std::move(text);
        t_lacks_memory = false;
        return;
    }
    const std::lock_guard<std::mutex> guard(shared.mutex);
    shared.recent = std::move(text);
}

// Sets the text, or notes the lack of memory for it: an older text must not be taken for that of this failure.
template <class MakeText>
void set_recent_text_of(MakeText make) noexcept {
    try {
        set_recent_text(make());
    } catch (const std::bad_alloc &) {
        t_lacks_memory = true;
    }
}

std::string exchange_recent_text() {
    if (std::exchange(t_lacks_memory, false)) {
        return kNoMemory;
    }
    SharedText &shared = shared_text();
    if (!shared.is_on.load(std::memory_order_relaxed)) {
        ThreadTexts *const texts = ThreadState<ThreadTexts>::find();
        return texts == nullptr ? std::string() : std::exchange(texts->recent, {});
    }
    const std::lock_guard<std::mutex> guard(shared.mutex);
    return std::exchange(shared.recent, {});
}

std::string formatted(const char *format, va_list arguments) {
    va_list measured;
    va_copy(measured, arguments);
    std::string text(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, format, measured)) + 1, '\0');
    va_end(measured);
    std::vsnprintf(text.data(), text.size(), format, arguments);
    text.pop_back();
    return text;
}

[[noreturn]] void raise(Failure failure, const char *format, va_list arguments) {
    set_recent_text_of([&] { return std::string(current_function()) + ": " + formatted(format, arguments); });
    throw failure;
}

}  // namespace

// raise() throws, so va_end is not reached; on the supported ABIs it is a no-op.
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
        set_recent_text_of([&] {
            return exchange_recent_text() + "; the profile " + profile->path + " has " + std::to_string(answer) +
                   " in place of " + std::to_string(code);
        });
    }
    return answer;
}

aclError unsupported(Function function) {
    set_recent_text_of(
        [&] { return std::string(info_of(function).name) + ": the simulator does not simulate this function"; });
    return answer_of(function, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

aclError out_of_memory() {
    set_recent_text_of([] { return kNoMemory; });
    remember(ACL_ERROR_RT_MEMORY_ALLOCATION);
    return ACL_ERROR_RT_MEMORY_ALLOCATION;
}

aclError unexpected_exception(const char *what) {
    set_recent_text_of([&] { return std::string(current_function()) + ": the simulator failed: " + what; });
    remember(ACL_ERROR_RT_INTERNAL_ERROR);
    return ACL_ERROR_RT_INTERNAL_ERROR;
}

KeptText::KeptText() : text_(exchange_recent_text()) {}

KeptText::~KeptText() {
    if (!text_.empty()) {
        set_recent_text_of([&] { return std::move(text_); });
    }
}

void remember(aclError code) { t_last = code; }

aclError last_error(bool clear) { return clear ? std::exchange(t_last, ACL_SUCCESS) : t_last; }

void share_recent_texts(bool on) { shared_text().is_on.store(on, std::memory_order_relaxed); }

const char *take_recent_text() {
    std::string text = exchange_recent_text();
    if (text.empty()) {
        return nullptr;
    }
    try {
        std::string &taken = ThreadState<ThreadTexts>::get().taken;
        taken = std::move(text);
        return taken.c_str();
    } catch (const std::bad_alloc &) {
        return kNoMemory;
    }
}

}  // namespace aclsim
