#include "handles.h"

#include <pthread.h>

#include <mutex>
#include <string>
#include <unordered_map>

#include "death.h"
#include "engine.h"

namespace unforgiving {
namespace {

struct Object {
    Kind kind;
    unsigned long long generation;  // distinguishes owners of the same address
    int32_t device;
    const void *context;       // in which it was created; nullptr of a context
    bool is_explicit_context;  // created by aclrtCreateContext
    std::string end;           // how it ended; empty while it lives
};

struct Registry {
    std::mutex lock;
    std::unordered_map<const void *, Object> objects;
    unsigned long long generations = 0;
};

// Never destroyed: threads may be inside when the process ends.
Registry &registry() {
    static Registry *const known = [] {
        auto *const made = new Registry;
        pthread_atfork([] { registry().lock.lock(); }, [] { registry().lock.unlock(); },
                       [] { registry().lock.unlock(); });
        return made;
    }();
    return *known;
}

Object *find(const void *handle) {
    const auto found = registry().objects.find(handle);
    return found == registry().objects.end() ? nullptr : &found->second;
}

bool is_live(const Object &object) { return object.end.empty(); }

Object describe(Kind kind, const void *handle, bool is_created) {
    aclrtContext context = nullptr;
    int32_t device = -1;
    engine().aclrtGetCurrentContext(&context);
    engine().aclrtGetDevice(&device);
    const bool is_context = kind == Kind::Context;
    return {kind, 0, device, is_context && handle == context ? nullptr : context, is_context && is_created, ""};
}

void note(Kind kind, const void *handle, bool is_created) {
    Object object = describe(kind, handle, is_created);
    const std::lock_guard<std::mutex> locked(registry().lock);
    Object *const known = find(handle);
    if (is_created || known == nullptr || !is_live(*known)) {
        object.generation = ++registry().generations;
        registry().objects.insert_or_assign(handle, object);
    }
}

void end(Object &object, const std::string &how) {
    if (is_live(object)) {
        object.end = how;
    }
}

bool is_set(int32_t device) {
    int32_t is_active = 0;
    return engine().aclrtGetPrimaryCtxState(device, nullptr, &is_active) == ACL_SUCCESS && is_active != 0;
}

// With the lock: returns whether an explicit context keeps the device open.
bool has_explicit_context(int32_t device) {
    for (const auto &[handle, object] : registry().objects) {
        if (object.is_explicit_context && object.device == device && is_live(object)) {
            return true;
        }
    }
    return false;
}

// With the lock: returns whether the object was created in an explicit context that lives.
bool is_kept(const Object &object) {
    if (object.is_explicit_context) {
        return true;
    }
    const Object *const context = find(object.context);
    return context != nullptr && context->is_explicit_context && is_live(*context);
}

// A callback receives a stream before the call that creates it has returned.
bool is_stream_in_creation(const void *handle) {
    int32_t number = 0;
    return engine().aclrtStreamGetId(const_cast<aclrtStream>(handle), &number) == ACL_SUCCESS;
}

}  // namespace

void require_live(const Call &call, const char *parameter, const void *handle) {
    if (handle == nullptr) {
        return;
    }
    std::string reason;
    {
        const std::lock_guard<std::mutex> locked(registry().lock);
        const Object *const object = find(handle);
        if (object != nullptr && is_live(*object)) {
            return;
        }
        reason = object == nullptr ? "was never given out" : object->end;
        if (object == nullptr && is_stream_in_creation(handle)) {
            return;
        }
    }
    die(call.name(), std::string(parameter) + " " + text_of(handle) + " " + reason);
}

void note_created(Kind kind, const void *handle) { note(kind, handle, true); }

void note_found(Kind kind, const void *handle) {
    if (handle != nullptr) {
        note(kind, handle, false);
    }
}

Destruction::Destruction(const Call &call, const void *handle) : function_(call.name()), handle_(handle) {
    const std::lock_guard<std::mutex> locked(registry().lock);
    if (const Object *const object = find(handle)) {
        generation_ = object->generation;
    }
}

void Destruction::end(aclError result) {
    const std::lock_guard<std::mutex> locked(registry().lock);
    Object *const object = find(handle_);
    if (result == ACL_SUCCESS && object != nullptr && object->generation == generation_) {
        unforgiving::end(*object, std::string("was destroyed by ") + function_);
    }
}

void note_reset(aclError result, int32_t device) {
    if (result != ACL_SUCCESS || is_set(device)) {
        return;
    }
    const std::lock_guard<std::mutex> locked(registry().lock);
    for (auto &[handle, object] : registry().objects) {
        if (object.device == device && !is_kept(object)) {
            end(object, "ended with the reset of device " + std::to_string(device));
        }
    }
}

void note_context_destroyed(aclError result, const void *context) {
    if (result != ACL_SUCCESS) {
        return;
    }
    int32_t device = -1;
    {
        const std::lock_guard<std::mutex> locked(registry().lock);
        if (const Object *const object = find(context)) {
            device = object->device;
        }
        for (auto &[handle, object] : registry().objects) {
            if (object.context == context && object.kind == Kind::Stream) {
                end(object, "was destroyed with context " + text_of(context));
            }
        }
        if (has_explicit_context(device)) {
            return;
        }
    }
    note_reset(result, device);
}

}  // namespace unforgiving
