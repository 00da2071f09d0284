#include "checks/memory_check.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#if defined(__has_include)
#if __has_include(<execinfo.h>)
#include <dlfcn.h>
#include <execinfo.h>
#define ACLSIM_HAS_BACKTRACE 1
#endif
#endif

#include "checks/stall.h"
#include "engine/stream.h"
#include "support/error.h"

namespace aclsim {

struct MemoryCheck::Allocation {
    std::uintptr_t address;
    std::uint64_t size;
    std::uint64_t room;
    Pages pages;
    std::string allocated;  // the call
    std::string freed{};
    bool is_gone = false;                       // freed, and no stream is still to come to that
    std::vector<const MemoryUses *> pending{};  // by tasks and calls that are not done

    std::uintptr_t end() const { return address + size; }
    bool has(std::uintptr_t at) const { return at - address < std::max(size, room); }
    std::string text() const;
};

// What a task or a call works on: until it is over, unless the task is kept for replays.
struct MemoryUses {
    explicit MemoryUses(std::string user) : who(std::move(user)) {}
    ~MemoryUses() { end(); }
    MemoryUses(const MemoryUses &) = delete;
    MemoryUses &operator=(const MemoryUses &) = delete;
    void add(const MemoryCheck::Allocations &used) {
        for (const auto &it : used) {
            if (std::find(allocations.begin(), allocations.end(), it) == allocations.end()) {
                allocations.push_back(it);
                it->pending.push_back(this);
            }
        }
    }
    void end() {
        for (const auto &it : allocations) {
            it->pending.erase(std::remove(it->pending.begin(), it->pending.end(), this), it->pending.end());
        }
    }

