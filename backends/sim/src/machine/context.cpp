#include "machine/context.h"

#include <algorithm>
#include <utility>

#include "engine/executor.h"
#include "support/error.h"

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
