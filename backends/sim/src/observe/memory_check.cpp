#include "observe/memory_check.h"

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

#include "engine/stream.h"
#include "support/error.h"
#include "support/text.h"

namespace aclsim {

struct MemoryCheck::Block {
    std::uintptr_t address;
    std::uint64_t size;
    std::uint64_t room;
    Pages pages;
    std::string allocated;  // the call
    std::string freed{};
    bool is_gone = false;                       // freed, in the order of streams too
    std::vector<const MemoryUses *> pending{};  // by tasks and calls that are not done

    std::uintptr_t end() const { return address + size; }
    bool has(std::uintptr_t at) const { return at - address < std::max(size, room); }
    std::string text() const;
};

// The memory that a task or a call works on, until that has ended. A task that is kept for replays does not count.
struct MemoryUses {
    explicit MemoryUses(std::string user) : who(std::move(user)) {}
    ~MemoryUses() { end(); }
    MemoryUses(const MemoryUses &) = delete;
    MemoryUses &operator=(const MemoryUses &) = delete;
    void add(const MemoryCheck::Blocks &used) {
        for (const auto &it : used) {
            if (std::find(blocks.begin(), blocks.end(), it) == blocks.end()) {
                blocks.push_back(it);
                it->pending.push_back(this);
            }
        }
    }
    void end() {
        for (const auto &it : blocks) {
            it->pending.erase(std::remove(it->pending.begin(), it->pending.end(), this), it->pending.end());
        }
    }

    std::string who;
    MemoryCheck::Blocks blocks{};
};

namespace {

constexpr std::size_t kRemembered = 4096;              // allocations that were freed
constexpr std::uint64_t kPoisoned = 16ULL << 20;       // bytes; pages behind them stay untouched, and cost nothing
constexpr std::uint64_t kNear = 16ULL << 20;           // bytes; addresses so close behind an allocation name it
constexpr int kNewMemory = 0xCD, kFreedMemory = 0xDD;  // patterns that no program expects

std::atomic<std::int32_t (*)(char *, std::size_t)> g_provider{nullptr};
// Of the calls that the thread is in, the present one last.
thread_local std::vector<std::shared_ptr<MemoryUses>> t_uses;

std::string present_call() {
    const CurrentCall *call = current_call();
    const bool is_placed = call != nullptr && call->place != nullptr;
    return current_function() + (is_placed ? " at " + *call->place : std::string());
}

std::string bytes_at(std::uint64_t size, std::uintptr_t address) {
    char text[64];
    std::snprintf(text, sizeof text, "%llu bytes at %#llx", static_cast<unsigned long long>(size),
                  static_cast<unsigned long long>(address));
    return text;
}

std::string use_of(const std::string &who, const Access &access) {
    return who + " uses " + bytes_at(access.size, as_integer(access.address)) + " (" + access.name + "),\n  ";
}

void poison(const MemoryCheck::Block &block, int pattern) {
    std::memset(reinterpret_cast<void *>(block.address), pattern, std::min(block.size, kPoisoned));
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
                      static_cast<unsigned long long>(as_integer(frames[i]) - 1 - as_integer(info.dli_fbase)));
        return info.dli_fname + (offset + (info.dli_sname == nullptr ? "" : std::string(" in ") + info.dli_sname));
    }
#endif
    return "an unknown place";
}

}  // namespace

void find_call_place() {
    char text[256] = "";
    auto *const provider = g_provider.load(std::memory_order_acquire);
    const bool is_told = provider != nullptr && provider(text, sizeof text) == 0;
    current_call()->place = std::make_unique<std::string>(is_told ? std::string(text) : native_place());
}

void set_call_site_provider(std::int32_t (*provider)(char *, std::size_t)) {
    g_provider.store(provider, std::memory_order_release);
}

std::string MemoryCheck::Block::text() const {
    return bytes_at(size, address) + " that " + allocated + " gave" + (freed.empty() ? "" : " and " + freed + " freed");
}

// --- allocations -----------------------------------------------------------------------------------------------------

void MemoryCheck::allocated(Time, const Allocation &it) {
    auto block = std::make_shared<Block>(Block{as_integer(it.address), it.size, it.room, it.pages, present_call()});
    live_[block->address] = block;
    if (it.pages == Pages::Own) {
        poison(*block, kNewMemory);
    } else if (it.pages == Pages::InStream) {
        in_stream_[it.number] = std::move(block);
    }
}

