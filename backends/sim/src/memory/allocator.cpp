// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator.h"

#include <algorithm>
#include <cstring>

#include "machine/context.h"
#include "memory/extent.h"
#include "memory/memory.h"
#include "support/error.h"
#include "support/program_call.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

constexpr int kScribble = 0xA5;  // content that an operator leaves in its workspace

thread_local bool t_is_in_callback = false;

bool is_live_on(Memory &memory, const Device &device, const void *address, std::size_t bytes) REQUIRES(engine_lock) {
    const Location location = memory.space().locate(address);
    return location.place == Place::Device && location.device == device.physical_id &&
           memory.space().is_live(address, bytes);
}

class OperatorTask final : public Task {
  public:
    explicit OperatorTask(Workspace workspace) : workspace_(std::move(workspace)) {}
    static constexpr TaskInfo kInfo{"OPERATOR", "an operator"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        if (workspace_.size() == 0) {
            return Start::Done;
        }
        if (!workspace_.is_live(device_of(stream))) {
            result = ACL_ERROR_RT_AICORE_EXCEPTION;  // freed before the operator started
            return Start::Done;
        }
        return Start::Run;
    }
    void run() override { std::memset(workspace_.address(), kScribble, workspace_.size()); }

  private:
    Workspace workspace_;
};

// Calls user code without the engine lock.
template <class Callback>
void call_unlocked(Lock &lock, Callback callback) REQUIRES(engine_lock) {
    struct InCallback {
        InCallback() { t_is_in_callback = true; }
        ~InCallback() { t_is_in_callback = false; }
    };
    const Unlocked unlocked(lock);
    const InCallback in_callback;
    callback();
}

// Block of an allocator during the submission of an operator. The operator's task uses the block after its release,
// because allocators hand out memory in stream order.
class BorrowedBlock {
  public:
    BorrowedBlock(Memory &memory, Lock &lock, const Allocator &allocator, std::size_t bytes)
        : memory_(memory), lock_(lock), allocator_(allocator) {
        call_unlocked(lock_, [&] {
            call_or_fail("the allocator's callback", [&] {
                block_ = allocator_.allocate(allocator_.object, bytes);
                address_ = block_ == nullptr ? nullptr : allocator_.address_of(block_);
            });
        });
        if (block_ == nullptr) {
            fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                 "the allocator %p has no %zu bytes of workspace: its callback returned NULL", allocator_.object,
                 bytes);
        }
    }
    ~BorrowedBlock() {
        const Uncancelled uncancelled;
        memory_.core.note_done_with_memory();  // needed if the submission failed: the callback may free the memory
        call_unlocked(lock_, [&] { allocator_.release(allocator_.object, block_); });
    }
    BorrowedBlock(const BorrowedBlock &) = delete;
    BorrowedBlock &operator=(const BorrowedBlock &) = delete;
    void *address() const { return address_; }

  private:
    Memory &memory_;
    Lock &lock_;
    const Allocator &allocator_;
    aclrtAllocatorBlock block_ = nullptr;
    void *address_ = nullptr;
};

// Fails if the user's stream is gone or `stream` no longer takes its tasks; both may be the same stream.
void require_still(Memory &memory, const Ref<ContextStream> &stream, const ContextStream &user, const char *meanwhile)
    REQUIRES(engine_lock) {
    if (memory.core.registry().find<Stream>(user.handle()) != &user || &user_stream(*stream) != &user) {
        fail(ACL_ERROR_RT_INVALID_HANDLE, "stream %u was destroyed, or its capture ended, while %s", user.id,
             meanwhile);
    }
}

using Submit = std::function<void(Workspace)>;

void submit_on_block(Memory &memory, Lock &lock, ContextStream &stream, const Allocator &allocator, std::size_t bytes,
                     const Submit &submit) REQUIRES(engine_lock) {
    const Ref<ContextStream> keep(stream);
    const Ref<ContextStream> user(user_stream(stream));
    constexpr const char *kMeanwhile = "its allocator was at work";
    Allocators::Turn turn(memory.allocators, lock, allocator.object, *user);
    require_still(memory, keep, *user, kMeanwhile);
    const BorrowedBlock block(memory, lock, allocator, bytes);
    require_still(memory, keep, *user, kMeanwhile);
    if (!is_live_on(memory, device_of(stream), block.address(), bytes)) {
        fail(ACL_ERROR_RT_PARAM_INVALID,
             "the allocator %p gave %p as workspace: that is not live memory of device %u with %zu bytes",
             allocator.object, block.address(), device_of(stream).user_id, bytes);
    }
    note_use(memory, block.address(), bytes, AccessMode::ReadWrite, "workspace");
    admit_with(memory, lock, stream, {{block.address(), bytes}});
    submit(Workspace(memory, block.address(), bytes));
    turn.note_use(*user);
}

