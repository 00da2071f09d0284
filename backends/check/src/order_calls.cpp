// SPDX-License-Identifier: Apache-2.0
// Events, notifies and values: what orders streams.
#include <functional>
#include <memory>
#include <utility>

#include "call.h"
#include "operands.h"

using namespace aclsim::wrapped;
using aclsim::Point;

namespace {

void create(Check &check, aclrtEvent event, uint32_t flags, bool is_new_mode) {
    EventState state;
    const bool is_manual = !is_new_mode && (flags & (ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL)) != 0;
    state.manual = is_manual ? std::make_unique<Latch>(check.calls(), /*takes_first=*/true) : nullptr;
    state.is_unseen = (flags & (ACL_EVENT_EXTERNAL | ACL_EVENT_IPC)) != 0;
    state.flags = is_new_mode ? flags : 0;
    check.create_event(event, std::move(state));
}

void open_of_other_process(Check &check, aclrtEvent event) {
    EventState state;
    state.is_unseen = true;
    check.create_event(event, std::move(state));
}

std::function<bool(std::uint64_t)> counts(const aclrtCntNotifyWaitInfo &info) {
    const std::uint64_t wanted = info.value;
    switch (info.mode) {
        case ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE:
            return [=](std::uint64_t value) { return value < wanted; };
        case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE:
            return [=](std::uint64_t value) { return value == wanted; };
        case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE:
            return [=](std::uint64_t value) { return value > wanted; };
        case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE:
            return [=](std::uint64_t value) { return value >= wanted; };
        default:
            return [=](std::uint64_t value) { return (value & wanted) == wanted; };
    }
}

std::function<bool(std::uint64_t)> compares(std::uint64_t wanted, uint32_t flag) {
    switch (flag) {
        case ACL_STREAM_WAIT_VALUE_GEQ:  // signed difference, which may wrap
            return [=](std::uint64_t value) { return static_cast<std::int64_t>(value - wanted) >= 0; };
        case ACL_STREAM_WAIT_VALUE_EQ:
            return [=](std::uint64_t value) { return value == wanted; };
        case ACL_STREAM_WAIT_VALUE_AND:
            return [=](std::uint64_t value) { return (value & wanted) != 0; };
        default:
            return [=](std::uint64_t value) { return ~(value | wanted) != 0; };
    }
}

// Learns of the records that were the newest before the call, if its code, or what it has written, says that they are
// complete.
template <auto *kFunction, class Complete, class... Arguments>
[[gnu::always_inline]] inline aclError synchronize(const char *name, aclrtEvent event, Complete are_complete,
                                                   Arguments &&...arguments) {
    return forward_if<kFunction>(
        name, are_complete, [&](Check &check) { return check.records_of(event); },
        [](Check &check, const Points &records) { check.learn(records); }, arguments...);
}

// Does the same for a call that does not wait.
template <auto *kFunction, class Complete, class... Arguments>
[[gnu::always_inline]] inline aclError query(const char *name, aclrtEvent event, Complete are_complete,
                                             Arguments &&...arguments) {
    return forward_if<kFunction>(
        name, are_complete, [&](Check &check) { return check.records_of(event); },
        [&](Check &check, const Points &records) { check.learn(records, check.how_query_is_made(event)); },
        arguments...);
}

}  // namespace

// --- events ----------------------------------------------------------------------------------------------------------

aclError aclrtCreateEvent(aclrtEvent *event) {
    return FORWARD(aclrtCreateEvent, create(check, *event, 0, false), event);
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag) {
    return FORWARD(aclrtCreateEventWithFlag, create(check, *event, flag, false), event, flag);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
    return FORWARD(aclrtCreateEventExWithFlag, create(check, *event, flag, true), event, flag);
}

aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event) {
    return FORWARD(aclrtIpcOpenEventHandle, open_of_other_process(check, *event), handle, event);
}

aclError aclrtDestroyEvent(aclrtEvent event) {
    return FORWARD_AFTER_NOTE(aclrtDestroyEvent, check.destroy_event(event), event);
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    return FORWARD(aclrtRecordEvent, check.record_event(event, stream, false), event, stream);
}

aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag) {
    return FORWARD(aclrtRecordEventWithFlag, check.record_event(event, stream, flag == ACL_EVENT_RECORD_EXTERNAL),
                   event, stream, flag);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    return FORWARD(aclrtStreamWaitEvent, check.wait_for_event(event, stream, false), stream, event);
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
    return FORWARD(aclrtStreamWaitEventWithTimeout, check.wait_for_event(event, stream, false), stream, event, timeout);
}

aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag) {
    return FORWARD(aclrtStreamWaitEventWithFlag, check.wait_for_event(event, stream, flag == ACL_EVENT_WAIT_EXTERNAL),
                   stream, event, timeout, flag);
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    return FORWARD(aclrtResetEvent, check.reset_event(event, stream), event, stream);
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
    return synchronize<aclrtSynchronizeEvent>("aclrtSynchronizeEvent", event, kIsEndOfWait, event);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
    return synchronize<aclrtSynchronizeEventWithTimeout>("aclrtSynchronizeEventWithTimeout", event, kIsEndOfWait, event,
                                                         timeout);
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status) {
    return query<aclrtQueryEvent>(
        "aclrtQueryEvent", event,
        [&](aclError code) { return code == ACL_SUCCESS && *status == ACL_EVENT_STATUS_COMPLETE; }, event, status);
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status) {
    return query<aclrtQueryEventStatus>(
        "aclrtQueryEventStatus", event,
        [&](aclError code) { return code == ACL_SUCCESS && *status == ACL_EVENT_RECORDED_STATUS_COMPLETE; }, event,
        status);
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status) {
    return query<aclrtQueryEventWaitStatus>(
        "aclrtQueryEventWaitStatus", event,
        [&](aclError code) { return code == ACL_SUCCESS && *status == ACL_EVENT_WAIT_STATUS_COMPLETE; }, event, status);
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent) {
    return FORWARD(aclrtEventElapsedTime, check.learn(check.records_of(startEvent), aclsim::races::Learned::OfTime);
                   check.learn(check.records_of(endEvent), aclsim::races::Learned::OfTime), ms, startEvent, endEvent);
}

// --- notifies --------------------------------------------------------------------------------------------------------

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream) {
    return FORWARD(aclrtRecordNotify, auto &known = check.condition<Notify>(notify);
                   check.record_in(known, stream, [&](Point task) { return known.record(task); }), notify, stream);
}

aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout) {
    return FORWARD(aclrtWaitAndResetNotify, check.wait_for(check.condition<Notify>(notify), stream, {}), notify, stream,
                   timeout);
}

aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num) {
    return FORWARD(
        aclrtNotifyBatchReset, for (size_t i = 0; i < num; ++i) { check.condition<Notify>(notifies[i]).reset(); },
        notifies, num);
}

aclError aclrtNotifyImportByKey(aclrtNotify *notify, const char *key, uint64_t flags) {
    return FORWARD(aclrtNotifyImportByKey, check.condition<Notify>(*notify).is_unseen = true, notify, key, flags);
}

aclError aclrtNotifyGetExportKey(aclrtNotify notify, char *key, size_t len, uint64_t flags) {
    return FORWARD(aclrtNotifyGetExportKey, check.condition<Notify>(notify).is_unseen = true, notify, key, len, flags);
}

aclError aclrtDestroyNotify(aclrtNotify notify) {
    return FORWARD_AFTER_NOTE(aclrtDestroyNotify, check.destroy_condition(notify), notify);
}

aclError aclrtCntNotifyRecord(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyRecordInfo *info) {
    return FORWARD(
        aclrtCntNotifyRecord, auto &known = check.condition<Counter>(cntNotify);
        check.record_in(known, stream, [&](Point task) { return known.record(task, info->mode, info->value); }),
        cntNotify, stream, info);
}

aclError aclrtCntNotifyWaitWithTimeout(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyWaitInfo *info) {
    return FORWARD(aclrtCntNotifyWaitWithTimeout,
                   check.wait_for(check.condition<Counter>(cntNotify), stream, {{}, counts(*info), info->isClear != 0}),
                   cntNotify, stream, info);
}

aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream) {
    return FORWARD(aclrtCntNotifyReset, check.condition<Counter>(cntNotify).reset();
                   check.add_task(stream), cntNotify, stream);
}

aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify) {
    return FORWARD_AFTER_NOTE(aclrtCntNotifyDestroy, check.destroy_condition(cntNotify), cntNotify);
}

// --- values ----------------------------------------------------------------------------------------------------------

aclError aclrtValueWrite(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
    return FORWARD(aclrtValueWrite, auto &word = check.word(devAddr);
                   check.record_in(
                       word, stream, [&](Point task) { return word.record(task, value, check.unseen()); },
                       check.operands_of({writes(devAddr, sizeof value, "devAddr")}, /*is_of_value=*/true)),
                   devAddr, value, flag, stream);
}

aclError aclrtValueWait(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
    return FORWARD(aclrtValueWait,
                   check.wait_for(check.word(devAddr), stream, {{}, compares(value, flag)},
                                  check.operands_of({reads(devAddr, sizeof value, "devAddr")}, /*is_of_value=*/true)),
                   devAddr, value, flag, stream);
}
