// SPDX-License-Identifier: Apache-2.0
#include "observe/memory_check.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/stream.h"
#include "support/findings.h"
#include "support/json.h"
#include "support/standard_error.h"
#include "support/strict.h"
#include "support/text.h"
#include "support/thread_state.h"

namespace aclsim {

struct MemoryCheck::Block {
    std::uintptr_t address;
    std::uint64_t size;
    std::uint64_t room;
    Pages pages;
    CallNote allocated;
    CallNote freed{};
    bool is_gone = false;                       // freed, also in stream order
    std::vector<const MemoryUses *> pending{};  // uses by tasks and calls that are not done

    std::uintptr_t end() const { return address + size; }
    bool has(std::uintptr_t at) const { return at - address < std::max(size, room); }
    std::string text() const;
};

// Memory used by a task or a call until it ends. A task that a model keeps does not use memory itself, only its
// executions do.
struct MemoryUses {
    explicit MemoryUses(const CallNote &made_by) : call(made_by) {}
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
    std::string who() const {
        return sequence == 0 ? call.text()
                             : "task " + std::to_string(sequence) + " of stream " + std::to_string(stream_id) +
                                   ", which " + call.text() + " submitted,";
    }

    CallNote call;
    std::uint64_t sequence = 0;  // number of the task that took over the use; 0: still the call
    std::uint32_t stream_id = 0;
    MemoryCheck::Blocks blocks{};
};

namespace {

constexpr std::size_t kRemembered = 4096;              // freed allocations kept for reports
constexpr std::uint64_t kPoisoned = 16ULL << 20;       // bytes; pages after them stay untouched and use no memory
constexpr std::uint64_t kNear = 16ULL << 20;           // bytes after an allocation; addresses there refer to it
constexpr int kNewMemory = 0xCD, kFreedMemory = 0xDD;  // patterns that no program expects

// Memory used by the nested calls of a thread. Calls that use no memory have no entry.
struct CallUses {
    std::vector<std::pair<const CurrentCall *, std::shared_ptr<MemoryUses>>> stack;

