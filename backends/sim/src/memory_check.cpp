#include "memory_check.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#if defined(__has_include)
#if __has_include(<execinfo.h>)
#include <dlfcn.h>
#include <execinfo.h>
#define ACLSIM_HAS_BACKTRACE 1
#endif
#endif

#include "context.h"
#include "error.h"
#include "stream.h"

namespace aclsim {
namespace {

constexpr std::size_t kRemembered = 4096;              // allocations that were freed
constexpr std::uint64_t kPoisoned = 16ULL << 20;       // bytes; what is behind stays untouched, and costs nothing
constexpr int kNewMemory = 0xCD, kFreedMemory = 0xDD;  // patterns that no program expects

std::atomic<std::int32_t (*)(char *, std::size_t)> g_provider{nullptr};
thread_local std::string t_place;                        // of the present call
thread_local std::vector<std::shared_ptr<void>> t_used;  // the allocations that it works on

std::uintptr_t number(const void *address) { return reinterpret_cast<std::uintptr_t>(address); }

Site present_site() { return {current_function(), t_place}; }

std::string bytes_at(std::uint64_t size, std::uintptr_t address) {
    char text[64];
    std::snprintf(text, sizeof text, "%llu bytes at %#llx", static_cast<unsigned long long>(size),
                  static_cast<unsigned long long>(address));
    return text;
}

void poison(std::uintptr_t address, std::uint64_t size, int pattern) {
    std::memset(reinterpret_cast<void *>(address), pattern, std::min(size, kPoisoned));
}

// The first caller outside this library.
std::string native_place() {
#ifdef ACLSIM_HAS_BACKTRACE
    void *frames[16];
    const int count = backtrace(frames, static_cast<int>(std::size(frames)));
    Dl_info own = {};
    dladdr(reinterpret_cast<void *>(&set_call_site_provider), &own);
    for (int i = 0; i < count; ++i) {
        Dl_info info = {};
        if (dladdr(frames[i], &info) == 0 || info.dli_fbase == own.dli_fbase || info.dli_fname == nullptr) {
            continue;
        }
        char offset[32];
        std::snprintf(offset, sizeof offset, "+%#llx",
                      static_cast<unsigned long long>(number(frames[i]) - number(info.dli_fbase)));
        return std::string(info.dli_fname) + (info.dli_sname == nullptr ? "" : std::string("!") + info.dli_sname) +
               offset;
    }
#endif
    return "an unknown place";
}

}  // namespace

void find_call_site() {
    char text[256] = "";
    auto *const provider = g_provider.load(std::memory_order_acquire);
    t_place = provider != nullptr && provider(text, sizeof text) == 0 ? text : native_place();
}

void set_call_site_provider(std::int32_t (*provider)(char *, std::size_t)) {
    g_provider.store(provider, std::memory_order_release);
}

struct MemoryCheck::Allocation {
    std::uintptr_t address;
    std::uint64_t size;
    Site allocated;
    Pages pages;
    Site freed;
    std::vector<const Use *> pending;  // by tasks that are not done

    bool covers(const void *at) const { return number(at) - address < size; }
    std::string text() const { return bytes_at(size, address) + " that " + allocated.text() + " gave"; }
};

// A task that works on an allocation; it goes away with the task.
struct MemoryCheck::Use {
    Use(std::shared_ptr<Allocation> used, std::string task_text, Site submitter)
        : allocation(std::move(used)), task(std::move(task_text)), submitted(std::move(submitter)) {
        allocation->pending.push_back(this);
    }
    ~Use() {
        auto &all = allocation->pending;
        all.erase(std::remove(all.begin(), all.end(), this), all.end());
    }
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;

