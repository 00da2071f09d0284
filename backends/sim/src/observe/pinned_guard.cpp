// SPDX-License-Identifier: Apache-2.0
#include "observe/pinned_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/core.h"
#include "engine/thread.h"
#include "support/config.h"
#include "support/own_view.h"
#include "support/pages.h"
#include "support/text.h"

namespace aclsim {
namespace {

// The host notes protected pages in areas, of which a process may have some 65,000.
constexpr std::size_t kMostUses = 4096;
// Protecting a mebibyte and opening it again takes 50 µs, as long as copying it. A program that uses the memory of a
// large copy mostly begins or ends with its first or last bytes.
constexpr std::size_t kEdgePages = 32;
// Uses at one place that are all watched, and how many there are for each watched one afterwards.
constexpr std::uint64_t kAlwaysWatched = 100;
constexpr std::uint64_t kUsesPerSample = 256;
// Parts of one page that tasks use, such as one number each.
constexpr std::size_t kMostParts = 256;

std::uintptr_t page_of(std::uintptr_t address) { return address & ~(host_page_size() - 1); }
std::uintptr_t page_after(std::uintptr_t address) { return page_of(address + host_page_size() - 1); }

// Code of the program includes host functions and callbacks, and excludes what the library does in its calls and
// threads.
bool is_in_program() {
    return running_host_function().stream != 0 || (!is_at_work() && current_call() == call_with_program_code());
}

bool use_pinned_memory(const std::vector<Access> &accesses) {
    return std::any_of(accesses.begin(), accesses.end(),
                       [](const Access &access) { return g_own_view.has(as_integer(access.address)); });
}

PinnedGuard *g_guard = nullptr;
const std::vector<std::pair<std::uint64_t, Point>> kNoEdges;

}  // namespace

#ifdef __linux__
// Pinned memory is shared with a forked child because it is mapped twice. The child gets a copy before its parent
// continues, as it would get without the check.
class PinnedGuard::Forks {
  public:
    static void follow() { pthread_atfork(before, in_parent, in_child); }

  private:
    static void before() NO_THREAD_SAFETY_ANALYSIS {
        g_guard->mutex_.lock();
        if (g_guard->blocks_.empty() || pipe2(g_pipe.data(), O_CLOEXEC) != 0) {
            g_pipe = {-1, -1};
        }
    }
    static void in_parent() NO_THREAD_SAFETY_ANALYSIS {
        char byte = 0;
        if (g_pipe[0] >= 0) {
            close(g_pipe[1]);
            while (read(g_pipe[0], &byte, 1) < 0 && errno == EINTR) {
            }
            close(g_pipe[0]);
        }
        g_guard->mutex_.unlock();
    }
    static void in_child() NO_THREAD_SAFETY_ANALYSIS {
        for (const auto &[begin, block] : g_guard->blocks_) {
            copy_to_own_pages(begin, block.end);
        }
        g_guard->blocks_.clear();
        if (g_pipe[0] >= 0) {
            close(g_pipe[0]);
            close(g_pipe[1]);
        }
        g_guard->mutex_.unlock();
    }
    static void copy_to_own_pages(Address begin, Address end) {
        constexpr int kOwn = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void *const copy = mmap(nullptr, end - begin, PROT_READ | PROT_WRITE, kOwn, -1, 0);
        if (copy == MAP_FAILED) {  // the child shares them then
            set_page_access(begin, end, PageAccess::All);
            return;
        }
        std::memcpy(copy, own_view(reinterpret_cast<const void *>(begin)), end - begin);
        mremap(copy, end - begin, end - begin, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void *>(begin));
    }

