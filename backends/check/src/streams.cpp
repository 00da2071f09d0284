// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include <algorithm>

#include "vendor.h"

namespace aclsim::wrapped {
namespace {

aclrtContext current_context() {
    aclrtContext context = nullptr;
    const auto ask = VENDOR(aclrtGetCurrentContext);
    return ask != nullptr && ask(&context) == ACL_SUCCESS ? context : nullptr;
}

// Releases before 8.5 do not say which stream it is; then the context identifies it.
aclrtStream default_stream() {
    aclrtStream stream = nullptr;
    const auto ask = VENDOR(aclrtCtxGetCurrentDefaultStream);
    return ask != nullptr && ask(&stream) == ACL_SUCCESS ? stream : current_context();
}

}  // namespace

StreamState &Streams::of(aclrtStream stream) {
    const aclrtStream handle = stream == nullptr ? default_stream() : stream;
    std::unique_ptr<StreamState> &known = known_[handle];
    if (known == nullptr) {
        known = std::make_unique<StreamState>();
        known->serial = ++newest_;
        known->context = current_context();
        std::int32_t number = 0;
        std::int32_t device = 0;
        if (const auto ask = VENDOR(aclrtStreamGetId)) {
            ask(stream, &number);
        }
        VENDOR(aclrtGetDevice)(&device);
        known->number = static_cast<std::uint32_t>(number);
        known->device = static_cast<std::uint32_t>(device);
        by_serial_[known->serial] = known.get();
    }
    return *known;
}

StreamState *Streams::find(aclrtStream stream) const {
    const auto found = known_.find(stream == nullptr ? default_stream() : stream);
    return found == known_.end() ? nullptr : found->second.get();
}

StreamState *Streams::find(std::uint64_t serial) const {
    const auto found = by_serial_.find(serial);
    return found == by_serial_.end() ? nullptr : found->second;
}

void Streams::forget(const StreamState &stream) {
    by_serial_.erase(stream.serial);
    known_.erase(
        std::find_if(known_.begin(), known_.end(), [&](const auto &it) { return it.second.get() == &stream; }));
}

}  // namespace aclsim::wrapped
