// SPDX-License-Identifier: Apache-2.0
// Attributes of shared queues (API reference 25-03).
#include "api/queue.h"

using namespace aclsim;

namespace {

constexpr std::uint32_t kDefaultDepth = 8;
constexpr std::uint32_t kPush = 1;

// The runtime follows any pointer.
tagMemQueueAttr &require_attributes(Simulator &sim, const acltdtQueueAttr *attr) REQUIRES(engine_lock) {
    require(attr, "attr");
    const auto found = sim.queues.attributes.find(attr);
    if (found == sim.queues.attributes.end()) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%p is not from acltdtCreateQueueAttr, or was destroyed",
                          static_cast<const void *>(attr));
    }
    return *found->second;
}

[[noreturn]] void fail_of_type(int type) {
    fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no attribute %d of a queue", type);
}

void set_name(tagMemQueueAttr &attributes, std::size_t size, const void *value) {
    const char *name = nullptr;
    if (size != sizeof name) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "the value is the address of a name, which has %zu bytes, not %zu",
                          sizeof name, size);
    }
    std::memcpy(&name, value, size);
    require(name, "the name");
    const std::size_t length = strnlen(name, sizeof attributes.name);
    if (length == sizeof attributes.name) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "the name is longer than %zu bytes", sizeof attributes.name - 1);
    }
    std::memcpy(attributes.name, name, length + 1);
}

}  // namespace

acltdtQueueAttr *acltdtCreateQueueAttr() {
    acltdtQueueAttr *made = nullptr;
    ungated_entry(Function::acltdtCreateQueueAttr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        auto attributes = std::make_unique<tagMemQueueAttr>();
        attributes->depth = kDefaultDepth;
        attributes->workMode = kPush;
        acltdtQueueAttr *const address = attributes.get();
        sim.queues.attributes.emplace(address, std::move(attributes));
        made = address;
    });
    return made;
}

aclError acltdtDestroyQueueAttr(const acltdtQueueAttr *attr) {
    return ungated_entry(Function::acltdtDestroyQueueAttr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.queues.attributes.erase(&require_attributes(sim, attr));
    });
}

aclError acltdtSetQueueAttr(acltdtQueueAttr *attr, acltdtQueueAttrType type, size_t len, const void *param) {
    return ungated_entry(Function::acltdtSetQueueAttr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        tagMemQueueAttr &attributes = require_attributes(sim, attr);
        require(param, "param");
        switch (static_cast<int>(type)) {
            case ACL_TDT_QUEUE_NAME_PTR:
                return set_name(attributes, len, param);
            case ACL_TDT_QUEUE_DEPTH_UINT32:
                return copy_parameter(&attributes.depth, sizeof attributes.depth, param, len);
            default:
                fail_of_type(type);
        }
    });
}

aclError acltdtGetQueueAttr(const acltdtQueueAttr *attr, acltdtQueueAttrType type, size_t len, size_t *paramRetSize,
                            void *param) {
    return ungated_entry(Function::acltdtGetQueueAttr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const tagMemQueueAttr &attributes = require_attributes(sim, attr);
        require(param, "param");
        require(paramRetSize, "paramRetSize");
        const char *const name = attributes.name;
        switch (static_cast<int>(type)) {
            case ACL_TDT_QUEUE_NAME_PTR:
                copy_parameter(param, len, &name, sizeof name);
                *paramRetSize = sizeof name;
                return;
            case ACL_TDT_QUEUE_DEPTH_UINT32:
                copy_parameter(param, len, &attributes.depth, sizeof attributes.depth);
                *paramRetSize = sizeof attributes.depth;
                return;
            default:
                fail_of_type(type);
        }
    });
}

namespace {

constexpr std::uint32_t kMinDepth = 2, kMaxDepth = 8192;
constexpr std::uint32_t kHighestMode = 2;  // push and pull, which differ in the events that a device sends

QueueAttributes checked(const tagMemQueueAttr &attributes) {
    if (attributes.depth < kMinDepth || attributes.depth > kMaxDepth) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the depth is %u, and must be from %u to %u", attributes.depth, kMinDepth,
             kMaxDepth);
    }
    if (attributes.workMode > kHighestMode) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no work mode %u", attributes.workMode);
    }
    return {std::string(attributes.name, strnlen(attributes.name, sizeof attributes.name - 1)), attributes.depth,
            attributes.overWriteFlag};
}

}  // namespace

aclError acltdtCreateQueue(const acltdtQueueAttr *attr, uint32_t *qid) {
    return entry(Function::acltdtCreateQueue, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(qid, "qid");
        const Device &device = require_current_device(sim);
        *qid = sim.queues.create(attr == nullptr ? QueueAttributes() : checked(require_attributes(sim, attr)), device);
    });
}
