// SPDX-License-Identifier: Apache-2.0
// Uses of memory by code of the program, and order between its threads, as the program notes them.
#include "api/entry.h"
#include "engine/operands.h"
#include "engine/thread.h"

using namespace aclsim;

namespace {

using KeyFact = void (Observer::*)(const Moment &, std::uint32_t, const void *);

// Passes the fact on unless the thread does the work of a device. Notes do not count as calls of the runtime:
// neither snapshots nor observers of calls see them.
template <class Tell>
void report_of_host(Tell report) {
    if (!Observers::want_host_accesses() || is_at_work()) {
        return;
    }
    Simulator &sim = Simulator::get();
    const Lock lock = sim.core.acquire();
    report(sim.core.observers());
}

aclError note_key(Function function, const void *key, KeyFact fact) {
    return checked_entry(function, [&] {
        require(key, "key");
        report_of_host([&](const Observers &observers)
                           REQUIRES(engine_lock) { observers.report<kHostAccess>(fact, thread_number(), key); });
    });
}

}  // namespace

aclError aclsimNoteHostAccess(const aclsimAccess *access) {
    return checked_entry(Function::aclsimNoteHostAccess, [&] {
        require(access, "access");
        const std::vector<Access> accesses = read_accesses(access, 1);
        report_of_host([&](const Observers &observers) REQUIRES(engine_lock) {
            for (const Access &it : accesses) {
                observers.report<kHostAccess>(&Observer::host_accessed, thread_number(), it);
            }
        });
    });
}

aclError aclsimNoteHostRelease(const void *key) {
    return note_key(Function::aclsimNoteHostRelease, key, &Observer::host_released);
}

aclError aclsimNoteHostAcquire(const void *key) {
    return note_key(Function::aclsimNoteHostAcquire, key, &Observer::host_acquired);
}

aclError aclsimNoteGivenOut(const void *address, size_t size) {
    return checked_entry(Function::aclsimNoteGivenOut, [&] {
        report_of_host([&](const Observers &observers) REQUIRES(engine_lock) {
            observers.report<kHostAccess>(&Observer::given_out, address, size);
        });
    });
}

aclError aclsimNoteReusable(const void *address, size_t size) {
    return checked_entry(Function::aclsimNoteReusable, [&] {
        report_of_host([&](const Observers &observers) REQUIRES(engine_lock) {
            observers.report<kHostAccess>(&Observer::reusable, address, size);
        });
    });
}

aclError aclsimNamePart(const void *address, const char *name) {
    return checked_entry(Function::aclsimNamePart, [&] {
        require(name, "name");
        report_of_host([&](const Observers &observers) REQUIRES(engine_lock) {
            observers.report<kHostAccess>(&Observer::part_named, address, name);
        });
    });
}

int32_t aclsimWantsHostAccesses(void) { return Observers::want_host_accesses() ? 1 : 0; }
