// SPDX-License-Identifier: Apache-2.0
// Compute groups, which only the 310P has (device_context_init_errors.md section 7).
#include <algorithm>

#include "api/entry.h"

// Opaque type of a handle to the list of all groups.
struct tagRtGroupInfo;

using namespace aclsim;

namespace {

constexpr std::uint32_t kSdmaChannels = 2;
constexpr std::uint32_t kSubmissionQueues = 1;

class GroupList final : public Object {
  public:
    static constexpr Kind kKind = Kind::GroupList;
    bool is_filled = false;  // set by aclrtGetAllGroupInfo
};

// Returns an attribute of a group. The groups share the cores of the device evenly.
std::int32_t attribute_of(std::int32_t group, aclrtGroupAttr attribute) {
    const Product &product = *config().product;
    const std::uint32_t groups = config().groups;
    switch (attribute) {
        case ACL_GROUP_AICORE_INT:
        case ACL_GROUP_AIC_INT:
            return static_cast<std::int32_t>(std::max(1U, product.cube_cores / groups));
        case ACL_GROUP_AIV_INT:
            return static_cast<std::int32_t>(std::max(1U, product.vector_cores / groups));
        case ACL_GROUP_SDMANUM_INT:
            return kSdmaChannels;
        case ACL_GROUP_ASQNUM_INT:
            return kSubmissionQueues;
        case ACL_GROUP_GROUPID_INT:
            return group;
        default:
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no group attribute %d", static_cast<int>(attribute));
    }
}

GroupList &require_list(Simulator &sim, const aclrtGroupInfo *info) REQUIRES(engine_lock) {
    require(info, "groupInfo");
    require_supported();
    GroupList *list = sim.core.registry().find<GroupList>(const_cast<aclrtGroupInfo *>(info));
    if (list == nullptr) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%p is not from aclrtCreateGroupInfo, or was destroyed",
                          static_cast<const void *>(info));
    }
    return *list;
}

}  // namespace

aclError aclrtGetGroupCount(uint32_t *count) {
    return entry(Function::aclrtGetGroupCount, [&](Simulator &, Lock &) {
        require(count, "count");
        require_supported();
        *count = config().groups;
    });
}

aclrtGroupInfo *aclrtCreateGroupInfo() {
    aclrtGroupInfo *info = nullptr;
    entry(Function::aclrtCreateGroupInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_supported();
        const auto list = make_ref<GroupList>();
        sim.core.registry().add(list);
        info = static_cast<aclrtGroupInfo *>(list->handle());
    });
    return info;
}

aclError aclrtDestroyGroupInfo(aclrtGroupInfo *groupInfo) {
    return entry(Function::aclrtDestroyGroupInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.core.registry().remove(require_list(sim, groupInfo));
    });
}

aclError aclrtGetAllGroupInfo(aclrtGroupInfo *groupInfo) {
    return entry(Function::aclrtGetAllGroupInfo,
                 [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { require_list(sim, groupInfo).is_filled = true; });
}

aclError aclrtGetGroupInfoDetail(const aclrtGroupInfo *groupInfo, int32_t groupIndex, aclrtGroupAttr attr,
                                 void *attrValue, size_t valueLen, size_t *paramRetSize) {
    return entry(Function::aclrtGetGroupInfoDetail, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(groupInfo, "groupInfo");
        require(attrValue, "attrValue");
        require(paramRetSize, "paramRetSize");
        const GroupList &list = require_list(sim, groupInfo);
        if (groupIndex < 0 || groupIndex >= static_cast<int32_t>(config().groups)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no group %d; there are %u", groupIndex,
                              config().groups);
        }
        const std::int32_t value = attribute_of(groupIndex, attr);
        if (valueLen < sizeof value) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu bytes are too few for an attribute", valueLen);
        }
        *static_cast<std::int32_t *>(attrValue) = list.is_filled ? value : 0;
        *paramRetSize = sizeof value;
    });
}

aclError aclrtSetGroup(int32_t groupId) {
    return entry(Function::aclrtSetGroup, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_supported();
        Device &device = require_current_device(sim);
        if (groupId < 0 || groupId >= static_cast<int32_t>(config().groups)) {
            fail(ACL_ERROR_RT_GROUP_NOT_CREATE, "there is no group %d; there are %u", groupId, config().groups);
        }
        device.has_group = true;
    });
}
