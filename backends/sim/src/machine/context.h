// SPDX-License-Identifier: Apache-2.0
// Contexts and their streams: the group of streams that a thread works with on a device.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/host_wait.h"
#include "engine/stream.h"
#include "machine/device.h"
#include "support/error.h"

namespace aclsim {

class Capture;
class Context;
class ContextStream;
class Executor;
class GroupUpdate;

// Redirect for the tasks of a stream: the capture of a graph, or the update of a task group.
class TaskRedirect : public RefCounted {
  public:
    // Returns the stream that gets the task of the present call; throws a Failure if the call may not submit it.
    virtual ContextStream &take(ContextStream &stream, bool is_kernel) REQUIRES(engine_lock) = 0;
    // Throws a Failure if no other call may use the stream during the redirect.
    virtual void require_usable(const ContextStream &stream) const REQUIRES(engine_lock) = 0;
    virtual Capture *as_capture() { return nullptr; }
    virtual GroupUpdate *as_update() { return nullptr; }
};

// Stream of the API: the actor of the engine, and its attributes.
class ContextStream final : public Stream {
  public:
    ContextStream(Context &owner, std::uint32_t stream_id, std::uint32_t creation_flags, std::uint32_t priority_level);

    // Synchronizations and queries of these streams report "complete" without a check (events_streams_sync.md section
    // 3, SynchronizeStream).
    bool is_always_complete() const {
        return (flags & (ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY)) != 0;
    }
    bool is_complete() const REQUIRES(engine_lock) { return is_always_complete() || is_done(submitted); }

    // Redirect of its tasks, or nullptr.
    const Ref<TaskRedirect> &redirect() const REQUIRES(engine_lock) { return redirect_; }
    void set_redirect(Ref<TaskRedirect> redirect) REQUIRES(engine_lock) {
        redirect_ = std::move(redirect);
        is_redirected = redirect_ != nullptr;
    }

    bool stops_on_failure GUARDED_BY(engine_lock) = false;
    std::uint32_t overflow_switch GUARDED_BY(engine_lock) = 0;
    std::uint32_t custom_tag GUARDED_BY(engine_lock) = 0xFFFFFFFF;            // default until set (section 3 [obs])
    std::array<std::int64_t, 2> core_limits GUARDED_BY(engine_lock){-1, -1};  // cube, vector; -1 is the device limit
    std::uint32_t wants_op_info GUARDED_BY(engine_lock) = 0;  // ACL_STREAM_ATTR_CACHE_OP_INFO, for new captures
    bool is_hidden GUARDED_BY(engine_lock) = false;           // stream internal to a graph, not reported to callbacks
    // Owner of the thread that runs callbacks of this stream (events_streams_sync.md section 0.3).
    enum class CallbackOwner : std::uint8_t { None, User, Runtime };
    CallbackOwner callback_owner GUARDED_BY(engine_lock) = CallbackOwner::None;
    ContextStream *stands_for GUARDED_BY(engine_lock) = nullptr;  // stream whose tasks this one currently takes
    std::uint64_t callback_thread GUARDED_BY(engine_lock) = 0;    // valid for CallbackOwner::User

  private:
    Ref<TaskRedirect> redirect_ GUARDED_BY(engine_lock);
};
static_assert(sizeof(ContextStream) == kStreamSize);

// Returns the stream that the program named if this one takes its tasks: the registrations of that stream apply.
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
    std::vector<Ref<ContextStream>> streams GUARDED_BY(engine_lock);  // including the default stream
    // Synchronization of the device that holds the lock of this list; see await_stream_list().
    BlockingCall synchronization GUARDED_BY(engine_lock);
    std::condition_variable_any synchronized;                          // it has returned
    std::shared_ptr<Executor> host_functions GUARDED_BY(engine_lock);  // one thread, created at the first host function
    std::array<std::optional<std::int64_t>, 3> options GUARDED_BY(engine_lock);  // aclrtCtxSetSysParamOpt
    void *overflow_address GUARDED_BY(engine_lock) = nullptr;  // aclrtCtxGetFloatOverflowAddr, on first use
};

// Every stream of the engine belongs to a context.
inline Context &context_of(const Stream &stream) { return static_cast<Context &>(stream.group); }
inline Device &device_of(const Stream &stream) { return context_of(stream).device; }

// Fails submissions and synchronizations while the device or the stream is being aborted.
inline void require_not_aborting(const Stream &stream) REQUIRES(engine_lock) {
    require_not_aborting(device_of(stream));
    if (stream.aborting > 0) {
        fail(ACL_ERROR_RT_STREAM_ABORT, "stream %u is being aborted", stream.id);
    }
}
// Describes the context for messages: the context and its device.
std::string text_of(const Context &context) REQUIRES(engine_lock);
// Fails a call on an object that does not belong to the calling thread's current context, which may be nullptr.
[[noreturn]] void fail_of_other_context(aclError code, const std::string &object, const Context &owner,
                                        const Context *current) REQUIRES(engine_lock);
[[noreturn]] void fail_of_other_context(const ContextStream &stream, const Context *current) REQUIRES(engine_lock);
// Fails a call in a context in which a task failed in STOP mode.
[[noreturn]] void fail_stopped(const Context &context) REQUIRES(engine_lock);

// Fails submissions, synchronizations and queries if the device is lost or a task failed in STOP mode.
inline void require_healthy(const Context &context) REQUIRES(engine_lock) {
    require_not_lost(context.device);
    if (context.failure != ACL_SUCCESS) {
        fail_stopped(context);
    }
}
// Fails a wait that an abort ended.
[[noreturn]] void fail_aborted(const Stream &stream) REQUIRES(engine_lock);
// Throws a task's failure; does nothing for ACL_SUCCESS. Codes that the runtime returns but logs as success are not
// remembered (events_streams_sync.md section 1).
void raise_failure(aclError failure, const std::string &text);
// Returns the message for the failure of a task of the stream. The reason that the task gave is reported only once.
std::string take_failure_text(Stream &stream) REQUIRES(engine_lock);
// Throws the failure of a task after a synchronization has waited; each failure is reported only once.
void raise_stream_failure(Stream &stream) REQUIRES(engine_lock);

}  // namespace aclsim
