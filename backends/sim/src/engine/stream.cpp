#include "engine/stream.h"

namespace aclsim {
namespace {

std::uint64_t g_streams = 0;  // that were created; guarded by the engine's lock

}  // namespace

Stream::Stream(StreamGroup &owner, std::uint32_t stream_id, std::uint32_t priority_level, bool executes)
    : group(owner), serial(++g_streams), executes_tasks(executes), id(stream_id), priority(priority_level) {}

}  // namespace aclsim
