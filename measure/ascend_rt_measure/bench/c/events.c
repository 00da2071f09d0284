/* SPDX-License-Identifier: Apache-2.0 */
/* Events and streams. */
#include "bench.h"

static aclError create_and_destroy(void) {
    aclrtEvent event = NULL;
    const aclError created = aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC);
    return created | aclrtDestroyEvent(event);
}

double event_create_destroy(uint64_t loops) { RETURN_TIME_OF(loops, create_and_destroy()); }

double event_record(uint64_t loops) { RETURN_TIME_OF(loops, aclrtRecordEvent(the.event, the.a)); }

double stream_wait_event(uint64_t loops) { RETURN_TIME_OF(loops, aclrtStreamWaitEvent(the.b, the.complete)); }

static double query(uint64_t loops, aclrtEvent event, aclrtEventRecordedStatus expected) {
    aclrtEventRecordedStatus status;
    RETURN_TIME_OF(loops, aclrtQueryEventStatus(event, &status) | (status != expected));
}

double event_query_complete(uint64_t loops) { return query(loops, the.complete, ACL_EVENT_RECORDED_STATUS_COMPLETE); }

/* An event of aclrtCreateEventWithFlag starts closed: a stream that waits for it is blocked until it is recorded. */
double event_query_pending(uint64_t loops) {
    aclrtEvent gate = NULL;
    OK(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC));
    OK(aclrtStreamWaitEventWithTimeout(the.a, gate, 0));
    OK(aclrtRecordEvent(the.event, the.a));
    const double taken = query(loops, the.event, ACL_EVENT_RECORDED_STATUS_NOT_READY);
    OK(aclrtRecordEvent(gate, the.b));
    OK(aclrtSynchronizeStream(the.a));
    OK(aclrtDestroyEvent(gate));
    return taken;
}

double event_synchronize_complete(uint64_t loops) { RETURN_TIME_OF(loops, aclrtSynchronizeEvent(the.complete)); }

double record_wait_synchronize(uint64_t loops) {
    RETURN_TIME_OF(loops, aclrtRecordEvent(the.event, the.a) | aclrtStreamWaitEvent(the.b, the.event) |
                              aclrtSynchronizeStream(the.b));
}

void do_nothing(void *argument) { (void)argument; }

double host_func_round_trip(uint64_t loops) {
    RETURN_TIME_OF(loops, aclrtLaunchHostFunc(the.a, do_nothing, NULL) | aclrtSynchronizeStream(the.a));
}
