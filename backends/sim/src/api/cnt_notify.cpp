// SPDX-License-Identifier: Apache-2.0
// Counting notifies: supported only by the 950. NULL is reported before an unsupported chip (events_streams_sync.md
// section 6 [obs]).
#include "api/entry.h"
#include "tasks/notify.h"

using namespace aclsim;

namespace {

constexpr std::uint32_t kRecordModes =
    1U << ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE | 1U << ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE |
    1U << ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE | 1U << ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE;

void require_not_null(const void *argument, const char *name) {
    if (argument == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s is NULL", name);
    }
}

CntNotify &require_cnt_notify(Simulator &sim, aclrtCntNotify notify) REQUIRES(engine_lock) {
    require_not_null(notify, "cntNotify");
    require_supported();
    return require_handle<CntNotify>(sim, notify, "counting notify");
}

void require_record_mode(aclrtCntNotifyRecordMode mode) {
    const auto number = static_cast<std::uint32_t>(mode);
    if (number > ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE || (kRecordModes >> number & 1) == 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no record mode %u", number);
    }
}

}  // namespace

aclError aclrtCntNotifyCreate(aclrtCntNotify *cntNotify, uint64_t flag) {
    return entry(Function::aclrtCntNotifyCreate, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_not_null(cntNotify, "cntNotify");
        require_supported();
        if (flag != 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "flag must be 0");
        }
        *cntNotify = CntNotify::create(sim.core, require_device_of_notify(sim.machine))->handle();
    });
}

aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify) {
    return entry(Function::aclrtCntNotifyDestroy, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.core.registry().remove(require_cnt_notify(sim, cntNotify));
    });
}

aclError aclrtCntNotifyRecord(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyRecordInfo *info) {
    return entry(Function::aclrtCntNotifyRecord, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(info, "info");
        CntNotify &found = require_cnt_notify(sim, cntNotify);
        require_record_mode(info->mode);
        found.record(sim.core, lock, require_own_stream(sim, stream), *info);
    });
}

aclError aclrtCntNotifyWaitWithTimeout(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyWaitInfo *info) {
    return entry(Function::aclrtCntNotifyWaitWithTimeout, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(info, "info");
        CntNotify &found = require_cnt_notify(sim, cntNotify);
        if (static_cast<std::uint32_t>(info->mode) > ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no wait mode %d", static_cast<int>(info->mode));
        }
        found.wait(sim.core, lock, require_own_stream(sim, stream), *info);
    });
}

aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream) {
    return entry(Function::aclrtCntNotifyReset, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        CntNotify &found = require_cnt_notify(sim, cntNotify);
        const aclrtCntNotifyRecordInfo zero = {ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 0};
        found.record(sim.core, lock, require_own_stream(sim, stream), zero);
    });
}

aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify, uint32_t *notifyId) {
    return entry(Function::aclrtCntNotifyGetId, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_not_null(notifyId, "notifyId");
        *notifyId = require_cnt_notify(sim, cntNotify).id;
    });
}
