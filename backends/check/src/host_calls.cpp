// SPDX-License-Identifier: Apache-2.0
// Functions of the program that the runtime calls, and what the program says of its accesses.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "call.h"
#include "engine/operands.h"
#include "support/error.h"

using namespace aclsim::wrapped;
using aclsim::Point;

namespace {

struct HostFunction {
    void (*function)(void *);
    void *data;
    Point task;
    bool blocks;  // later tasks of the stream come after it
};

// Runs a function of the program; its accesses are those of its task.
void run(void *host_function) {
    const std::unique_ptr<HostFunction> self(static_cast<HostFunction *>(host_function));
    const Call::Outside outside;
    if (self->blocks) {
        if (!aclsim::has_place_provider()) {  // as RaceCheck::started(): it may say to any thread that it runs
            note([&](Check &check) {
                check.learn({self->task});
                return true;
            });
        }
        const Point outer = std::exchange(t_running, self->task);
        self->function(self->data);
        t_running = outer;
        note([&](Check &check) {
            check.end_task(self->task);
            return true;
        });
        return;
    }
    note([&](Check &check) {
        check.learn({self->task});
        return true;
    });
    self->function(self->data);
}

// Runs a function of the program that a graph keeps: its accesses are those of the graph.
void run_of_graph(void *kept) {
    const auto &[function, data] = *static_cast<const std::pair<void (*)(void *), void *> *>(kept);
    const Call::Outside outside;
    const bool outer = std::exchange(t_runs_unseen, true);
    function(data);
    t_runs_unseen = outer;
}

// Call that launches a host function. The runtime may run and so delete the function before the call returns.
struct Launch {
    HostFunction *prepared = nullptr;
    Point task;
    bool blocks = true;
};

// Adds the task before the runtime may run the function, and lets it run the function here.
Launch prepare(Check &check, void (*&function)(void *), void *&data, bool blocks, aclrtStream stream) {
    if (function == nullptr) {
        return {};
    }
    const Point task = check.add_open_task(stream);
    if (task.stream == 0) {
        const auto &kept = check.keep(function, data);
        function = run_of_graph;
        data = const_cast<std::pair<void (*)(void *), void *> *>(&kept);
        return {};
    }
    auto *const prepared = new HostFunction{function, data, task, blocks};
    function = run;
    data = prepared;
    return {prepared, task, blocks};
}

// Forgets the function and its task if the runtime has refused it.
aclError settle(aclError code, const Launch &launch) {
    if (launch.prepared == nullptr) {
        return code;
    }
    const bool is_refused = code != ACL_SUCCESS;
    if (is_refused) {
        delete launch.prepared;
    }
    if (is_refused || !launch.blocks) {  // later tasks do not wait for a function that does not block
        note([&](Check &check) {
            is_refused ? check.withdraw(launch.task) : check.end_task(launch.task);
            return true;
        });
    }
    return code;
}

template <class Body>
aclError answer(Body body) {
    if (Check::is_on()) {
        try {
            body();
        } catch (const aclsim::Failure &failure) {
            return failure.code;
        } catch (const std::exception &) {
            return ACL_ERROR_BAD_ALLOC;
        }
    }
    return ACL_SUCCESS;
}

template <class Function>
aclError note_call(Function function) {
    return answer([&] {
        note([&](Check &check) {
            function(check);
            return true;
        });
    });
}

aclError note_key(const void *key, void (aclsim::races::Detector::*fact)(const aclsim::races::Caller &, const void *)) {
    return answer([&] {
        aclsim::require(key, "key");
        note([&](Check &check) {
            (check.detector().*fact)(check.caller(), key);
            return true;
        });
    });
}

}  // namespace

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args) {
    Launch launch;
    const aclError code =
        FORWARD_AFTER_NOTE(aclrtLaunchHostFunc, launch = prepare(check, fn, args, true, stream), stream, fn, args);
    return settle(code, launch);
}

aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
    Launch launch;
    const aclError code = FORWARD_AFTER_NOTE(
        aclrtLaunchCallback, launch = prepare(check, fn, userData, blockType == ACL_CALLBACK_BLOCK, stream), fn,
        userData, blockType, stream);
    return settle(code, launch);
}

// --- the functions of the simulator by which programs speak to a check ----------------------------------------------

aclError aclsimSetPlaceProvider(aclsimCaptureFrames capture, aclsimNameFrame name) {
    aclsim::set_place_provider({capture, name});
    return ACL_SUCCESS;
}

int32_t aclsimGetFrames(aclsimCallFrame *frames, int32_t most) {
    return std::abs(aclsim::provided_frames(frames, most));
}

aclError aclsimSetForwardPlace(const aclsimCallFrame *frames, int32_t count) {
    aclsim::set_forward_place(frames, static_cast<std::size_t>(std::max(count, 0)));
    return ACL_SUCCESS;
}

int32_t aclsimWantsAccesses(void) { return Check::is_on() ? 1 : 0; }

aclError aclsimDeclareAccesses(const aclsimAccess *accesses, uint64_t count) {
    return answer([&] {
        auto declared = aclsim::read_accesses(accesses, count);
        note([&](Check &check) {
            check.declare(std::move(declared));
            return true;
        });
    });
}

int32_t aclsimWantsHostAccesses(void) { return Check::is_on() ? 1 : 0; }

aclError aclsimNoteHostAccess(const aclsimAccess *access) {
    return answer([&] {
        aclsim::require(access, "access");
        const auto accesses = aclsim::read_accesses(access, 1);
        const Call call("aclsimNoteHostAccess", __builtin_return_address(0));
        note([&](Check &check) {
            check.access(accesses);
            return true;
        });
    });
}

aclError aclsimNoteHostRelease(const void *key) { return note_key(key, &aclsim::races::Detector::give); }

aclError aclsimNoteHostAcquire(const void *key) { return note_key(key, &aclsim::races::Detector::take); }

aclError aclsimAskQuietly(int32_t on) {
    t_asks_quietly = on != 0;
    return ACL_SUCCESS;
}

aclError aclsimAskQuietlyAbout(uint32_t eventFlags) {
    return note_call([&](Check &check) { check.ask_quietly_about(eventFlags); });
}

aclError aclsimNoteGivenOut(const void *address, size_t size) {
    const Call call("aclsimNoteGivenOut", __builtin_return_address(0));
    return note_call([&](Check &check) { check.give_out(address, size); });
}

aclError aclsimNoteReusable(const void *address, size_t size) {
    return note_call([&](Check &check) { check.forget_uses(address, size); });
}

aclError aclsimNamePart(const void *address, const char *name) {
    return answer([&] {
        aclsim::require(name, "name");
        note_call([&](Check &check) { check.name_part(address, name); });
    });
}

aclError aclsimWriteCounts(void) {
    if (Check::exists()) {
        note([](Check &check) {
            check.write_counts();
            return true;
        });
    }
    return ACL_SUCCESS;
}

aclError aclsimNoteEnd(void) {
    end_of_process();
    return ACL_SUCCESS;
}
