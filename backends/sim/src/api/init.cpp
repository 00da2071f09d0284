// Initialisation and finalisation (device_context_init_errors.md section 3). These calls do not lock the engine: they
// run user code.
#include "api/entry.h"
#include "machine/initialization.h"

using namespace aclsim;

namespace {

// The engine is started: a process that is forked after aclInit has used the runtime.
template <class Body>
aclError with_initialization(const char *function, Body body) {
    return checked_entry(function, [&] {
        Engine::get();
        body(Initialization::get());
    });
}

template <class Function>
aclError add_callback(const char *caller, aclRegisterCallbackType type, Function function, void *argument) {
    return with_initialization(caller, [&](Initialization &initialization) {
        require(reinterpret_cast<const void *>(function), "cbFunc");
        initialization.add_callback(type, function, argument);
    });
}

template <class Function>
aclError remove_callback(const char *caller, aclRegisterCallbackType type, Function function) {
    return with_initialization(caller, [&](Initialization &initialization) {
        require(reinterpret_cast<const void *>(function), "cbFunc");
        initialization.remove_callback(type, function);
    });
}

}  // namespace

aclError aclInit(const char *configPath) {
    return with_initialization(__func__,
                               [&](Initialization &initialization) { initialization.initialize(configPath); });
}

aclError aclFinalize() {
    return with_initialization(__func__, [&](Initialization &initialization) { initialization.finalize(); });
}

aclError aclFinalizeReference(uint64_t *refCount) {
    return with_initialization(__func__,
                               [&](Initialization &initialization) { initialization.drop_reference(refCount); });
}

aclError aclInitCallbackRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc, void *userData) {
    return add_callback(__func__, type, cbFunc, userData);
}

aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc) {
    return remove_callback(__func__, type, cbFunc);
}

aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc, void *userData) {
    return add_callback(__func__, type, cbFunc, userData);
}

aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc) {
    return remove_callback(__func__, type, cbFunc);
}
