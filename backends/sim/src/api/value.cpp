// Writing a value and waiting for one in stream order (events_streams_sync.md section 8).
#include <atomic>

#include "api/entry.h"
#include "checks/stall.h"
#include "engine/condition.h"
#include "tasks/copy.h"

using namespace aclsim;

namespace {

constexpr std::uint32_t kHighestWaitFlag = ACL_STREAM_WAIT_VALUE_NOR;

Waiters g_waiters;  // streams that wait for a value: a write looks at all of them; guarded by the engine's lock

// Device memory may be written by copies and, in the simulator, by the host at the same time.
std::uint64_t load(const void *address) {
    return __atomic_load_n(static_cast<const std::uint64_t *>(address), __ATOMIC_ACQUIRE);
}

bool is_satisfied(std::uint64_t found, std::uint64_t value, std::uint32_t flag) {
    switch (flag) {
        case ACL_STREAM_WAIT_VALUE_EQ:
            return found == value;
        case ACL_STREAM_WAIT_VALUE_AND:
            return (found & value) != 0;
        case ACL_STREAM_WAIT_VALUE_NOR:
            return ~(found | value) != 0;
        default:  // a signed difference, which may wrap
            return static_cast<std::int64_t>(found - value) >= 0;
    }
}

class ValueWriteTask final : public Task {
  public:
    ValueWriteTask(Engine &engine, void *address, std::uint64_t value)
        : engine_(engine), address_(address), value_(value) {}
    TaskKind kind() const override { return TaskKind::ValueWrite; }
    Start start(Stream &) override {
        __atomic_store_n(static_cast<std::uint64_t *>(address_), value_, __ATOMIC_RELEASE);
        g_waiters.wake(engine_);
        return Start::Done;
    }

  private:
    Engine &engine_;
    void *address_;
    std::uint64_t value_;
};

class ValueWaitTask final : public ConditionTask {
  public:
    ValueWaitTask(Engine &engine, const void *address, std::uint64_t value, std::uint32_t flag)
        : ConditionTask(engine, /*timeout_s=*/0, /*polls=*/true), address_(address), value_(value), flag_(flag) {}
    TaskKind kind() const override { return TaskKind::ValueWait; }

  protected:
    bool try_pass() override { return is_satisfied(load(address_), value_, flag_); }
    Waiters &waiters() override { return g_waiters; }
    std::string awaited() const override {
        return "a value at " + text_of(address_) + ", where " + std::to_string(load(address_)) + " is";
    }

  private:
    const void *address_;
    std::uint64_t value_;
    std::uint32_t flag_;
};

// The documents demand 8-byte alignment, which the runtime does not check; here it is an error rather than a torn
// value.
void require_value_address(Engine &engine, const void *address) {
    const bool is_device = engine.memory().locate(address).place == Place::Device;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(address) % sizeof(std::uint64_t) == 0;
    if (!is_device || !is_aligned || !engine.memory().is_live(address, sizeof(std::uint64_t))) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not 8 bytes of live device memory, aligned to 8%s", address,
             what_is_known_of(engine, address).c_str());
    }
    note_use(engine, address, sizeof(std::uint64_t), "devAddr");
}

}  // namespace

aclError aclrtValueWrite(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        require(devAddr, "devAddr");
        require_supported();
        if (flag != 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "flag must be 0");
        }
        Stream &on = require_own_stream(engine, stream);
        require_value_address(engine, devAddr);
        admit_with(engine, lock, on, {{devAddr, sizeof value}});
        engine.submit(on, ValueWriteTask(engine, devAddr, value));
    });
}

aclError aclrtValueWait(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        require(devAddr, "devAddr");
        require_supported();
        if (flag > kHighestWaitFlag) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no wait flag %u", flag);
        }
        Stream &on = require_own_stream(engine, stream);
        require_value_address(engine, devAddr);
        admit_with(engine, lock, on, {{devAddr, sizeof value}});
        engine.submit(on, ValueWaitTask(engine, devAddr, value, flag));
    });
}
