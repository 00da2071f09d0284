#include "call.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "death.h"
#include "engine.h"
#include "settings.h"

namespace unforgiving {
namespace {

// Name of the call that the thread is in; nullptr: none.
using Inside = std::atomic<const char *>;

struct Threads {
    std::mutex lock;
    std::vector<Inside *> all;
    std::atomic<bool> have_destructors_run{false};
    std::atomic<std::uint64_t> calls{0};
};

// Never destroyed: threads may be inside when the process ends.
Threads &threads() {
    static Threads *const known = new Threads;
    return *known;
}

struct Thread {
    Inside inside{nullptr};

    Thread() {
        const std::lock_guard<std::mutex> locked(threads().lock);
        threads().all.push_back(&inside);
    }
    ~Thread() {
        const std::lock_guard<std::mutex> locked(threads().lock);
        auto &all = threads().all;
        all.erase(std::remove(all.begin(), all.end(), &inside), all.end());
    }
    Thread(const Thread &) = delete;
    Thread &operator=(const Thread &) = delete;
};

Inside &inside() {
    thread_local Thread thread;
    return thread.inside;
}

// In a forked child only the thread that forked is left.
void forget_other_threads() {
    Inside *const own = &inside();
    auto &all = threads().all;
    all.erase(std::remove_if(all.begin(), all.end(), [own](Inside *it) { return it != own; }), all.end());
    threads().lock.unlock();
}

__attribute__((constructor)) void begin() {
    engine();
    settings();
    pthread_atfork([] { threads().lock.lock(); }, [] { threads().lock.unlock(); }, forget_other_threads);
}

__attribute__((destructor)) void end() {
    threads().have_destructors_run = true;
    const std::lock_guard<std::mutex> locked(threads().lock);
    for (const Inside *const it : threads().all) {
        if (const char *const function = *it) {
            die(function, "a thread is inside the call while the library's destructors run");
        }
    }
}

aclError failure_of(const Site &site, std::uint64_t nth_of_site, std::uint64_t nth_of_all) {
    for (const Failing &it : settings().failing) {
        const bool is_any = it.function == "*";
        if ((is_any || it.function == site.name) && (it.nth == 0 || it.nth == (is_any ? nth_of_all : nth_of_site))) {
            return it.code;
        }
    }
    return ACL_SUCCESS;
}

}  // namespace

Call::Call(Site &site) : site_(site), outer_(inside().exchange(site.name)), failure_(ACL_SUCCESS) {
    if (threads().have_destructors_run) {
        die(site.name, "the library's destructors have run");
    }
    const std::uint64_t nth_of_site = ++site.calls;
    const std::uint64_t nth_of_all = ++threads().calls;
    if (!settings().failing.empty()) {
        failure_ = failure_of(site, nth_of_site, nth_of_all);
    }
}

Call::~Call() { inside() = outer_; }

}  // namespace unforgiving
