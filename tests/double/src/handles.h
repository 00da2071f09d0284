// The handles that the library has given out, and what became of them.
//
// The official library follows a handle before it looks whether it may: the magic word behind a handle of the wrong
// type is found out, the memory behind a destroyed or made-up one is not there. NULL is looked at first.
#pragma once

#include "abi/acl.h"
#include "call.h"

namespace unforgiving {

enum class Kind { Event, Stream, Notify, CntNotify, Context };

// Ends the process unless the handle is NULL or that of an object that lives, of whatever kind.
void require_live(const Call &call, const char *parameter, const void *handle);

template <class Handle, class Count>
void require_all_live(const Call &call, const char *parameter, const Handle *handles, Count count) {
    for (Count i = 0; i < count; ++i) {
        require_live(call, parameter, handles[i]);
    }
}

// Notes a handle that a function has created, or has looked up.
void note_created(Kind kind, const void *handle);
void note_found(Kind kind, const void *handle);

template <class Handle, class Count>
void note_all_found(Kind kind, const Handle *handles, Count count) {
    for (Count i = 0; handles != nullptr && i < count; ++i) {
        note_found(kind, handles[i]);
    }
}

// The destruction of an object. Other threads may use it meanwhile: they are told that it is being destroyed. Its
// address may have a new owner before the call has returned, which is not to be taken for destroyed.
class Destruction {
  public:
    explicit Destruction(const Call &call, const void *handle);
    void end(aclError result);

  private:
    const char *const function_;
    const void *const handle_;
    unsigned long long generation_ = 0;
};

// Ends what the reset of a device has ended, if the device is no longer set.
void note_reset(aclError result, int32_t device);
// Ends what lived in the context.
void note_context_destroyed(aclError result, const void *context);

}  // namespace unforgiving
