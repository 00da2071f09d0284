// Contexts: which device a thread works on, and the streams that belong together.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/executor.h"
#include "engine/registry.h"
#include "engine/stream.h"

namespace aclsim {

class Engine;
class Model;
struct Device;

class Context final : public Object, public std::enable_shared_from_this<Context> {
  public:
    static constexpr Kind kKind = Kind::Context;
    Context(Device &owner, bool primary) : device(owner), is_primary(primary) {}

    Device &device;
    const bool is_primary;
    std::shared_ptr<Stream> default_stream;
    std::vector<std::shared_ptr<Stream>> streams;  // the default stream included
    std::vector<std::shared_ptr<Model>> models;
    std::shared_ptr<Executor> host_functions;            // one thread, at the first host function
    bool stops_on_failure = false;                       // some stream of it is in STOP mode
    aclError failure = ACL_SUCCESS;                      // STOP mode: the first failure, and it stays
    std::array<std::optional<std::int64_t>, 3> options;  // aclrtCtxSetSysParamOpt
    void *overflow_address = nullptr;                    // aclrtCtxGetFloatOverflowAddr, at the first call
};

// What the calling thread works on. An explicit context wins over a primary one (device_context_init_errors.md 6.1).
struct ThreadContext {
    void *explicit_context = nullptr;  // handles, because the objects may be destroyed by another thread
    void *primary_context = nullptr;
};
ThreadContext &thread_context();

// All with the engine lock held.
std::shared_ptr<Context> create_context(Engine &engine, Device &device, bool primary);
// Waits for the streams' work, or drops it; then everything in the context is gone.
void destroy_context(Engine &engine, std::unique_lock<std::mutex> &lock, std::shared_ptr<Context> context, bool force);
// aclrtSynchronizeDevice: waits for the streams of the calling thread's context. Fails if a task failed, an abort ended
// the wait, or the deadline has passed.
void synchronize_device(Engine &engine, std::unique_lock<std::mutex> &lock,
                        std::chrono::steady_clock::time_point deadline);
// aclrtDeviceTaskAbort: drops all tasks of the device and clears the failures of its contexts. Fails if a task does
// not end in time.
void abort_device(Engine &engine, std::unique_lock<std::mutex> &lock, Device &device,
                  std::chrono::steady_clock::time_point deadline);
// Fails when the calling thread, in a callback, would tear down what it is tearing down already.
void require_not_tearing_down(const Context &context);
// aclInit's default-device mode: a thread without a context gets the primary one of that device when it asks for its
// context (section 6.1). nullptr ends the mode.
void set_default_device(Device *device);
// Makes the device's primary context current, as aclrtSetDevice does.
void enter_device(Engine &engine, Device &device);
Context *current_context(Engine &engine);  // nullptr if there is none
Context &require_context(Engine &engine);  // ACL_ERROR_RT_CONTEXT_NULL if there is none
// Of the current context; fails also when it is lost. For what makes something on the device, or asks it.
Device &require_current_device(Engine &engine);

std::shared_ptr<Stream> create_stream(Engine &engine, Context &context, std::uint32_t flags, std::uint32_t priority);
void destroy_stream(Engine &engine, std::unique_lock<std::mutex> &lock, std::shared_ptr<Stream> stream, bool force);

}  // namespace aclsim
