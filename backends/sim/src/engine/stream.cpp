// SPDX-License-Identifier: Apache-2.0
#include "engine/stream.h"

namespace aclsim {
namespace {

std::uint64_t g_streams = 0;  // number of streams created so far; guarded by the engine lock

}  // namespace

Stream::Stream(StreamGroup &owner, std::uint32_t stream_id, std::uint32_t creation_flags, std::uint32_t priority_level)
    : executes_tasks((creation_flags & ACL_STREAM_PERSISTENT) == 0),
      group(owner),
      flags(creation_flags),
      serial(++g_streams),
      id(stream_id),
      priority(priority_level) {}

}  // namespace aclsim