    static inline std::array<int, 2> g_pipe{-1, -1};  // closed by the child when it has its copy
};
#endif

void PinnedGuard::turn_on() {
    g_guard = this;
    handle_page_faults(on_fault);
#ifdef __linux__
    Forks::follow();
#endif
}

// --- faults ----------------------------------------------------------------------------------------------------------

bool PinnedGuard::on_fault(const PageFault &fault) {
    if (!g_own_view.has(fault.address)) {
        return false;
    }
    const bool is_by_program = is_in_program();
    if (g_guard->open(fault.address, fault.is_write, is_by_program) && is_by_program && !g_guard->is_noted(fault)) {
        CurrentCall call("an access of the program");
        if (g_wanted_places.load(std::memory_order_relaxed) != WantedPlaces::None) {
            find_place(call.place, fault.return_address);
        }
        call_on_large_stack([](void *it) { g_guard->note(*static_cast<const PageFault *>(it)); },
                            const_cast<PageFault *>(&fault));
    }
    return true;
}

// Returns false if the page was open already: another thread has opened it.
bool PinnedGuard::open(Address address, bool is_write, bool is_by_program) {
    const Guard guard(mutex_);
    const auto found = find(address);
    return found != blocks_.end() && open_page(found, page_of(address), is_write, is_by_program);
}

bool PinnedGuard::open_page(Blocks::iterator at, Address page, bool is_write, bool is_by_program) {
    auto &[begin, block] = *at;
    const PageAccess left = access_at(block, page);
    const auto opened = block.opened.find(page);
    const PageAccess present = opened == block.opened.end() ? left : opened->second.access;
    const PageAccess wanted = std::max(present, is_write ? PageAccess::All : PageAccess::Read);
    if (!set_page_access(page, page + host_page_size(), wanted)) {  // the host can note no more areas
        use_count_ -= block.uses.size();
        block.uses.clear();
        set_page_access(begin, block.end, PageAccess::All);
    } else if (wanted > present) {
        block.opened[page] = {wanted, is_by_program};
        has_opened_ = true;
        if (!is_by_program) {
            library_has_opened_ = true;
        }
    }
    return wanted > present;
}

// Returns true for the access of which the thread has just made a note.
bool PinnedGuard::is_noted(const PageFault &fault) {
    const Guard guard(mutex_);
    return noted_.thread == thread_number() && noted_.begin <= fault.address && fault.address < noted_.end &&
           noted_.is_write == fault.is_write;
}

void PinnedGuard::note(const PageFault &fault) {
    const Access access{reinterpret_cast<const void *>(fault.address), 1,
                        fault.is_write ? AccessMode::Write : AccessMode::Read, "memory"};
    const Lock lock = core_.acquire();
    core_.observers().report<kHostAccess>(&Observer::host_accessed, thread_number(), access);
}

// --- protection ------------------------------------------------------------------------------------------------------

PinnedGuard::Blocks::iterator PinnedGuard::find(Address address) {
    const auto after = blocks_.upper_bound(address);
    return after == blocks_.begin() || std::prev(after)->second.end <= address ? blocks_.end() : std::prev(after);
}

bool PinnedGuard::is_hidden(const Use &use) const {
    return std::any_of(host_functions_.begin(), host_functions_.end(), [&](const auto &running) {
        const auto known = running.second.find(use.task.stream);
        return known != running.second.end() && known->second >= use.task.sequence;
    });
}

PageAccess PinnedGuard::access_at(const Block &block, Address page) const {
    const Address behind = std::min(page + host_page_size(), block.used_end);
    PageAccess least = PageAccess::All;
    std::vector<const Use *> parts;
    for (const Use &use : block.uses) {
        if (use.begin > page || page >= use.end || use.left >= least || is_hidden(use)) {
            continue;
        }
        if (use.first <= page && use.behind >= behind) {
            least = use.left;
        } else {
            parts.push_back(&use);
        }
    }
    std::sort(parts.begin(), parts.end(), [](const Use *a, const Use *b) { return a->first < b->first; });
    for (const PageAccess left : {PageAccess::Read, PageAccess::None}) {
        Address covered = page;
        for (const Use *part : parts) {
            if (part->left <= left && part->first <= covered) {
                covered = std::max(covered, part->behind);
            }
        }
        least = covered >= behind ? std::min(least, left) : least;
    }
    return least;
}

// Protects the pages as their uses demand, in pieces between whose pages the uses do not differ.
void PinnedGuard::apply(Block &block, Address begin, Address end) {
    block.opened.erase(block.opened.lower_bound(begin), block.opened.lower_bound(end));
    while (begin < end) {
        Address next = end;
        for (const Use &use : block.uses) {
            for (const Address boundary : {use.begin, use.end}) {
                next = boundary > begin ? std::min(next, boundary) : next;
            }
        }
        set_page_access(begin, next, access_at(block, begin));
        begin = next;
    }
}

// Pages that a fault has opened stay open: the program may be about to repeat the access, which would be noted twice.
void PinnedGuard::apply_all() {
    for (auto &[begin, block] : blocks_) {
        if (block.uses.empty()) {
            continue;
        }
        const auto opened = block.opened;  // a copy: apply() changes the map
        apply(block, begin, block.end);
        for (const auto &[page, it] : opened) {
            if (access_at(block, page) < it.access && set_page_access(page, page + host_page_size(), it.access)) {
                block.opened[page] = it;
            }
        }
    }
}

// Protects again the pages that faults have opened.
void PinnedGuard::close_again() {
    noted_ = {};
    if (has_opened_.exchange(false)) {
        close_pages([](const Opened &) { return true; });
    }
}

// Does the same for pages that no access of the program has opened. The others stay open, because the program may be
// about to repeat the access, which would be noted twice.
void PinnedGuard::close_again_for_library() {
    if (library_has_opened_.exchange(false)) {
        close_pages([](const Opened &it) { return !it.is_by_program; });
    }
}

template <class Closes>
void PinnedGuard::close_pages(Closes closes) {
    for (auto &[begin, block] : blocks_) {
        const auto opened = block.opened;  // a copy: apply() changes the map
        for (const auto &[page, it] : opened) {
            if (closes(it)) {
                apply(block, page, page + host_page_size());
            }
        }
    }
}

// --- uses ------------------------------------------------------------------------------------------------------------

// A multiplication by the golden ratio spreads consecutive numbers evenly, and shares no period with a loop.
bool PinnedGuard::Sample::has_next() {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15ULL;
    const std::uint64_t number = count++;
    return number < kAlwaysWatched || number * kFactor < UINT64_MAX / kUsesPerSample || config().watches_every_use;
}

PinnedGuard::Sample &PinnedGuard::sample_here() {
    const races::PlaceId place = places_.present();
    if (place >= samples_.size()) {
        samples_.resize(place + 1);
    }
    return samples_[place];
}

void PinnedGuard::add_use(Block &block, const Use &use) {
    block.uses.push_back(use);
    ++use_count_;
    apply(block, use.begin, use.end);
}

// Gives the memory of large copies the large pages that it has without the check; without them a copy of 1 MiB takes a
// quarter longer. Only the second address needs them.
void PinnedGuard::use_large_pages(const std::vector<Access> &accesses) {
    for (const Access &access : accesses) {
        const Address address = as_integer(access.address);
        if (access.size < kLargePage / 2 || !g_own_view.has(address)) {
            continue;
        }
        const std::uint64_t offset = address - g_own_view.begin;
        for (std::uint64_t page = offset / kLargePage; page * kLargePage < offset + access.size; ++page) {
            if (!is_large_[page]) {
                is_large_[page] = true;
                make_large_page(own_view(reinterpret_cast<void *>(g_own_view.begin + page * kLargePage)));
            }
        }
    }
}

// Adds the use of a part of a page, which protects it if it was the last part that no task used.
void PinnedGuard::add_part(Block &block, const Use &use) {
    const auto parts = std::count_if(block.uses.begin(), block.uses.end(),
                                     [&](const Use &it) { return it.begin == use.begin && it.end == use.end; });
    if (static_cast<std::size_t>(parts) >= kMostParts) {
        return;
    }
    const PageAccess former = access_at(block, use.begin);
    block.uses.push_back(use);
    ++use_count_;
    if (access_at(block, use.begin) < former) {
        apply(block, use.begin, use.end);
    }
}

// Protects the pages of which the task uses all bytes that are the program's; of many pages those at both ends.
void PinnedGuard::add_uses(Point task, const std::vector<Access> &accesses) {
    for (const Access &access : accesses) {
        const Address address = as_integer(access.address);
        const auto found = g_own_view.has(address) ? find(address) : blocks_.end();
        if (found == blocks_.end() || access.mode == AccessMode::None || !access.layout.is_whole() ||
            use_count_ >= kMostUses) {
            continue;
        }
        Block &block = found->second;
        const Address behind = address + access.size;
        const bool is_to_end = behind >= block.used_end;
        const PageAccess left = access.mode == AccessMode::Read ? PageAccess::Read : PageAccess::None;
        const Address begin = page_after(address);
        const Address end = is_to_end ? block.end : page_of(behind);
        const Address edge = kEdgePages * host_page_size();
        if (end > begin + 2 * edge) {
            add_use(block, {task, left, begin, begin + edge, begin, begin + edge});
            add_use(block, {task, left, end - edge, end, end - edge, end});
        } else if (end > begin) {
            add_use(block, {task, left, begin, end, begin, end});
        }
        if (const Address page = page_of(address); page < begin) {
            const Address next = page + host_page_size();
            add_part(block, {task, left, page, next, address, std::min(behind, next)});
        }
        if (end >= begin && end < behind) {
            add_part(block, {task, left, end, end + host_page_size(), end, behind});
        }
    }
}

template <class Ends>
void PinnedGuard::remove_uses(Block &block, Ends ends) {
    for (std::size_t i = block.uses.size(); i-- > 0;) {
        const Use use = block.uses[i];
        if (ends(use)) {
            const bool is_part = use.first > use.begin || use.behind < use.end;
            const PageAccess former = is_part ? access_at(block, use.begin) : PageAccess::None;
            block.uses.erase(block.uses.begin() + static_cast<std::ptrdiff_t>(i));
            --use_count_;
            if (!is_part || access_at(block, use.begin) > former) {
                apply(block, use.begin, use.end);
            }
        }
    }
}

void PinnedGuard::remove_uses(const Known &known) {
    for (auto &[begin, block] : blocks_) {
        remove_uses(block, [&](const Use &use) {
            const auto newest = known.find(use.task.stream);
            return newest != known.end() && use.task.sequence <= newest->second;
        });
    }
}

// Returns the newest tasks, by stream, that come before the end of the task.
PinnedGuard::Known PinnedGuard::before(Point task) const {
    Known known;
    for (std::vector<Point> open{task}; !open.empty();) {
        const Point it = open.back();
        open.pop_back();
        const std::uint64_t former = known[it.stream];
        if (it.sequence <= former) {
            continue;
        }
        known[it.stream] = it.sequence;
        const auto edges = edges_.find(it.stream);
        for (const auto &[after, earlier] : edges == edges_.end() ? kNoEdges : edges->second) {
            if (after > former && after <= it.sequence) {
                open.push_back(earlier);
            }
        }
    }
    return known;
}

// Returns true if the program can learn or submit nothing that the guard needs to know.
bool PinnedGuard::is_idle() const {
    return use_count_.load(std::memory_order_relaxed) == 0 && !has_opened_.load(std::memory_order_relaxed);
}

void PinnedGuard::learn(Point task) {
    if (is_idle()) {
        return;
    }
    const Guard guard(mutex_);
    close_again();
    const Known known = before(task);
    for (const auto &it : known) {
        const std::uint64_t newest = it.second;
        auto &edges = edges_[it.first];
        edges.erase(std::remove_if(edges.begin(), edges.end(), [=](const auto &edge) { return edge.first <= newest; }),
                    edges.end());
    }
    remove_uses(known);
    if (use_count_ == 0) {
        edges_.clear();  // they order tasks whose uses have ended
    }
}

// --- facts -----------------------------------------------------------------------------------------------------------

void PinnedGuard::submitted(const Moment &, const Stream &stream, const Task &task, const Submission &how) {
    const bool is_launched = how.origin.launch.stream != 0;  // the program submits nothing now
    const bool is_use = use_pinned_memory(how.accesses);
    if (is_launched || (!is_use && !has_opened_.load(std::memory_order_relaxed))) {
        return;
    }
    const Guard guard(mutex_);
    close_again();
    if (!is_use) {
        return;
    }
    use_large_pages(how.accesses);
    if (!stream.executes_tasks) {
        kept_[&task] = {how.accesses};
    } else if (sample_here().has_next()) {
        add_uses(stream.point(task), how.accesses);
    }
}

void PinnedGuard::changed(const Moment &, const Stream &, const Task &former, const Task &now, const Submission &how) {
    const Guard guard(mutex_);
    kept_.erase(&former);
    kept_[&now] = {how.accesses};
}

void PinnedGuard::replayed(const Moment &, const Stream &stream, const Task &kept, const Task &replay) {
    const Guard guard(mutex_);
    const auto found = kept_.find(&kept);
    if (found != kept_.end() && !found->second.is_launched && found->second.sample.has_next()) {
        add_uses(stream.point(replay), found->second.accesses);
    }
}

// The program may use the memory before its stream reaches the launch.
void PinnedGuard::launched(const Moment &, Point launch, const Task &kept) {
    const Guard guard(mutex_);
    if (const auto found = kept_.find(&kept); found != kept_.end()) {
        found->second.is_launched = true;
        if (found->second.sample.has_next()) {
            add_uses(launch, found->second.accesses);
        }
    }
}

void PinnedGuard::started(const Moment &, const Stream &stream, const Task &task, std::uint32_t) {
    if (task.info().has(kRunsProgram)) {
        const Guard guard(mutex_);
        const Point point = stream.point(task);
        host_functions_[{point.stream, point.sequence}] = before(point);
        apply_all();
    }
}

void PinnedGuard::ended(const Moment &, const Stream &stream, const Task &task, std::uint32_t) {
    if (!task.info().has(kRunsProgram) && !library_has_opened_.load(std::memory_order_relaxed)) {
        return;
    }
    const Guard guard(mutex_);
    close_again_for_library();
    if (task.info().has(kRunsProgram)) {
        const Point point = stream.point(task);
        host_functions_.erase({point.stream, point.sequence});
        apply_all();
    }
}

// Tasks that use memory, or run code of the program, do not end at once.
void PinnedGuard::passed(const Moment &, const Stream &, const Task &, const Submission &, std::uint32_t) {
    if (has_opened_.load(std::memory_order_relaxed)) {
        const Guard guard(mutex_);
        close_again();
    }
}

void PinnedGuard::dropped(const Moment &now, const Stream &stream, const Task &task, aclError) {
    ended(now, stream, task, 0);
    const Guard guard(mutex_);
    kept_.erase(&task);
}

void PinnedGuard::ordered(const Moment &, const Edge &edge) {
    if (is_idle() || edge.process != 0 || edge.choice == Edge::Choice::Other) {
        return;
    }
    const Guard guard(mutex_);
    if (use_count_ > 0) {
        edges_[edge.after.stream].emplace_back(edge.after.sequence, edge.before);
    }
}

void PinnedGuard::host_learned(const Moment &, std::uint32_t, Point task, HostSync how) {
    if (how == HostSync::Synchronized || how == HostSync::Queried || how == HostSync::CalledBack) {
        learn(task);
    }
}

void PinnedGuard::stream_destroyed(const Moment &, const Stream &stream) { learn({stream.serial, UINT64_MAX}); }

void PinnedGuard::allocated(const Moment &, const Allocation &allocation) {
    const Address begin = as_integer(allocation.address);
    if (g_own_view.has(begin)) {
        const Guard guard(mutex_);
        blocks_[begin] = {begin + allocation.size, begin + allocation.room};
        is_large_.resize(g_own_view.size / kLargePage + 1);
    }
}

void PinnedGuard::freed(const Moment &, const void *address) {
    const Guard guard(mutex_);
    close_again();
    if (const auto found = blocks_.find(as_integer(address)); found != blocks_.end()) {
        const std::uint64_t offset = found->first - g_own_view.begin;
        const std::uint64_t behind = found->second.end - g_own_view.begin;
        std::fill(is_large_.begin() + static_cast<std::ptrdiff_t>(offset / kLargePage),
                  is_large_.begin() + static_cast<std::ptrdiff_t>((behind + kLargePage - 1) / kLargePage), false);
        use_count_ -= found->second.uses.size();
        set_page_access(found->first, found->second.end, PageAccess::All);
        blocks_.erase(found);
    }
}

// Notes how much of a block is the program's: an allocator above rounds sizes up, and gives a block out as a whole.
void PinnedGuard::given_out(const Moment &, const void *address, std::uint64_t size) {
    const Guard guard(mutex_);
    const Address begin = as_integer(address);
    if (const auto found = blocks_.find(begin); found != blocks_.end()) {
        found->second.used_end = begin + size;
    }
}

void PinnedGuard::reusable(const Moment &, const void *address, std::uint64_t size) {
    const Guard guard(mutex_);
    const Address begin = as_integer(address);
    if (const auto found = find(begin); found != blocks_.end()) {
        close_again();
        remove_uses(found->second, [&](const Use &use) { return use.first >= begin && use.first < begin + size; });
    }
}

// Opens the pages of which an access that the program notes itself uses all bytes of the block: it is known already.
// The other pages may have bytes that code in C uses next.
void PinnedGuard::host_accessed(const Moment &, std::uint32_t thread, const Access &access) {
    const Address address = as_integer(access.address);
    if (!g_own_view.has(address) || !access.layout.is_whole()) {
        return;
    }
    const Guard guard(mutex_);
    const auto found = find(address);
    if (found == blocks_.end() || found->second.uses.empty()) {
        return;
    }
    const Address behind = address + access.size;
    noted_ = {thread, address, behind, access.mode != AccessMode::Read};
    const Address end = behind >= found->second.used_end ? found->second.end : page_of(behind);
    for (Address page = page_after(address); page < end; page += host_page_size()) {
        open_page(found, page, access.mode != AccessMode::Read, /*is_by_program=*/true);
    }
}

}  // namespace aclsim
