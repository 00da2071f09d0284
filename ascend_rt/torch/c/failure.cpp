/* SPDX-License-Identifier: Apache-2.0 */
#include "failure.h"

#include <c10/util/Exception.h>

#include <array>

#include "first_made.h"
#include "operator.h"

namespace ascend_rt {
namespace {

constinit std::array<FirstMade<std::string>, kMostDevices> failures;
FirstMade<std::string> &failure_of(std::int8_t device) { return failures.at(static_cast<std::size_t>(device)); }

}  // namespace

void note_failure(std::int8_t device, const std::string &text) {
    failure_of(device).get([&] { return text; });
}

std::string all_failures() {
    std::string all;
    for (const FirstMade<std::string> &failure : failures) {
        const std::string *found = failure.find();
        all += found == nullptr ? "" : all.empty() ? *found : "\n" + *found;
    }
    return all;
}

void forget_failure(std::int8_t device) { failure_of(device).forget(); }

void raise_failure(std::int8_t device) {
    const std::string *found = failure_of(device).find();
    TORCH_CHECK(found == nullptr, *found);
}

}  // namespace ascend_rt

// Called from Python after a device has been restarted.
extern "C" __attribute__((visibility("default"))) void ascend_rt_torch_forget(std::int32_t device) {
    ascend_rt::forget_failure(static_cast<std::int8_t>(device));
}
