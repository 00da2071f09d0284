// SPDX-License-Identifier: Apache-2.0
#include "machine/context.h"

#include <algorithm>
#include <utility>

#include "engine/executor.h"
#include "support/error.h"
#include "support/text.h"

namespace aclsim {
namespace {

constexpr std::array kLoggedAsSuccess = {ACL_ERROR_RT_END_OF_SEQUENCE,  ACL_ERROR_RT_MODEL_ABORT_NORMAL,
                                         ACL_ERROR_RT_AICORE_OVER_FLOW, ACL_ERROR_RT_AIVEC_OVER_FLOW,
                                         ACL_ERROR_RT_OVER_FLOW,        ACL_ERROR_RT_SOCKET_CLOSE};

}  // namespace

ContextStream::ContextStream(Context &owner, std::uint32_t stream_id, std::uint32_t creation_flags,
                             std::uint32_t priority_level)
    : Stream(owner, stream_id, creation_flags, priority_level) {}

void Context::require_accepting(const Stream &stream) const {
    require_not_aborting(stream);
    require_healthy(*this);
}

void Context::stop(aclError reason) {
    failure = reason;
    for (const auto &stream : streams) {
        stream->progress.notify_all();
    }
}

std::string text_of(const Context &context) {
    const std::string device = " of device " + std::to_string(context.device.user_id);
    return context.is_primary ? "the primary context" + device : "context " + text_of(context.handle()) + device;
}

void fail_of_other_context(aclError code, const std::string &object, const Context &owner, const Context *current) {
    const std::string cure = owner.is_primary ? "aclrtSetDevice(" + std::to_string(owner.device.user_id) + ")"
                                              : std::string("aclrtSetCurrentContext");
    fail(code, "%s belongs to %s, but the calling thread works in %s; call %s first", object.c_str(),
         text_of(owner).c_str(), current == nullptr ? "no context" : text_of(*current).c_str(), cure.c_str());
}

void fail_of_other_context(const ContextStream &stream, const Context *current) {
    fail_of_other_context(ACL_ERROR_RT_STREAM_CONTEXT, "stream " + std::to_string(stream.id), context_of(stream),
                          current);
}

void fail_stopped(const Context &context) {
    fail(context.failure, "an earlier task of %s failed in STOP mode%s%s; destroy the context, or reset the device",
         text_of(context).c_str(), context.failure_reason.empty() ? "" : ": ", context.failure_reason.c_str());
}

void fail_aborted(const Stream &stream) { fail(stream.abort_reason, "stream %u was aborted", stream.id); }

void raise_failure(aclError failure, const std::string &text) {
    if (failure == ACL_SUCCESS) {
        return;
    }
    if (std::find(kLoggedAsSuccess.begin(), kLoggedAsSuccess.end(), failure) == kLoggedAsSuccess.end()) {
        fail(failure, "%s", text.c_str());
    }
    fail_unremembered(failure, "%s", text.c_str());
}

void raise_stream_failure(Stream &stream) {
    if (stream.failure != ACL_SUCCESS) {
        raise_failure(std::exchange(stream.failure, ACL_SUCCESS), take_failure_text(stream));
    }
}

std::string take_failure_text(Stream &stream) {
    const std::string reason = std::exchange(stream.failure_reason, {});
    return "a task of stream " + std::to_string(stream.id) + " failed" + (reason.empty() ? "" : ": ") + reason;
}

}  // namespace aclsim
