#include "machine/device.h"

#include "machine/context.h"
#include "support/config.h"

namespace aclsim {
namespace {

constexpr std::uint32_t kFirstUserStream = 2;

}  // namespace

Device::Device(std::uint32_t user, std::uint32_t physical)
    : user_id(user),
      physical_id(physical),
      stream_ids(kFirstUserStream, config().product->streams),
      event_ids(0, config().product->events),
      notify_ids(0, config().product->notifies),
      core_limits{config().product->cube_cores, config().product->vector_cores},
      has_group(!config().product->has(kHasGroups) || config().groups == 1) {}

Device::~Device() = default;

}  // namespace aclsim