void MemoryCheck::allocation_reached(Time, std::uint64_t number) {
    const auto found = in_stream_.find(number);
    if (found != in_stream_.end()) {
        if (!found->second->is_gone) {
            poison(*found->second, kNewMemory);
        }
        in_stream_.erase(found);
    }
}

std::shared_ptr<MemoryCheck::Block> MemoryCheck::retire(Live::iterator found) {
    const std::shared_ptr<Block> block = found->second;
    block->freed = present_call();
    live_.erase(found);
    retired_.push_back(block);
    if (retired_.size() > kRemembered) {
        retired_.pop_front();
    }
    return block;
}

void MemoryCheck::free_submitted(Time, const void *address, std::uint64_t number) {
    const auto found = live_.find(as_integer(address));
    if (found != live_.end()) {
        in_stream_[number] = retire(found);
    }
}

void MemoryCheck::free_reached(Time, std::uint64_t number) {
    const auto found = in_stream_.find(number);
    if (found != in_stream_.end()) {
        reach_free(*found->second);
        in_stream_.erase(found);
    }
}

void MemoryCheck::free_dropped(Time, std::uint64_t number) {
    const auto found = in_stream_.find(number);
    if (found == in_stream_.end()) {
        return;
    }
    const std::shared_ptr<Block> block = found->second;
    in_stream_.erase(found);
    retired_.erase(std::remove(retired_.begin(), retired_.end(), block), retired_.end());
    block->freed.clear();
    live_[block->address] = block;
}

void MemoryCheck::freed_nothing(Time, const void *address) {
    report(present_call() + " frees " + text_of(address) + ", which is not the start of live device memory,\n  " +
           words_for(address));
}

void MemoryCheck::freed_registered(Time, const void *address) {
    report(present_call() + " frees " + text_of(address) +
           ", which is registered; call aclrtHostUnregister first,\n  " + words_for(address));
}

void MemoryCheck::report_uses(const Block &block) {
    for (const MemoryUses *use : block.pending) {
        report(block.text() + "\n  while " + use->who + " still uses it; synchronize first");
    }
}

void MemoryCheck::reach_free(Block &block) {
    report_uses(block);
    block.is_gone = true;
    if (block.pages != Pages::Shared && !is_given_out_again(block)) {
        poison(block, kFreedMemory);
    }
}

void MemoryCheck::freed(Time, const void *address) {
    const auto found = live_.find(as_integer(address));
    if (found != live_.end()) {
        reach_free(*retire(found));
    }
}

void MemoryCheck::freed_all(Time, std::uintptr_t begin, std::uint64_t size) {
    for (auto it = live_.lower_bound(begin); it != live_.end() && it->first - begin < size;) {
        const auto block = retire(it++);
        report_uses(*block);
        block->is_gone = true;
    }
}

MemoryCheck::Live::const_iterator MemoryCheck::find_before(const void *address) const {
    const auto after = live_.upper_bound(as_integer(address));
    return after == live_.begin() ? live_.end() : std::prev(after);
}

std::shared_ptr<MemoryCheck::Block> MemoryCheck::find_retired(const void *address) const {
    const auto has = [address](const auto &it) { return it->has(as_integer(address)); };
    const auto found = std::find_if(retired_.rbegin(), retired_.rend(), has);
    return found == retired_.rend() ? nullptr : *found;
}

// A pool may do that before the stream reaches the free.
bool MemoryCheck::is_given_out_again(const Block &block) const {
    const auto behind = live_.lower_bound(block.end());
    return behind != live_.begin() && std::prev(behind)->second->end() > block.address;
}

// --- uses ------------------------------------------------------------------------------------------------------------

MemoryCheck::Blocks MemoryCheck::find_live(const void *address, std::uint64_t size) const {
    auto it = find_before(address);
    if (it == live_.end() || !it->second->has(as_integer(address))) {
        return {};
    }
    const std::uintptr_t end = as_integer(address) + size;
    Blocks used{it->second};
    const auto goes_on = [&](const Block &last) REQUIRES(engine_lock) {
        return ++it != live_.end() && last.end() < end && last.end() == it->first && last.pages == Pages::Shared &&
               it->second->pages == Pages::Shared;
    };
    while (goes_on(*used.back())) {
        used.push_back(it->second);
    }
    return used;
}

