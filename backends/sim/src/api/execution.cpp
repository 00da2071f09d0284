// Task ids (events_streams_sync.md section 10).
#include "entry.h"

using namespace aclsim;

aclError aclrtGetThreadLastTaskId(uint32_t *taskId) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(taskId, "taskId");
        *taskId = engine.last_task_id();
    });
}
