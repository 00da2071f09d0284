/* SPDX-License-Identifier: Apache-2.0 */
#include "failure.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <map>
#include <mutex>

namespace ascend_rt {
namespace {

struct Failures {
    std::mutex mutex;
    std::map<std::int8_t, std::string> of_devices;
    std::string first;
    std::atomic<bool> has_any{false};
};

Failures &failures() {
    static auto *all = new Failures;  // tasks may fail while the process ends
    return *all;
}

}  // namespace

void note_failure(std::int8_t device, const std::string &text) {
    Failures &all = failures();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.of_devices.emplace(device, text);
    if (all.first.empty()) {
        all.first = text;
    }
    all.has_any = true;
}

std::string first_failure() {
    Failures &all = failures();
    const std::lock_guard<std::mutex> lock(all.mutex);
    return all.first;
}

void raise_failure(std::int8_t device) {
    Failures &all = failures();
    if (all.has_any) {
        const std::lock_guard<std::mutex> lock(all.mutex);
        const auto found = all.of_devices.find(device);
        TORCH_CHECK(found == all.of_devices.end(), found->second);
    }
}

}  // namespace ascend_rt
