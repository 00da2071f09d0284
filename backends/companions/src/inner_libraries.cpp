// Programs bind functions of the runtime's inner libraries through a library above the runtime. The function below is
// needed because linkers, by default, drop a dependency that is never called.
#include "profiling.h"
#include "runtime/rt.h"

extern "C" __attribute__((visibility("hidden"), used)) int32_t needs_the_inner_libraries() {
    return MsprofReportApi(0, nullptr) + rtGetC2cCtrlAddr(nullptr, nullptr);
}
