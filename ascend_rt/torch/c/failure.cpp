/* SPDX-License-Identifier: Apache-2.0 */
#include "failure.h"

#include <c10/util/Exception.h>

#include <array>

#include "first_made.h"
#include "operator.h"

namespace ascend_rt {
namespace {

constinit std::array<FirstMade<std::string>, kMostDevices> failures_of_devices;
constinit FirstMade<std::string> failure_of_any;

FirstMade<std::string> &failure_of(std::int8_t device) {
    return failures_of_devices.at(static_cast<std::size_t>(device));
}

}  // namespace

void note_failure(std::int8_t device, const std::string &text) {
    const auto copied = [&] { return text; };
    failure_of(device).get(copied);
    failure_of_any.get(copied);
}

std::string first_failure() {
    const std::string *found = failure_of_any.find();
    return found != nullptr ? *found : "";
}

void raise_failure(std::int8_t device) {
    const std::string *found = failure_of(device).find();
    TORCH_CHECK(found == nullptr, *found);
}

}  // namespace ascend_rt