    std::string who;
    MemoryCheck::Allocations allocations{};
};

namespace {

constexpr std::size_t kRemembered = 4096;              // allocations that were freed
constexpr std::uint64_t kPoisoned = 16ULL << 20;       // bytes; what is behind stays untouched, and costs nothing
constexpr std::uint64_t kNear = 16ULL << 20;           // bytes behind an allocation that it is blamed for
constexpr int kNewMemory = 0xCD, kFreedMemory = 0xDD;  // patterns that no program expects

std::atomic<std::int32_t (*)(char *, std::size_t)> g_provider{nullptr};
thread_local std::shared_ptr<MemoryUses> t_uses;  // of the present call

std::uintptr_t number(const void *address) { return reinterpret_cast<std::uintptr_t>(address); }

std::string present_call() { return current_function() + (" at " + call_place()); }

std::string bytes_at(std::uint64_t size, std::uintptr_t address) {
    char text[64];
    std::snprintf(text, sizeof text, "%llu bytes at %#llx", static_cast<unsigned long long>(size),
                  static_cast<unsigned long long>(address));
    return text;
}

std::string use_of(const std::string &who, const void *address, std::uint64_t size, const char *name) {
    return who + " uses " + bytes_at(size, number(address)) + " (" + name + "),\n  ";
}

void poison(const MemoryCheck::Allocation &allocation, int pattern) {
    std::memset(reinterpret_cast<void *>(allocation.address), pattern, std::min(allocation.size, kPoisoned));
}

// The first caller outside this library: "file+offset in function", of the call itself and not of where it returns to.
std::string native_place() {
#ifdef ACLSIM_HAS_BACKTRACE
    void *frames[16];
    const int count = backtrace(frames, static_cast<int>(std::size(frames)));
    Dl_info own = {};
    dladdr(reinterpret_cast<void *>(&set_call_site_provider), &own);
    bool was_inside = false;  // a sanitizer's own backtrace() comes before
    for (int i = 0; i < count; ++i) {
        Dl_info info = {};
        if (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr) {
            continue;
        }
        was_inside = was_inside || info.dli_fbase == own.dli_fbase;
        if (!was_inside || info.dli_fbase == own.dli_fbase) {
            continue;
        }
        char offset[32];
        std::snprintf(offset, sizeof offset, "+%#llx",
                      static_cast<unsigned long long>(number(frames[i]) - 1 - number(info.dli_fbase)));
        return info.dli_fname + (offset + (info.dli_sname == nullptr ? "" : std::string(" in ") + info.dli_sname));
    }
#endif
    return "an unknown place";
}

}  // namespace

void find_call_place() {
    char text[256] = "";
    auto *const provider = g_provider.load(std::memory_order_acquire);
    set_call_place(provider != nullptr && provider(text, sizeof text) == 0 ? text : native_place());
}

void set_call_site_provider(std::int32_t (*provider)(char *, std::size_t)) {
    g_provider.store(provider, std::memory_order_release);
}

std::string MemoryCheck::Allocation::text() const {
    return bytes_at(size, address) + " that " + allocated + " gave" + (freed.empty() ? "" : " and " + freed + " freed");
}

// --- allocations -----------------------------------------------------------------------------------------------------

std::shared_ptr<MemoryCheck::Allocation> MemoryCheck::allocated(void *address, std::uint64_t size, std::uint64_t room,
                                                                Pages pages) {
    auto allocation = std::make_shared<Allocation>(Allocation{number(address), size, room, pages, present_call()});
    live_[allocation->address] = allocation;
    if (pages == Pages::Own) {
        poison(*allocation, kNewMemory);
    }
    return allocation;
}

void MemoryCheck::reached_allocation(const Allocation &allocation) const {
    if (!allocation.is_gone) {
        poison(allocation, kNewMemory);
    }
}

std::shared_ptr<MemoryCheck::Allocation> MemoryCheck::retire(Live::iterator found) {
    const std::shared_ptr<Allocation> allocation = found->second;
    allocation->freed = present_call();
    live_.erase(found);
    retired_.push_back(allocation);
    if (retired_.size() > kRemembered) {
        retired_.pop_front();
    }
    return allocation;
}

std::shared_ptr<MemoryCheck::Allocation> MemoryCheck::freed_in_stream(const void *address) {
    const auto found = live_.find(number(address));
    return found == live_.end() ? nullptr : retire(found);
}

void MemoryCheck::not_freed(const std::shared_ptr<Allocation> &allocation) {
    retired_.erase(std::remove(retired_.begin(), retired_.end(), allocation), retired_.end());
    allocation->freed.clear();
    live_[allocation->address] = allocation;
}

void MemoryCheck::freed_nothing(const void *address) {
    report(present_call() + " frees " + text_of(address) + ", which is not the start of live device memory,\n  " +
           words_for(address));
}

void MemoryCheck::freed_registered(const void *address) {
    report(present_call() + " frees " + text_of(address) +
           ", which is registered; call aclrtHostUnregister first,\n  " + words_for(address));
}

void MemoryCheck::report_uses(const Allocation &allocation) {
    for (const MemoryUses *use : allocation.pending) {
        report(allocation.text() + "\n  while " + use->who + " still uses it; synchronize first");
    }
}

void MemoryCheck::reached_free(Allocation &allocation) {
    report_uses(allocation);
    allocation.is_gone = true;
    if (allocation.pages != Pages::Shared) {
        poison(allocation, kFreedMemory);
    }
}

void MemoryCheck::freed(const void *address) {
    if (const auto allocation = freed_in_stream(address)) {
        reached_free(*allocation);
    }
}

void MemoryCheck::all_freed(std::uintptr_t begin, std::uint64_t size) {
    for (auto it = live_.lower_bound(begin); it != live_.end() && it->first - begin < size;) {
        const auto allocation = retire(it++);
        report_uses(*allocation);
        allocation->is_gone = true;
    }
}

MemoryCheck::Live::const_iterator MemoryCheck::find_before(const void *address) const {
    const auto after = live_.upper_bound(number(address));
    return after == live_.begin() ? live_.end() : std::prev(after);
}

std::shared_ptr<MemoryCheck::Allocation> MemoryCheck::find_retired(const void *address) const {
    const auto has = [address](const auto &it) { return it->has(number(address)); };
    const auto found = std::find_if(retired_.rbegin(), retired_.rend(), has);
    return found == retired_.rend() ? nullptr : *found;
}

// --- uses ------------------------------------------------------------------------------------------------------------

MemoryCheck::Allocations MemoryCheck::find_live(const void *address, std::uint64_t size) const {
    auto it = find_before(address);
    if (it == live_.end() || !it->second->has(number(address))) {
        return {};
    }
    const std::uintptr_t end = number(address) + size;
    Allocations used{it->second};
    const auto goes_on = [&](const Allocation &last) {
        return ++it != live_.end() && last.end() < end && last.end() == it->first && last.pages == Pages::Shared &&
               it->second->pages == Pages::Shared;
    };
    while (goes_on(*used.back())) {
        used.push_back(it->second);
    }
    return used;
}

// For a task memory is live until a stream gets to where it is freed. Of those at one address the oldest comes first.
MemoryCheck::Allocations MemoryCheck::find_in_stream(const void *address, std::uint64_t size) const {
    const auto is_there = [address](const auto &it) { return !it->is_gone && it->has(number(address)); };
    const auto found = std::find_if(retired_.begin(), retired_.end(), is_there);
    return found == retired_.end() ? find_live(address, size) : Allocations{*found};
}

// Whatever the runtime lets pass: behind the size that was asked for, or in what a pool or the driver keeps.
void MemoryCheck::examine(const std::string &who, const void *address, std::uint64_t size, const char *name,
                          const Allocations &used) {
    const auto what = [&] { return use_of(who, address, size, name); };
    if (used.empty()) {
        if (const auto gone = find_retired(address)) {
            report(what() + "inside " + gone->text());
        }
        return;
    }
    const std::uintptr_t end = number(address) + size;
    const Allocation &last = *used.back();
    if (end > last.end()) {
        report(what() + std::to_string(std::min(size, end - last.end())) + " of them past the end of " + last.text());
    }
}

void MemoryCheck::used(const void *address, std::uint64_t size, const char *name) {
    const Allocations used = find_live(address, size);
    examine(present_call(), address, size, name, used);
    if (!used.empty() && t_uses == nullptr) {
        t_uses = std::make_shared<MemoryUses>(present_call());
    }
    if (!used.empty()) {
        t_uses->add(used);
    }
}

void MemoryCheck::attach(const Stream &stream, Task &task) {
    if (t_uses == nullptr) {
        return;
    }
    t_uses->who = "task " + std::to_string(task.sequence) + " of stream " + std::to_string(stream.id) + ", which " +
                  present_call() + " submitted,";
    if (!stream.executes_tasks()) {
        t_uses->end();
    }
    task.uses = std::exchange(t_uses, nullptr);
}

void MemoryCheck::end_uses() { t_uses.reset(); }

MemoryCheck::Call::Call() : outer_(std::exchange(t_uses, nullptr)) {}
MemoryCheck::Call::~Call() { t_uses = std::move(outer_); }

void MemoryCheck::found(const Task &task, const void *address, std::uint64_t size, const char *name) {
    if (task.uses == nullptr) {
        return;
    }
    const Allocations used = find_in_stream(address, size);
    examine(task.uses->who, address, size, name, used);
    task.uses->add(used);
}

void MemoryCheck::missed(const Task &task, const void *address, std::uint64_t size, const char *name) {
    if (task.uses != nullptr) {
        report(use_of(task.uses->who, address, size, name) + words_for(address));
    }
}

void MemoryCheck::replayed(const Task &task, Task &replay) {
    if (task.uses == nullptr) {
        return;
    }
    for (const auto &allocation : task.uses->allocations) {
        if (allocation->is_gone) {
            report(task.uses->who + " is executed by its model and uses\n  " + allocation->text());
        }
    }
    replay.uses = std::make_shared<MemoryUses>(task.uses->who);
    replay.uses->add(task.uses->allocations);
}

// --- words -----------------------------------------------------------------------------------------------------------

std::string MemoryCheck::explain(const void *address) const { return "; " + words_for(address); }

std::string MemoryCheck::words_for(const void *address) const {
    const auto before = find_before(address);
    if (before != live_.end() && before->second->has(number(address))) {
        return "inside " + before->second->text();
    }
    if (const auto gone = find_retired(address)) {
        return "inside " + gone->text();
    }
    if (before == live_.end() || number(address) - before->second->end() > kNear) {
        return "no allocation is near";
    }
    return std::to_string(number(address) - before->second->end()) + " bytes behind " + before->second->text();
}

void MemoryCheck::report(const std::string &text) {
    ++reports_;
    std::fprintf(stderr, "ascend_rt simulator, memory check: %s\n", text.c_str());
}

}  // namespace aclsim
