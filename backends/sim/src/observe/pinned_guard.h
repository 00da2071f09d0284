// SPDX-License-Identifier: Apache-2.0
// Protects pinned memory that tasks use against code of the program (ASCEND_RT_SIM_CHECK=races), so that its plain
// loads and stores become facts: Observer::host_accessed.
//
// Pages are protected while the host has not learned of the end of a task that uses them: against stores if tasks only
// read them, otherwise against loads, too. So a correct program has no fault, and no system call of it fails. Only
// pages of which a task uses all bytes are protected, because the program may use the others, even in system calls; of
// many pages, only those at both ends. A fault is noted and opens its page until the program submits, learns or frees
// something: the program continues as if there were no protection. The library uses a second address of the memory
// (support/own_view.h).
//
// Protecting and opening pages takes longer than copying them, so of the uses at one place in the program the first
// hundred are watched, and a sample of the others; ASCEND_RT_CHECK_EVERY_USE=1 watches all. The sample depends on
// their number alone: a program that does the same has the same findings.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/observer.h"
#include "races/places.h"
#include "support/page_faults.h"

namespace aclsim {

class Core;

// Facts arrive from threads of all shards, so the state is guarded by its mutex, an inner lock.
class PinnedGuard final : public Observer {
  public:
    explicit PinnedGuard(Core &core) : Observer(kTasks | kOrder | kMemory | kHostAccess), core_(core) {}
    // Begins to protect memory; there is one guard in a process.
    void turn_on();

    void stream_destroyed(const Moment &, const Stream &) override REQUIRES(engine_lock);
    void submitted(const Moment &, const Stream &, const Task &, const Submission &) override REQUIRES(engine_lock);
    void started(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void ended(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void passed(const Moment &, const Stream &, const Task &, const Submission &, std::uint32_t) override
        REQUIRES(engine_lock);
    void dropped(const Moment &, const Stream &, const Task &, aclError) override REQUIRES(engine_lock);
    void replayed(const Moment &, const Stream &, const Task &kept, const Task &replay) override REQUIRES(engine_lock);
    void launched(const Moment &, Point launch, const Task &kept) override REQUIRES(engine_lock);
    void changed(const Moment &, const Stream &, const Task &former, const Task &now, const Submission &) override
        REQUIRES(engine_lock);
    void ordered(const Moment &, const Edge &edge) override REQUIRES(engine_lock);
    void host_learned(const Moment &, std::uint32_t, Point task, HostSync how) override REQUIRES(engine_lock);
    void allocated(const Moment &, const Allocation &allocation) override REQUIRES(engine_lock);
    void freed(const Moment &, const void *address) override REQUIRES(engine_lock);
    void given_out(const Moment &, const void *address, std::uint64_t size) override REQUIRES(engine_lock);
    void reusable(const Moment &, const void *address, std::uint64_t size) override REQUIRES(engine_lock);
    void host_accessed(const Moment &, std::uint32_t, const Access &access) override REQUIRES(engine_lock);

  private:
    using Guard = std::lock_guard<std::mutex>;
    using Address = std::uintptr_t;
    using Known = std::map<std::uint64_t, std::uint64_t>;  // newest task that is known to be done, by stream
    struct Use {
        Point task;
        PageAccess left;        // to the program
        Address begin, end;     // of whole pages
        Address first, behind;  // bytes in them that the task uses
    };
    // Uses at one place.
    struct Sample {
        std::uint64_t count = 0;
        bool has_next();  // true if the next use is one of those that are watched
    };
    struct Opened {
        PageAccess access;
        bool is_by_program;  // otherwise by the library, or by a kernel
    };
    struct Block {
        Address used_end;  // end of the bytes that the program may use
        Address end;
        std::vector<Use> uses{};
        std::map<Address, Opened> opened{};  // pages at which there was a fault
    };
    using Blocks = std::map<Address, Block>;
    class Forks;

    static bool on_fault(const PageFault &fault);
    bool open(Address address, bool is_write, bool is_by_program);
    bool open_page(Blocks::iterator at, Address page, bool is_write, bool is_by_program);
    bool is_noted(const PageFault &fault);
    void note(const PageFault &fault);
    Blocks::iterator find(Address address);
    Sample &sample_here();
    void add_use(Block &block, const Use &use);
    void add_part(Block &block, const Use &use);
    void use_large_pages(const std::vector<Access> &accesses);
    void add_uses(Point task, const std::vector<Access> &accesses);
    template <class Ends>
    void remove_uses(Block &block, Ends ends);
    void remove_uses(const Known &known);
    bool is_idle() const;
    void learn(Point task);
    Known before(Point task) const;
    bool is_hidden(const Use &use) const;
    PageAccess access_at(const Block &block, Address page) const;
    void apply(Block &block, Address begin, Address end);
    void apply_all();
    void close_again();
    void close_again_for_library();
    template <class Closes>
    void close_pages(Closes closes);

    Core &core_;
    std::mutex mutex_;
    Blocks blocks_;
    std::atomic<std::size_t> use_count_{0};  // looked at without the mutex, too: few facts are about watched uses
    races::Places places_;
    std::vector<Sample> samples_;  // by place
    std::vector<bool> is_large_;   // by large page, from the begin of pinned memory on
    // Newest access that the program has noted, until pages are closed again.
    struct {
        std::uint32_t thread = 0;
        Address begin = 0, end = 0;
        bool is_write = false;
    } noted_;
    std::atomic<bool> has_opened_{false};  // looked at without the mutex, too
    std::atomic<bool> library_has_opened_{false};
    // Order between tasks that the program has not learned of: before, by the task after it.
    std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, Point>>> edges_;
    // Host functions that run now, with what precedes them: they may use memory of these tasks.
    std::map<std::pair<std::uint64_t, std::uint64_t>, Known> host_functions_;
    // Tasks that models keep.
    struct Kept {
        std::vector<Access> accesses;
        bool is_launched = false;  // uses begin with the launch; otherwise the host executes the model
        Sample sample{};
    };
    std::map<const Task *, Kept> kept_;
};

}  // namespace aclsim