void submit_on_heap(Memory &memory, Lock &lock, ContextStream &stream, std::size_t bytes, const Submit &submit)
    REQUIRES(engine_lock) {
    const Ref<ContextStream> keep(stream);
    const Ref<ContextStream> user(user_stream(stream));
    Device &device = device_of(stream);
    void *address = allocate_patiently(memory, lock, [&]() REQUIRES(engine_lock) {
        require_still(memory, keep, *user, "the call waited for memory");
        memory.core.admit(lock, stream);  // repeated, because the wait for memory may have taken long
        return memory.space().allocate_internal(device.physical_id, bytes);
    });
    if (address == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "a workspace of %zu bytes does not fit: %s", bytes,
             describe_room(memory, device).c_str());
    }
    note_allocation(memory, address, bytes);
    Workspace workspace(own_block(memory, device.physical_id, address), bytes);
    note_use(memory, address, bytes, AccessMode::ReadWrite, "workspace");
    submit(std::move(workspace));
}

void require_no_callback() {
    if (t_is_in_callback) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "an allocator's callback cannot run an operator");
    }
}

}  // namespace

const Allocators::Registration *Allocators::find(aclrtStream stream) const {
    const auto found = registrations_.find(stream);
    return found == registrations_.end() ? nullptr : &found->second;
}

// Requires a synchronization: without it the application cannot know that the operator is done, even if it happens to
// be complete.
bool Allocators::Use::is_settled() const { return !stream || stream->is_destroyed || stream->synchronized >= sequence; }

// The application may destroy an allocator that serves no stream and create another one at the same address.
void Allocators::remove(aclrtStream stream) {
    const auto found = registrations_.find(stream);
    if (found == registrations_.end()) {
        return;
    }
    const aclrtAllocator object = found->second.allocator.object;
    registrations_.erase(found);
    const bool serves_another = std::any_of(registrations_.begin(), registrations_.end(),
                                            [object](const auto &it) { return it.second.allocator.object == object; });
    const auto use = uses_.find(object);
    if (!serves_another && use != uses_.end() && !use->second.is_in_turn) {
        uses_.erase(use);
    }
}

void Allocators::forget_settled() {
    for (auto use = uses_.begin(); use != uses_.end();) {
        use = !use->second.is_in_turn && use->second.is_settled() ? uses_.erase(use) : std::next(use);
    }
}

Allocators::Turn::Turn(Allocators &allocators, Lock &lock, aclrtAllocator object, const Stream &stream)
    : allocators_(allocators), object_(object) {
    const auto is_in_turn = [&]() REQUIRES(engine_lock) {
        const auto use = allocators_.uses_.find(object_);
        return use != allocators_.uses_.end() && use->second.is_in_turn;
    };
    while (is_in_turn()) {
        allocators_.turn_over_.wait(lock);
    }
    allocators_.forget_settled();
    Use &use = allocators_.uses_[object_];
    const Ref<const Stream> last = use.stream;
    if (last && last != &stream) {
        fail(
            ACL_ERROR_RT_STREAM_NOT_COMPLETE,
            "the allocator %p serves stream %u, which was not synchronized since; synchronize it before stream %u runs "
            "an operator with the same allocator",
            object_, last->id, stream.id);
    }
    use.is_in_turn = true;
}

Allocators::Turn::~Turn() {
    allocators_.uses_[object_].is_in_turn = false;
    allocators_.turn_over_.notify_all();
}

void Allocators::Turn::note_use(const Stream &stream) {
    Use &use = allocators_.uses_[object_];
    use.stream = Ref<const Stream>(stream);
    use.sequence = stream.submitted;
}

bool Workspace::is_live(const Device &device) const {
    return size_ == 0 || is_live_on(*memory_, device, address(), size_);
}

void submit_with_workspace(Memory &memory, Lock &lock, ContextStream &stream, std::size_t bytes, const Submit &submit) {
    if (bytes == 0) {
        memory.core.admit(lock, stream);
        submit(Workspace());
        return;
    }
    require_no_callback();
    memory.core.admit(lock, stream);
    const Allocators::Registration *registered = memory.allocators.find(user_stream(stream).handle());
    if (registered == nullptr) {
        submit_on_heap(memory, lock, stream, bytes, submit);
        return;
    }
    const Allocator allocator = registered->allocator;  // copied, because callbacks may unregister it
    submit_on_block(memory, lock, stream, allocator, bytes, submit);
}

void run_operator(Memory &memory, Lock &lock, ContextStream &stream, std::size_t workspace_bytes) {
    require_no_callback();
    submit_with_workspace(memory, lock, stream, workspace_bytes, [&](Workspace workspace) REQUIRES(engine_lock) {
        memory.core.submit(stream, OperatorTask(std::move(workspace)));
    });
}

}  // namespace aclsim