    static std::shared_ptr<MemoryUses> *find() {  // nullptr if the present call uses no memory
        CallUses *const own = ThreadState<CallUses>::find();
        const bool has_present = own != nullptr && !own->stack.empty() && own->stack.back().first == current_call();
        return has_present ? &own->stack.back().second : nullptr;
    }
    static MemoryUses &get() {
        if (std::shared_ptr<MemoryUses> *const found = find()) {
            return **found;
        }
        auto &stack = ThreadState<CallUses>::get().stack;
        stack.emplace_back(current_call(), std::make_shared<MemoryUses>(CallNote::present()));
        return *stack.back().second;
    }
    static std::shared_ptr<MemoryUses> take() {
        std::shared_ptr<MemoryUses> *const found = find();
        if (found == nullptr) {
            return nullptr;
        }
        auto uses = std::move(*found);
        ThreadState<CallUses>::get().stack.pop_back();
        return uses;
    }
};

std::string present_call() { return CallNote::present().text(); }

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

}  // namespace

std::string MemoryCheck::Block::text() const {
    return bytes_at(size, address) + " that " + allocated.text() + " gave" +
           (freed.is_known() ? " and " + freed.text() + " freed" : "");
}

// --- allocations -----------------------------------------------------------------------------------------------------

void MemoryCheck::allocated(const Moment &, const Allocation &it) {
    const Guard guard(mutex_);
    auto block =
        std::make_shared<Block>(Block{as_integer(it.address), it.size, it.room, it.pages, CallNote::present()});
    live_[block->address] = block;
    if (it.pages == Pages::Own) {
        poison(*block, kNewMemory);
    } else if (it.pages == Pages::InStream) {
        in_stream_[it.number] = std::move(block);
    }
}

void MemoryCheck::allocation_reached(const Moment &, std::uint64_t number, Point) {
    const Guard guard(mutex_);
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
    block->freed = CallNote::present();
    live_.erase(found);
    retired_.push_back(block);
    if (retired_.size() > kRemembered) {
        retired_.pop_front();
    }
    return block;
}

void MemoryCheck::free_submitted(const Moment &, const void *address, std::uint64_t number) {
    const Guard guard(mutex_);
    const auto found = live_.find(as_integer(address));
    if (found != live_.end()) {
        in_stream_[number] = retire(found);
    }
}

void MemoryCheck::free_reached(const Moment &, std::uint64_t number, Point) {
    const Guard guard(mutex_);
    const auto found = in_stream_.find(number);
    if (found != in_stream_.end()) {
        reach_free(*found->second);
        in_stream_.erase(found);
    }
}

void MemoryCheck::free_dropped(const Moment &, std::uint64_t number) {
    const Guard guard(mutex_);
    const auto found = in_stream_.find(number);
    if (found == in_stream_.end()) {
        return;
    }
    const std::shared_ptr<Block> block = found->second;
    in_stream_.erase(found);
    retired_.erase(std::remove(retired_.begin(), retired_.end(), block), retired_.end());
    block->freed = {};
    live_[block->address] = block;
}

void MemoryCheck::freed_nothing(const Moment &, const void *address) {
    const Guard guard(mutex_);
    report(CallNote::present(), present_call() + " frees " + text_of(address) +
                                    ", which is not the start of live device memory,\n  " + words_for(address));
}

void MemoryCheck::freed_registered(const Moment &, const void *address) {
    const Guard guard(mutex_);
    report(CallNote::present(), present_call() + " frees " + text_of(address) +
                                    ", which is registered; call aclrtHostUnregister first,\n  " + words_for(address));
    end_if_strict("the block is registered, as reported above");
}

void MemoryCheck::used_orphan(const Moment &, const Access &access) {
    const Guard guard(mutex_);
    report(CallNote::present(),
           use_of(present_call(), access) +
               "which belongs to another process: that has freed it, reset its device or ended; import it anew");
}

void MemoryCheck::report_uses(const Block &block) {
    for (const MemoryUses *use : block.pending) {
        report(block.freed, block.text() + "\n  while " + use->who() + " still uses it; synchronize first");
    }
}

void MemoryCheck::reach_free(Block &block) {
    report_uses(block);
    block.is_gone = true;
    if (block.pages != Pages::Shared && !is_given_out_again(block)) {
        poison(block, kFreedMemory);
    }
}

void MemoryCheck::freed(const Moment &, const void *address) {
    const Guard guard(mutex_);
    const auto found = live_.find(as_integer(address));
    if (found == live_.end()) {
        return;
    }
    const std::shared_ptr<Block> block = retire(found);
    const bool is_used = !block->pending.empty();
    reach_free(*block);
    if (is_used) {
        end_if_strict("the block is in use, as reported above");
    }
}

void MemoryCheck::freed_all(const Moment &, std::uintptr_t begin, std::uint64_t size) {
    const Guard guard(mutex_);
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

// Returns true if a live block overlaps the freed one: a pool may allocate the memory again before the stream reaches
// the free.
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
    const auto goes_on = [&](const Block &last) {
        return ++it != live_.end() && last.end() < end && last.end() == it->first && last.pages == Pages::Shared &&
               it->second->pages == Pages::Shared;
    };
    while (goes_on(*used.back())) {
        used.push_back(it->second);
    }
    return used;
}

// Finds memory for the access of a task: for a task, memory is live until the stream reaches its free. If several
// blocks contain the address, returns the oldest one.
MemoryCheck::Blocks MemoryCheck::find_in_stream(const void *address, std::uint64_t size) const {
    const auto is_there = [address](const auto &it) { return !it->is_gone && it->has(as_integer(address)); };
    const auto found = std::find_if(retired_.begin(), retired_.end(), is_there);
    return found == retired_.end() ? find_live(address, size) : Blocks{*found};
}

// Reports accesses that the runtime does not reject: beyond the requested size, and to freed memory that a pool or the
// driver keeps.
void MemoryCheck::examine(const MemoryUses *user, const Access &access, const Blocks &used) {
    const auto report_use = [&](const std::string &where) {
        const std::string who = user == nullptr ? present_call() : user->who();
        report(user == nullptr ? CallNote::present() : user->call, use_of(who, access) + where);
    };
    if (used.empty()) {
        if (const auto gone = find_retired(access.address)) {
            report_use("inside " + gone->text());
        }
        return;
    }
    const std::uintptr_t end = as_integer(access.address) + access.size;
    const Block &last = *used.back();
    if (end > last.end()) {
        report_use(std::to_string(std::min(access.size, end - last.end())) + " of them past the end of " + last.text());
    }
}

void MemoryCheck::call_done_with_memory(const Moment &, const std::vector<Access> &) {
    const Guard guard(mutex_);
    CallUses::take();
}

void MemoryCheck::call_accesses(const Moment &, const Access &access) {
    const Guard guard(mutex_);
    const Blocks used = find_live(access.address, access.size);
    examine(nullptr, access, used);
    if (!used.empty() && current_call() != nullptr) {
        CallUses::get().add(used);
    }
}

void MemoryCheck::submitted(const Moment &, const Stream &stream, const Task &task, const Submission &how) {
    const bool is_kept = !stream.executes_tasks && how.origin.is_calling;
    if (CallUses::find() == nullptr && !is_kept) {
        return;
    }
    const Guard guard(mutex_);
    const auto uses = CallUses::take();
    if (is_kept) {
        kept_.erase(&task);  // entry of an earlier task at the same address, whose model was destroyed
    }
    if (uses == nullptr) {
        return;
    }
    uses->sequence = task.sequence;
    uses->stream_id = stream.id;
    if (is_kept) {
        uses->end();  // the task's executions use the memory
        kept_[&task] = uses;
    } else {
        uses_[{stream.serial, task.sequence}] = uses;
        count_.store(uses_.size(), std::memory_order_relaxed);
    }
}

void MemoryCheck::changed(const Moment &, const Stream &stream, const Task &former, const Task &now,
                          const Submission &) {
    const Guard guard(mutex_);
    const auto uses = CallUses::take();
    kept_.erase(&now);
    if (uses != nullptr) {
        uses->sequence = former.sequence;
        uses->stream_id = stream.id;
        uses->end();
        kept_[&now] = uses;
    }
}

void MemoryCheck::ended(const Moment &, const Stream &stream, const Task &task, std::uint32_t) { forget(stream, task); }

void MemoryCheck::dropped(const Moment &, const Stream &stream, const Task &task, aclError) { forget(stream, task); }

void MemoryCheck::forget(const Stream &stream, const Task &task) {
    if (count_.load(std::memory_order_relaxed) != 0) {
        const Guard guard(mutex_);
        uses_.erase({stream.serial, task.sequence});
        count_.store(uses_.size(), std::memory_order_relaxed);
    }
}

void MemoryCheck::accessed(const Moment &, const Stream &stream, const Task &task, const Access &access,
                           bool is_there) {
    const Guard guard(mutex_);
    const auto found = uses_.find({stream.serial, task.sequence});
    if (found == uses_.end()) {
        return;
    }
    MemoryUses &uses = *found->second;
    if (!is_there) {
        report(uses.call, use_of(uses.who(), access) + words_for(access.address));
        return;
    }
    const Blocks used = find_in_stream(access.address, access.size);
    examine(&uses, access, used);
    uses.add(used);
}

void MemoryCheck::replayed(const Moment &, const Stream &stream, const Task &kept, const Task &replay) {
    const Guard guard(mutex_);
    const auto found = kept_.find(&kept);
    if (found == kept_.end()) {
        return;
    }
    const MemoryUses &uses = *found->second;
    for (const auto &block : uses.blocks) {
        if (block->is_gone) {
            report(uses.call, uses.who() + " is executed by its model and uses\n  " + block->text());
        }
    }
    const auto own = std::make_shared<MemoryUses>(uses.call);
    own->sequence = uses.sequence;
    own->stream_id = uses.stream_id;
    own->add(uses.blocks);
    uses_[{stream.serial, replay.sequence}] = own;
    count_.store(uses_.size(), std::memory_order_relaxed);
}

// --- texts -----------------------------------------------------------------------------------------------------------

void MemoryCheck::fact_lost(const Moment &) {
    if (!is_over_.exchange(true)) {
        if (writes_findings()) {
            write_finding(
                R"({"kind":"note","text":"memory check: the host is out of memory; nothing more is reported"})");
        } else {
            print_error("ascend_rt simulator, memory check: the host is out of memory; nothing more is reported\n");
        }
    }
}

void MemoryCheck::explain(const void *address, std::string &text) const {
    if (is_over_) {
        return;
    }
    const Guard guard(mutex_);
    text += "; " + words_for(address);
}

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

// The frames of a finding are those of the call that made the mistake, or submitted its task.
void MemoryCheck::report(const CallNote &at, const std::string &text) {
    if (is_over_) {
        return;
    }
    reports_.fetch_add(1, std::memory_order_relaxed);
    if (writes_findings()) {
        write_finding(R"({"kind":"memory","id":)" + std::to_string(next_finding()) + R"(,"text":)" +
                      quoted_with_names(text) + R"(,"frames":)" + json_frames(at.place) + "}");
        return;
    }
    print_error("ascend_rt simulator, memory check: %s\n", text.c_str());
}

}  // namespace aclsim
