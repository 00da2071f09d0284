// SPDX-License-Identifier: Apache-2.0
// A thread that runs a callback in aclrtProcessReport counts as active: a wait for its stream is not reported as a
// deadlock.
#include <pthread.h>

#include <string>

#include "concurrent.h"
#include "latch.h"
#include "stall_reports.h"

namespace {

// Callback that runs until the long wait of the main thread has been reported. No third thread could end that wait.
struct Reading {
    StallReports reports;
    Latch entered;
    std::string text;
    static void read(void *self) {
        auto &reading = *static_cast<Reading *>(self);
        reading.entered.open();
        reading.text = reading.reports.wait_for("aclrtSynchronizeStream has waited");
    }
};

void a_running_callback_is_no_deadlock() {
    Reading reading;
    const aclrtStream stream = new_stream();
    Latch subscribed;
    std::thread reporting([&] {
        CHECK_OK(aclrtSetDevice(0));
        CHECK_OK(aclrtSubscribeReport(static_cast<std::uint64_t>(pthread_self()), stream));
        subscribed.open();
        CHECK_OK(aclrtProcessReport(-1));
        CHECK_OK(aclrtResetDevice(0));
    });
    CHECK(subscribed.opens());
    CHECK_OK(aclrtLaunchCallback(Reading::read, &reading, ACL_CALLBACK_BLOCK, stream));
    CHECK(reading.entered.opens());
    CHECK_OK(aclrtSynchronizeStream(stream));
    reporting.join();
    std::fputs("the end\n", stderr);
    reading.text += reading.reports.wait_for("the end");
    reading.reports.end_capture();
    if (reading.text.find("deadlock") != std::string::npos) {
        std::fprintf(stderr, "a callback runs, and its end is said to be impossible:\n%s", reading.text.c_str());
        std::abort();
    }
    CHECK_OK(aclrtDestroyStream(stream));
}

}  // namespace

int main() {
    setenv("ASCEND_RT_SIM_STALL_MS", "1", 1);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    a_running_callback_is_no_deadlock();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
