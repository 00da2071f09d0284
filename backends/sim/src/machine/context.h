// Contexts and their streams: what belongs together on a device, and what a thread works on.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/stream.h"
#include "machine/device.h"
#include "support/error.h"

namespace aclsim {

class Capture;
class Context;
class ContextStream;
class Executor;
class GroupUpdate;

// Takes the tasks of a stream in its place: the capture of a graph, or the update of a task group.
class TaskRedirect : public RefCounted {
  public:
    // Where the task goes that the present call would submit to the stream; throws a Failure if it may not.
    virtual ContextStream &take(ContextStream &stream, bool is_kernel) REQUIRES(engine_lock) = 0;
    // Throws a Failure if no other call may use the stream meanwhile.
    virtual void require_usable(const ContextStream &stream) const REQUIRES(engine_lock) = 0;
    virtual Capture *as_capture() { return nullptr; }
    virtual GroupUpdate *as_update() { return nullptr; }
};

// A stream as the API knows it: the actor of the engine, and its attributes.
class ContextStream final : public Stream {
  public:
    ContextStream(Context &owner, std::uint32_t stream_id, std::uint32_t creation_flags, std::uint32_t priority_level);

    // Synchronizing or asking these says "complete" without looking (events_streams_sync.md section 3,
    // SynchronizeStream).
    bool is_always_complete() const {
        return (flags & (ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY)) != 0;
    }
    bool is_complete() const REQUIRES(engine_lock) { return is_always_complete() || is_done(submitted); }

    // Where its tasks go while they go elsewhere, or nullptr.
    const Ref<TaskRedirect> &redirect() const REQUIRES(engine_lock) { return redirect_; }
    void set_redirect(Ref<TaskRedirect> redirect) REQUIRES(engine_lock) {
        redirect_ = std::move(redirect);
        is_redirected = redirect_ != nullptr;
    }

    bool stops_on_failure GUARDED_BY(engine_lock) = false;
    std::uint32_t overflow_switch GUARDED_BY(engine_lock) = 0;
    std::uint32_t custom_tag GUARDED_BY(engine_lock) = 0xFFFFFFFF;            // until set (section 3 [obs])
    std::array<std::int64_t, 2> core_limits GUARDED_BY(engine_lock){-1, -1};  // cube, vector; -1: the device's limit
    std::uint32_t wants_op_info GUARDED_BY(engine_lock) = 0;  // ACL_STREAM_ATTR_CACHE_OP_INFO, for captures from here
    bool is_hidden GUARDED_BY(engine_lock) = false;           // a graph's own, which no callback is told of
    // Who runs callbacks of this stream (events_streams_sync.md section 0.3).
    enum class CallbackOwner : std::uint8_t { None, User, Runtime };
    CallbackOwner callback_owner GUARDED_BY(engine_lock) = CallbackOwner::None;
    ContextStream *stands_for GUARDED_BY(engine_lock) = nullptr;  // the stream whose tasks it takes, while it does
    std::uint64_t callback_thread GUARDED_BY(engine_lock) = 0;    // of CallbackOwner::User

  private:
    Ref<TaskRedirect> redirect_ GUARDED_BY(engine_lock);
};
static_assert(sizeof(ContextStream) == kStreamSize);

// The stream that the program named, of one whose tasks go elsewhere: what is registered for it counts.
inline ContextStream &user_stream(ContextStream &stream) REQUIRES(engine_lock) {
    return stream.stands_for != nullptr ? *stream.stands_for : stream;
}

class Context final : public StreamGroup {
  public:
    static constexpr Kind kKind = Kind::Context;
    Context(Device &owner, bool primary) : StreamGroup(owner), device(owner), is_primary(primary) {}

    void require_accepting(const Stream &stream) const override REQUIRES(engine_lock);
    void stop(aclError reason) override REQUIRES(engine_lock);

    Device &device;
    const bool is_primary;
    Ref<ContextStream> default_stream GUARDED_BY(engine_lock);
    std::vector<Ref<ContextStream>> streams GUARDED_BY(engine_lock);   // the default stream included
    std::shared_ptr<Executor> host_functions GUARDED_BY(engine_lock);  // one thread, at the first host function
    std::array<std::optional<std::int64_t>, 3> options GUARDED_BY(engine_lock);  // aclrtCtxSetSysParamOpt
    void *overflow_address GUARDED_BY(engine_lock) = nullptr;  // aclrtCtxGetFloatOverflowAddr, at the first call
};

// Every stream of the engine is one of a context.
inline Context &context_of(const Stream &stream) { return static_cast<Context &>(stream.group); }
inline Device &device_of(const Stream &stream) { return context_of(stream).device; }

// What submissions and synchronizations check: the device or the stream is being aborted.
inline void require_not_aborting(const Stream &stream) REQUIRES(engine_lock) {
    require_not_aborting(device_of(stream));
    if (stream.aborting > 0) {
        fail(ACL_ERROR_RT_STREAM_ABORT, "stream %u is being aborted", stream.id);
    }
}
// The context, for texts: which one it is, and of which device.
std::string text_of(const Context &context) REQUIRES(engine_lock);
// The failure of what needs an object of the calling thread's current context, which is given, or nullptr.
[[noreturn]] void fail_of_other_context(aclError code, const std::string &object, const Context &owner,
                                        const Context *current) REQUIRES(engine_lock);
[[noreturn]] void fail_of_other_context(const ContextStream &stream, const Context *current) REQUIRES(engine_lock);
// The failure of calls in a context whose tasks have failed in STOP mode.
[[noreturn]] void fail_stopped(const Context &context) REQUIRES(engine_lock);

// What submissions, synchronizations and queries check: the device is lost, or a task failed in STOP mode.
inline void require_healthy(const Context &context) REQUIRES(engine_lock) {
    require_not_lost(context.device);
    if (context.failure != ACL_SUCCESS) {
        fail_stopped(context);
    }
}
// The failure of a wait that an abort ended.
[[noreturn]] void fail_aborted(const Stream &stream) REQUIRES(engine_lock);
// Throws a task's failure; does nothing for ACL_SUCCESS. What the runtime logs as success while it answers the code is
// not remembered (events_streams_sync.md section 1).
void raise_failure(aclError failure, const std::string &text);
// What is to be said of the failure of a task of the stream; the reason that the task gave is said once.
std::string take_failure_text(Stream &stream) REQUIRES(engine_lock);
// What a synchronization answers when it has waited: the failure of a task, once.
void raise_stream_failure(Stream &stream) REQUIRES(engine_lock);

}  // namespace aclsim
