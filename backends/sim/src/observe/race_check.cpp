// SPDX-License-Identifier: Apache-2.0
#include "observe/race_check.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "engine/stream.h"
#include "engine/thread.h"
#include "machine/context.h"
#include "support/config.h"
#include "support/findings.h"
#include "support/shared_memory.h"
#include "support/standard_error.h"
#include "support/text.h"

namespace aclsim {

using races::BlockKind;
using races::BlockRef;
using races::Mode;
using races::PlaceId;

namespace {

bool begins_with(const char *text, const char *prefix) { return std::strncmp(text, prefix, std::strlen(prefix)) == 0; }

races::Learned learned_by(HostSync how, const RaceCheck::Traits &function) {
    return how == HostSync::QueriedQuietly                       ? races::Learned::Quietly
           : function.is_of_time                                 ? races::Learned::OfTime
           : how == HostSync::CalledBack || function.is_of_event ? races::Learned::OfTask
                                                                 : races::Learned::OfStream;
}

BlockKind kind_of(const Allocation &allocation) {
    const char *const function = current_function();
    switch (allocation.pages) {
        case Pages::InStream:
            return BlockKind::Pool;
        case Pages::Shared:
            return BlockKind::Shared;
        default:
            return begins_with(function, "aclrtMallocHost")        ? BlockKind::Pinned
                   : begins_with(function, "aclrtMemAllocManaged") ? BlockKind::Managed
                                                                   : BlockKind::Device;
    }
}

races::Caller caller() { return {thread_number(), running_host_function()}; }

races::StreamName name_of(const Stream &stream) REQUIRES(engine_lock) {
    return {stream.serial, stream.id, device_of(stream).user_id};
}

RaceCheck *g_check = nullptr;  // never destroyed

// Writes findings, or prints them where they have no directory.
class Findings final : public races::Output {
  public:
    std::uint64_t number() override { return next_finding(); }
    void write(const std::string &json) override {
        if (writes_findings()) {
            write_finding(json);
        } else {
            print_error("ascend_rt simulator, race check: %s\n", json.c_str());
        }
    }
};

}  // namespace

RaceCheck &RaceCheck::start() {
    static races::Output &output = *new Findings;  // used after the destructors of static objects
    g_check = new RaceCheck(output, config().follows_host_threads);
    if (config().product->has(kIgnoresForeignWaits)) {
        g_check->reports_.let_host_order_devices();
    }
    return *g_check;
}

void RaceCheck::write_counts() {
    if (g_check != nullptr) {
        const Guard guard(g_check->mutex_);
        g_check->reports_.write_counts();
    }
}

void RaceCheck::finish_all() {
    if (g_check != nullptr) {
        g_check->finish();
    }
}

RaceCheck::RaceCheck(races::Output &output, bool separates_threads)
    : Observer(kTasks | kOrder | kMemory | kPlaces | kAllPlaces | kHostAccess),
      reports_(places_, output),
      detector_(reports_, output, separates_threads) {
    detector_.sharing().set_process(own_process());
}

// Found once for each place: names are compared for longer than the rest of an access takes.
const RaceCheck::Traits &RaceCheck::traits_of(PlaceId place) {
    while (traits_.size() <= place) {
        const races::Places::Place &next = places_[static_cast<PlaceId>(traits_.size())];
        const char *const function = next.function;
        Traits traits;
        traits.is_of_time = begins_with(function, "aclrtEvent");
        traits.is_of_event = std::strstr(function, "Event") != nullptr;
        traits.synchronizes = begins_with(function, "aclrtValueWrite") || begins_with(function, "aclrtValueWait");
        traits.is_hint = begins_with(function, "aclrtCmo") || begins_with(function, "aclrtMemManagedPrefetch");
        traits.is_operator = !next.kernel.empty() && next.kernel != function;
        traits_.push_back(traits);
    }
    return traits_[place];
}

RaceCheck::Operands RaceCheck::operands_of(const std::vector<Access> &accesses, PlaceId place) {
    Operands operands;
    const Traits traits = traits_of(place);
    if (traits.is_hint) {
        return operands;
    }
    operands.reserve(accesses.size());
    for (const Access &access : accesses) {
        if (access.mode != AccessMode::None) {
            const bool is_read = access.mode == AccessMode::Read;
            const Mode mode = traits.synchronizes ? (is_read ? Mode::ValueWait : Mode::ValueWrite)
                                                  : (is_read ? Mode::Read : Mode::Write);
            detector_.blocks().find(access, mode, place, traits.is_operator, operands);
        }
    }
    return operands;
}

PlaceId RaceCheck::place_of(const Stream &stream, const Task &task) {
    if (!task.info().has(kIsKernel) && !task.info().has(kNotesBegin)) {
        return places_.present();
    }
    TaskLabel label;
    task.details().label(stream, label);
    return places_.present(label.name);
}

// --- streams and tasks -----------------------------------------------------------------------------------------------

void RaceCheck::stream_created(const Moment &, const Stream &stream) {
    const Guard guard(mutex_);
    detector_.name_stream(name_of(stream));
}

void RaceCheck::stream_destroyed(const Moment &, const Stream &stream) {
    const Guard guard(mutex_);
    detector_.end_stream(stream.serial, caller());
}

void RaceCheck::submitted(const Moment &, const Stream &stream, const Task &task, const Submission &how) {
    const Guard guard(mutex_);
    const PlaceId place = place_of(stream, task);
    Operands operands = operands_of(how.accesses, place);
    if (stream.executes_tasks) {
        detector_.submit(name_of(stream), task.sequence, {caller(), place, how.batch}, std::move(operands));
        return;
    }
    replays_[&task] = how.origin;
    if (how.origin.is_calling) {
        kept_[&task] = {place, how.batch, ++kept_so_far_, std::move(operands)};
    }
}

void RaceCheck::replayed(const Moment &, const Stream &stream, const Task &kept, const Task &replay) {
    const Guard guard(mutex_);
    const auto found = kept_.find(&kept);
    if (found == kept_.end()) {
        return;
    }
    const auto known = replays_.find(&replay);
    const Origin origin = known == replays_.end() ? Origin() : known->second;
    Operands live;
    for (const races::Operand &operand : found->second.operands) {
        if (!detector_.was_free(*operand.block, origin.launch)) {
            live.push_back(operand);
        }
    }
    if (detector_.replace_operands(stream.point(replay), live)) {
        return;
    }
    replays_.erase(&replay);
    kept_.erase(&replay);
    const std::uint64_t batch = found->second.batch == 0 ? 0 : found->second.batch + (origin.launch.sequence << 32);
    detector_.submit(
        name_of(stream), replay.sequence,
        {{origin.thread}, found->second.place, batch, origin.is_calling, origin.launch, found->second.number},
        std::move(live));
}

void RaceCheck::changed(const Moment &, const Stream &stream, const Task &former, const Task &now,
                        const Submission &how) {
    const Guard guard(mutex_);
    const PlaceId place = place_of(stream, now);
    const auto found = kept_.find(&former);
    const std::uint64_t number = found == kept_.end() ? ++kept_so_far_ : found->second.number;
    kept_[&now] = {place, how.batch, number, operands_of(how.accesses, place)};
}

// A host function may say to any thread that it runs. Python's handovers are noted (host_released); in another program
// the host knows from the start of the function on all that precedes it: order may be assumed that is not there, but
// none is overlooked.
void RaceCheck::started(const Moment &, const Stream &stream, const Task &task, std::uint32_t) {
    if (task.info().has(kRunsProgram) && !has_place_provider()) {
        const Guard guard(mutex_);
        detector_.learn({thread_number()}, stream.point(task), 0, races::Learned::OfTask);
    }
}

void RaceCheck::ended(const Moment &, const Stream &stream, const Task &task, std::uint32_t) {
    const Guard guard(mutex_);
    detector_.end_task(stream.point(task), /*is_dropped=*/false);
}

void RaceCheck::passed(const Moment &, const Stream &stream, const Task &task, const Submission &how, std::uint32_t) {
    const Guard guard(mutex_);
    detector_.pass(name_of(stream), task.sequence, {caller(), places_.present(), how.batch});
}

void RaceCheck::dropped(const Moment &, const Stream &stream, const Task &task, aclError) {
    const Guard guard(mutex_);
    detector_.end_task(stream.point(task), /*is_dropped=*/true);
}

// --- order -----------------------------------------------------------------------------------------------------------

void RaceCheck::records(const Moment &, Point task, const SyncObject &object) {
    if (object.kind == SyncKind::Event) {  // the most frequent kind: without the mutex
        return;
    }
    const Guard guard(mutex_);
    // A shared notify looks like any other one.
    if (object.kind == SyncKind::IpcEvent || (object.kind == SyncKind::Notify && detector_.sharing().is_on())) {
        detector_.publish(task);
    }
}

void RaceCheck::waits(const Moment &, Point task, const SyncObject &object, const WaitBinding &binding) {
    const Guard guard(mutex_);
    if (object.kind == SyncKind::Event && binding.state == WaitBinding::State::Any) {
        reports_.waited_for_first_record(places_.present());
    }
    detector_.wait(caller(), task, places_.present(), binding);
}

void RaceCheck::ordered(const Moment &, const Edge &edge) {
    const Guard guard(mutex_);
    detector_.order(edge);
}

void RaceCheck::host_learned(const Moment &, std::uint32_t, Point task, HostSync how) {
    if (how != HostSync::QueueRoom) {
        const Guard guard(mutex_);
        const PlaceId place = places_.present();
        detector_.learn(caller(), task, place, learned_by(how, traits_of(place)));
    }
}

void RaceCheck::host_learned_of_process(const Moment &, std::uint32_t, Point task, std::uint64_t process) {
    const Guard guard(mutex_);
    detector_.learn_of(caller(), task, process, places_.present());
}

// --- memory ----------------------------------------------------------------------------------------------------------

void RaceCheck::allocated(const Moment &, const Allocation &allocation) {
    const Guard guard(mutex_);
    BlockRef block = detector_.allocate(caller(), as_integer(allocation.address), allocation.size, kind_of(allocation),
                                        places_.present());
    if (allocation.pages == Pages::InStream) {
        in_stream_[allocation.number] = {std::move(block), places_.present()};
    }
}

void RaceCheck::shared(const Moment &, const void *address, const SharedPlace &place) {
    const Guard guard(mutex_);
    detector_.share(as_integer(address),
                    {std::to_string(place.device) + ":" + std::to_string(place.file), place.offset});
}

void RaceCheck::freed(const Moment &, const void *address) {
    const Guard guard(mutex_);
    detector_.free(caller(), as_integer(address), places_.present());
}

void RaceCheck::registered(const Moment &, const void *address, std::uint64_t size) {
    const Guard guard(mutex_);
    detector_.allocate(caller(), as_integer(address), size, BlockKind::Registered, places_.present());
}

void RaceCheck::unregistered(const Moment &, const void *address) {
    const Guard guard(mutex_);
    detector_.free(caller(), as_integer(address), places_.present());  // no task may use it any more
}

void RaceCheck::freed_by_library(const Moment &, const void *address) {
    const Guard guard(mutex_);
    detector_.blocks().release(as_integer(address));
}

void RaceCheck::freed_all(const Moment &, std::uintptr_t begin, std::uint64_t size) {
    const Guard guard(mutex_);
    detector_.blocks().release_all(begin, size);
}

void RaceCheck::free_submitted(const Moment &, const void *address, std::uint64_t number) {
    const Guard guard(mutex_);
    if (BlockRef block = detector_.blocks().retire(as_integer(address))) {
        in_stream_[number] = {std::move(block), places_.present()};
    }
}

void RaceCheck::reach(std::uint64_t number, Point task, Mode mode) {
    const auto found = in_stream_.find(number);
    if (found == in_stream_.end()) {
        return;
    }
    auto &[block, place] = found->second;
    const std::uint64_t size = block->size;
    detector_.add_operands(task, {{std::move(block), 0, size, {}, mode, place, ""}});
    in_stream_.erase(found);
}

void RaceCheck::free_reached(const Moment &, std::uint64_t number, Point task) {
    const Guard guard(mutex_);
    reach(number, task, Mode::Free);
}

void RaceCheck::free_dropped(const Moment &, std::uint64_t number) {
    const Guard guard(mutex_);
    const auto found = in_stream_.find(number);
    if (found != in_stream_.end()) {
        detector_.blocks().restore(std::move(found->second.first));
        in_stream_.erase(found);
    }
}

void RaceCheck::allocation_reached(const Moment &, std::uint64_t number, Point task) {
    const Guard guard(mutex_);
    reach(number, task, Mode::Allocation);
}

void RaceCheck::call_done_with_memory(const Moment &, const std::vector<Access> &accesses) {
    const Guard guard(mutex_);
    const PlaceId place = places_.present();
    Operands operands = operands_of(accesses, place);
    if (!operands.empty()) {
        detector_.access(caller(), std::move(operands), place);
    }
}

void RaceCheck::accessed(const Moment &, const Stream &stream, const Task &task, const Access &access, bool is_there) {
    const Guard guard(mutex_);
    if (is_there) {
        detector_.add_operands(stream.point(task), operands_of({access}, detector_.place_of(stream.point(task))));
    }
}

void RaceCheck::host_accessed(const Moment &, std::uint32_t, const Access &access) {
    const Guard guard(mutex_);
    const PlaceId place = places_.present();
    const bool is_at_page = current_call()->function == Function::None;
    Operands operands = operands_of({access}, place);
    if (operands.empty()) {
        return;
    }
    if (is_at_page) {
        detector_.access_page(caller(), std::move(operands), place);
    } else {
        detector_.access(caller(), std::move(operands), place);
    }
}

void RaceCheck::host_released(const Moment &, std::uint32_t, const void *key) {
    const Guard guard(mutex_);
    detector_.give(caller(), key);
}

void RaceCheck::host_acquired(const Moment &, std::uint32_t, const void *key) {
    const Guard guard(mutex_);
    detector_.take(caller(), key);
}

void RaceCheck::given_out(const Moment &, const void *address, std::uint64_t size) {
    const Guard guard(mutex_);
    detector_.give_out(as_integer(address), size, places_.present());
}

void RaceCheck::reusable(const Moment &, const void *address, std::uint64_t size) {
    const Guard guard(mutex_);
    Operands operands;
    detector_.blocks().find({address, size, AccessMode::Read, ""}, Mode::Read, 0, /*names_parts=*/false, operands);
    if (!operands.empty()) {
        detector_.forget(caller(), std::move(operands));
    }
}

void RaceCheck::part_named(const Moment &, const void *address, const char *name) {
    const Guard guard(mutex_);
    detector_.blocks().name_part(as_integer(address), name);
}

void RaceCheck::fact_lost(const Moment &) {
    const Guard guard(mutex_);
    if (!std::exchange(is_over_, true)) {
        reports_.stop();  // order may be missing
        reports_.note("the host is out of memory; nothing more is reported");
    }
}

CallNote RaceCheck::find(const Stream &stream, std::uint64_t sequence) const {
    const Guard guard(mutex_);
    const races::Places::Place &place = places_[detector_.place_of({stream.serial, sequence})];
    return {place.function, place.frames};
}

std::uint64_t RaceCheck::number_of(const Stream &stream, std::uint64_t sequence) const {
    const Guard guard(mutex_);
    return detector_.number_of({stream.serial, sequence});
}

void RaceCheck::finish() {
    const Guard guard(mutex_);
    detector_.finish();
    reports_.finish();
}

}  // namespace aclsim