    const std::shared_ptr<Allocation> allocation;
    const std::string task;
    const Site submitted;
};

void MemoryCheck::forget_uses() { t_used.clear(); }

void MemoryCheck::allocated(void *address, std::uint64_t size, Pages pages) {
    if (pages == Pages::Own) {
        poison(number(address), size, kNewMemory);
    }
    live_[number(address)] =
        std::make_shared<Allocation>(Allocation{number(address), size, present_site(), pages, {}, {}});
}

void MemoryCheck::reached_allocation(const void *address) const {
    const auto found = live_.find(number(address));
    if (found != live_.end()) {
        poison(number(address), found->second->size, kNewMemory);
    }
}

std::shared_ptr<MemoryCheck::Allocation> MemoryCheck::retire(Allocations::iterator found) {
    const std::shared_ptr<Allocation> allocation = found->second;
    allocation->freed = present_site();
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

void MemoryCheck::reached_free(const Allocation &allocation) {
    for (const Use *use : allocation.pending) {
        report(allocation.freed.text() + " frees " + allocation.text() + ",\n  while " + use->task + ", submitted by " +
               use->submitted.text() + ", still uses it; synchronize first");
    }
    if (allocation.pages != Pages::Shared) {
        poison(allocation.address, allocation.size, kFreedMemory);
    }
}

void MemoryCheck::freed(const void *address) {
    if (const auto allocation = freed_in_stream(address)) {
        reached_free(*allocation);
    }
}

void MemoryCheck::all_freed(const void *begin, std::uint64_t size) {
    auto it = live_.lower_bound(number(begin));
    while (it != live_.end() && it->first - number(begin) < size) {
        retire(it++);
    }
}

std::shared_ptr<MemoryCheck::Allocation> MemoryCheck::find(const void *address) const {
    const auto after = live_.upper_bound(number(address));
    return after == live_.begin() ? nullptr : std::prev(after)->second;
}

std::shared_ptr<MemoryCheck::Allocation> MemoryCheck::find_retired(const void *address) const {
    const auto covers = [address](const auto &it) { return it->covers(address); };
    const auto found = std::find_if(retired_.rbegin(), retired_.rend(), covers);
    return found == retired_.rend() ? nullptr : *found;
}

void MemoryCheck::used(const void *address, std::uint64_t size, const char *name) {
    std::shared_ptr<Allocation> allocation = find(address);
    const std::string what =
        present_site().text() + " uses " + bytes_at(size, number(address)) + " (" + name + "),\n  ";
    if (allocation == nullptr || !allocation->covers(address)) {  // memory that a pool keeps stays live for the runtime
        allocation = find_retired(address);
        if (allocation != nullptr) {
            report(what + "inside " + allocation->text() + " and " + allocation->freed.text() + " freed");
        }
        return;
    }
    const std::uint64_t left = allocation->size - (number(address) - allocation->address);
    if (size > left) {
        report(what + std::to_string(size - left) + " bytes past the end of " + allocation->text());
    }
    t_used.push_back(allocation);
}

void MemoryCheck::attach(const Stream &stream, Task &task) {
    if (t_used.empty()) {
        return;
    }
    auto uses = std::make_shared<std::vector<std::unique_ptr<Use>>>();
    const std::string text = "task " + std::to_string(task.sequence) + " of stream " + std::to_string(stream.id);
    for (const auto &allocation : t_used) {
        uses->push_back(std::make_unique<Use>(std::static_pointer_cast<Allocation>(allocation), text, present_site()));
    }
    task.uses = std::move(uses);
}

std::string MemoryCheck::explain(const void *address) const {
    if (const auto gone = find_retired(address)) {
        return "; " + gone->text() + " and " + gone->freed.text() + " freed";
    }
    const std::shared_ptr<Allocation> before = find(address);
    if (before == nullptr || number(address) - before->address > before->size + kPoisoned) {
        return "; no allocation is near";
    }
    const std::uint64_t offset = number(address) - before->address;
    return before->covers(address) ? "; inside " + before->text()
                                   : "; " + std::to_string(offset - before->size) + " bytes behind " + before->text();
}

void MemoryCheck::report(const std::string &text) {
    ++reports_;
    std::fprintf(stderr, "ascend_rt simulator, memory check: %s\n", text.c_str());
}

}  // namespace aclsim
