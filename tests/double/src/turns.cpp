#include "turns.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <unordered_map>

#include "engine.h"

namespace unforgiving {
namespace {

constexpr std::chrono::seconds kWorthTelling{10};

struct Turns {
    std::mutex lock;
    std::condition_variable changed;
    std::list<Turn::Waiter> waiters;
    std::unordered_map<const void *, const void *> streams;  // by event
};

// Never destroyed: threads may be inside when the process ends.
Turns &turns() {
    static Turns *const known = [] {
        auto *const made = new Turns;
        // In a forked child none of the waiting threads is left.
        pthread_atfork([] { turns().lock.lock(); }, [] { turns().lock.unlock(); },
                       [] {
                           turns().waiters.clear();
                           turns().lock.unlock();
                       });
        return made;
    }();
    return *known;
}

const void *current_context() {
    aclrtContext context = nullptr;
    engine().aclrtGetCurrentContext(&context);
    return context;
}

}  // namespace

Turn::Turn(const Site &site, const TurnRule &rule, const void *stream) {
    const void *const context = current_context();
    if (context == nullptr) {
        return;  // the call will say so
    }
    std::unique_lock<std::mutex> locked(turns().lock);
    const auto blocker = [&] {
        auto &all = turns().waiters;
        return std::find_if(all.begin(), all.end(), [&](const Waiter &it) {
            const bool is_same = stream != nullptr && it.stream == stream;
            return it.context == context &&
                   (it.waits_as & (rule.blocked_by | (is_same ? rule.blocked_by_same : 0))) != 0;
        });
    };
    const auto may_go_on = [&] { return blocker() == turns().waiters.end(); };
    if (!turns().changed.wait_for(locked, kWorthTelling, may_go_on)) {
        std::fprintf(stderr,
                     "double: %s: blocks, as in the official library, because another thread of the context is in %s\n",
                     site.name, blocker()->function);
        turns().changed.wait(locked, may_go_on);
    }
    if (rule.waits_as != 0) {
        place_ = turns().waiters.insert(turns().waiters.end(), {rule.waits_as, context, stream, site.name});
        is_placed_ = true;
    }
}

Turn::~Turn() {
    if (is_placed_) {
        const std::lock_guard<std::mutex> locked(turns().lock);
        turns().waiters.erase(place_);
        turns().changed.notify_all();
    }
}

void note_recorded(aclError result, const void *event, const void *stream) {
    if (result == ACL_SUCCESS) {
        const std::lock_guard<std::mutex> locked(turns().lock);
        turns().streams[event] = stream;
    }
}

const void *stream_of_record(const void *event) {
    const std::lock_guard<std::mutex> locked(turns().lock);
    const auto found = turns().streams.find(event);
    return found == turns().streams.end() ? nullptr : found->second;
}

}  // namespace unforgiving