// For a task, memory is live until a stream reaches its free. Of several blocks at one address the oldest comes first.
MemoryCheck::Blocks MemoryCheck::find_in_stream(const void *address, std::uint64_t size) const {
    const auto is_there = [address](const auto &it) { return !it->is_gone && it->has(as_integer(address)); };
    const auto found = std::find_if(retired_.begin(), retired_.end(), is_there);
    return found == retired_.end() ? find_live(address, size) : Blocks{*found};
}

// Reports what the runtime lets pass: uses past the size that was asked for, and of memory that a pool or the driver
// keeps.
void MemoryCheck::examine(const std::string &who, const Access &access, const Blocks &used) {
    if (used.empty()) {
        if (const auto gone = find_retired(access.address)) {
            report(use_of(who, access) + "inside " + gone->text());
        }
        return;
    }
    const std::uintptr_t end = as_integer(access.address) + access.size;
    const Block &last = *used.back();
    if (end > last.end()) {
        report(use_of(who, access) + std::to_string(std::min(access.size, end - last.end())) +
               " of them past the end of " + last.text());
    }
}

void MemoryCheck::call_began(Time) { t_uses.emplace_back(); }

void MemoryCheck::call_ended(Time) {
    if (!t_uses.empty()) {  // the check may have been attached meanwhile
        t_uses.pop_back();
    }
}

void MemoryCheck::call_done_with_memory(Time) {
    if (!t_uses.empty()) {
        t_uses.back().reset();
    }
}

void MemoryCheck::call_accesses(Time, const Access &access) {
    const Blocks used = find_live(access.address, access.size);
    examine(present_call(), access, used);
    if (used.empty() || t_uses.empty()) {
        return;
    }
    if (t_uses.back() == nullptr) {
        t_uses.back() = std::make_shared<MemoryUses>(present_call());
    }
    t_uses.back()->add(used);
}

void MemoryCheck::submitted(Time, const Stream &stream, const Task &task, const Submission &) {
    uses_.erase(&task);  // of an earlier task at the same address, whose model was destroyed
    if (t_uses.empty() || t_uses.back() == nullptr) {
        return;
    }
    const auto uses = std::exchange(t_uses.back(), nullptr);
    uses->who = "task " + std::to_string(task.sequence) + " of stream " + std::to_string(stream.id) + ", which " +
                present_call() + " submitted,";
    if (!stream.executes_tasks) {
        uses->end();  // its executions use the memory
    }
    uses_[&task] = uses;
}

void MemoryCheck::accessed(Time, const Task &task, const Access &access, bool is_there) {
    const auto found = uses_.find(&task);
    if (found == uses_.end()) {
        return;
    }
    MemoryUses &uses = *found->second;
    if (!is_there) {
        report(use_of(uses.who, access) + words_for(access.address));
        return;
    }
    const Blocks used = find_in_stream(access.address, access.size);
    examine(uses.who, access, used);
    uses.add(used);
}

void MemoryCheck::replayed(Time, const Task &kept, const Task &replay) {
    const auto found = uses_.find(&kept);
    if (found == uses_.end()) {
        return;
    }
    const MemoryUses &uses = *found->second;
    for (const auto &block : uses.blocks) {
        if (block->is_gone) {
            report(uses.who + " is executed by its model and uses\n  " + block->text());
        }
    }
    const auto own = std::make_shared<MemoryUses>(uses.who);
    own->add(uses.blocks);
    uses_[&replay] = own;
}

// --- words -----------------------------------------------------------------------------------------------------------

void MemoryCheck::explain(const void *address, std::string &text) const { text += "; " + words_for(address); }

std::string MemoryCheck::words_for(const void *address) const {
    const auto before = find_before(address);
    if (before != live_.end() && before->second->has(as_integer(address))) {
        return "inside " + before->second->text();
    }
    if (const auto gone = find_retired(address)) {
        return "inside " + gone->text();
    }
    if (before == live_.end() || as_integer(address) - before->second->end() > kNear) {
        return "no allocation is near";
    }
    return std::to_string(as_integer(address) - before->second->end()) + " bytes behind " + before->second->text();
}

void MemoryCheck::report(const std::string &text) {
    ++reports_;
    std::fprintf(stderr, "ascend_rt simulator, memory check: %s\n", text.c_str());
}

}  // namespace aclsim
