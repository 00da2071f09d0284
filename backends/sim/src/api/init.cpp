// SPDX-License-Identifier: Apache-2.0
// Initialisation and finalisation (device_context_init_errors.md section 3). These calls do not lock the engine because
// they run user code.
#include "api/entry.h"
#include "machine/initialization.h"

using namespace aclsim;

namespace {

// Starts the simulator, so that a process forked after aclInit counts as having used the runtime.
template <class Body>
aclError with_initialization(Function function, Body body) {
    return checked_entry(function, [&] { body(Simulator::get().initialization); });
}

template <class Callback>
aclError add_callback(Function caller, aclRegisterCallbackType type, Callback function, void *argument) {
    return with_initialization(caller, [&](Initialization &initialization) {
        require(reinterpret_cast<const void *>(function), "cbFunc");
        initialization.add_callback(type, function, argument);
    });
}

template <class Callback>
aclError remove_callback(Function caller, aclRegisterCallbackType type, Callback function) {
    return with_initialization(caller, [&](Initialization &initialization) {
        require(reinterpret_cast<const void *>(function), "cbFunc");
        initialization.remove_callback(type, function);
    });
}

}  // namespace

aclError aclInit(const char *configPath) {
    return with_initialization(Function::aclInit,
                               [&](Initialization &initialization) { initialization.initialize(configPath); });
}

aclError aclFinalize() {
    return with_initialization(Function::aclFinalize,
                               [&](Initialization &initialization) { initialization.finalize(); });
}

aclError aclFinalizeReference(uint64_t *refCount) {
    return with_initialization(Function::aclFinalizeReference,
                               [&](Initialization &initialization) { initialization.drop_reference(refCount); });
}

aclError aclInitCallbackRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc, void *userData) {
    return add_callback(Function::aclInitCallbackRegister, type, cbFunc, userData);
}

aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc) {
    return remove_callback(Function::aclInitCallbackUnRegister, type, cbFunc);
}

aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc, void *userData) {
    return add_callback(Function::aclFinalizeCallbackRegister, type, cbFunc, userData);
}

aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc) {
    return remove_callback(Function::aclFinalizeCallbackUnRegister, type, cbFunc);
}
