// SPDX-License-Identifier: Apache-2.0
// Shared buffers: aclrt…Buf… (API reference 20), and acltdt…Buf… (17-03), which work on a device only.
#include "api/queue.h"

using namespace aclsim;

namespace {

// Gives the new chain to the program.
void *add_chain(Simulator &sim, Message message) REQUIRES(engine_lock) {
    return SharedBuffer::add(sim.core.registry(), std::move(message)).handle();
}

void require_space(std::uint64_t size) {
    if (size == 0 || size > SharedBuffer::kLargest) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "a buffer has from 1 byte to 4 GiB, not %llu bytes",
             static_cast<unsigned long long>(size));
    }
}

void allocate_buffer(Simulator &sim, Lock &lock, std::size_t size, void **buffer) REQUIRES(engine_lock) {
    require_space(size);
    Message message;
    message.parts.emplace_back();
    {
        const Unlocked unlocked(lock);
        message.parts.front().content = Content::create(size);
    }
    *buffer = add_chain(sim, std::move(message));
}

void release_buffer(Simulator &sim, void *buffer) REQUIRES(engine_lock) {
    require(buffer, "buf");
    SharedBuffer &head = require_chain(sim, buffer);
    std::vector<Message> contents;
    contents.push_back(head.lend());
    head.remove(sim.core.registry());
    sim.queues.discard(std::move(contents));
}

void get_data(Simulator &sim, void *buffer, void **data, std::size_t *size) REQUIRES(engine_lock) {
    require(buffer, "buf");
    require(data, "dataPtr");
    require(size, "size");
    Content &content = *require_buffer(sim, buffer).part.content;
    *data = content.address();
    *size = content.size();
}

void get_length(Simulator &sim, void *buffer, std::size_t *length) REQUIRES(engine_lock) {
    require(buffer, "buf");
    require(length, "len");
    *length = require_buffer(sim, buffer).part.length;
}

void set_length(Simulator &sim, void *buffer, std::size_t length) REQUIRES(engine_lock) {
    require(buffer, "buf");
    BufferPart &part = require_buffer(sim, buffer).part;
    if (length == 0 || length > part.content->size()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the length of the data is from 1 to %llu bytes, not %zu",
             static_cast<unsigned long long>(part.content->size()), length);
    }
    part.length = length;
}

// Finds a part of the user data. A part without room is the error of the function that would copy it.
unsigned char *user_data(Simulator &sim, void *buffer, const void *data, std::size_t size, std::size_t offset,
                         std::size_t room) REQUIRES(engine_lock) {
    if (size > BufferPart::kUserData || offset > BufferPart::kUserData - size) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu bytes at %zu are beyond the %zu bytes of user data", size,
                          offset, BufferPart::kUserData);
    }
    require(buffer, "buf");
    require(data, "dataPtr");
    SharedBuffer &found = require_buffer(sim, buffer);
    if (room == 0) {
        fail_unremembered(ACL_ERROR_FAILURE, "there is no room for user data at offset %zu", offset);
    }
    return found.part.user_data.data() + offset;
}

void get_user_data(Simulator &sim, void *buffer, void *data, std::size_t size, std::size_t offset)
    REQUIRES(engine_lock) {
    std::memcpy(data, user_data(sim, buffer, data, size, offset, size), size);
}

void set_user_data(Simulator &sim, void *buffer, const void *data, std::size_t size, std::size_t offset)
    REQUIRES(engine_lock) {
    std::memcpy(user_data(sim, buffer, data, size, offset, BufferPart::kUserData - offset), data, size);
}

void copy_reference(Simulator &sim, void *buffer, void **copy) REQUIRES(engine_lock) {
    require(buffer, "buf");
    require(copy, "newBuf");
    *copy = add_chain(sim, require_chain(sim, buffer).another());
}

void append_chain(Simulator &sim, void *head, void *buffer) REQUIRES(engine_lock) {
    require(head, "headBuf");
    require(buffer, "buf");
    SharedBuffer &chain = require_chain(sim, head);
    SharedBuffer &added = require_chain(sim, buffer);
    if (&chain == &added) {
        fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "headBuf and buf are the same buffer");
    }
    if (chain.count() + added.count() > Message::kMost) {
        fail(ACL_ERROR_RT_OVER_LIMIT, "the chain would have more than %zu buffers", Message::kMost);
    }
    chain.append(added);
}

void get_count(Simulator &sim, void *head, std::uint32_t *count) REQUIRES(engine_lock) {
    require(head, "headBuf");
    require(count, "num");
    *count = static_cast<std::uint32_t>(require_chain(sim, head).count());
}

void get_from_chain(Simulator &sim, void *head, std::uint32_t index, void **buffer) REQUIRES(engine_lock) {
    require(head, "headBuf");
    require(buffer, "buf");
    SharedBuffer &chain = require_chain(sim, head);
    if (index >= chain.count()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "index %u: the chain has %zu buffers", index, chain.count());
    }
    *buffer = chain.at(index).handle();
}

// Both families have the same functions.
template <class Action, class... Arguments>
aclError on_host(Function function, Action action, Arguments... arguments) {
    return entry(function, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { action(sim, arguments...); });
}

template <class Action, class... Arguments>
aclError on_device(Function function, Action action, Arguments... arguments) {
    return entry(function, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_queues_on_device();
        action(sim, arguments...);
    });
}

}  // namespace

namespace aclsim {

SharedBuffer &require_buffer(Simulator &sim, void *buffer) {
    SharedBuffer *const found = sim.core.registry().find<SharedBuffer>(buffer);
    if (found == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not a buffer of this process (freed, enqueued, or never one)", buffer);
    }
    return *found;
}

SharedBuffer &require_chain(Simulator &sim, void *buffer) {
    SharedBuffer &found = require_buffer(sim, buffer);
    if (!found.is_head()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p belongs to the chain of another buffer; name the head of the chain",
             buffer);
    }
    return found;
}

}  // namespace aclsim

aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size) {
    return entry(Function::aclrtAllocBuf, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(buf, "buf");
        require_size(size);
        allocate_buffer(sim, lock, size, buf);
    });
}

aclError aclrtFreeBuf(aclrtMbuf buf) { return on_host(Function::aclrtFreeBuf, release_buffer, buf); }

aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size) {
    return on_host(Function::aclrtGetBufData, get_data, buf, dataPtr, size);
}

aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t *len) {
    return on_host(Function::aclrtGetBufDataLen, get_length, buf, len);
}

aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len) {
    return on_host(Function::aclrtSetBufDataLen, set_length, buf, len);
}

aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset) {
    return on_host(Function::aclrtGetBufUserData, get_user_data, buf, dataPtr, size, offset);
}

aclError aclrtSetBufUserData(aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset) {
    return on_host(Function::aclrtSetBufUserData, set_user_data, buf, dataPtr, size, offset);
}

aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf) {
    return on_host(Function::aclrtCopyBufRef, copy_reference, buf, newBuf);
}

aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf) {
    return on_host(Function::aclrtAppendBufChain, append_chain, headBuf, buf);
}

aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num) {
    return on_host(Function::aclrtGetBufChainNum, get_count, headBuf, num);
}

aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf) {
    return on_host(Function::aclrtGetBufFromChain, get_from_chain, headBuf, index, buf);
}

aclError acltdtAllocBuf(size_t size, uint32_t type, acltdtBuf *buf) {
    return entry(Function::acltdtAllocBuf, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (type != ACL_TDT_NORMAL_MEM && type != ACL_TDT_DVPP_MEM) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no type %u of a buffer", type);
        }
        require(buf, "buf");
        require_queues_on_device();
        allocate_buffer(sim, lock, size, buf);
    });
}

aclError acltdtFreeBuf(acltdtBuf buf) { return on_device(Function::acltdtFreeBuf, release_buffer, buf); }

aclError acltdtGetBufData(const acltdtBuf buf, void **dataPtr, size_t *size) {
    return on_device(Function::acltdtGetBufData, get_data, buf, dataPtr, size);
}

aclError acltdtGetBufDataLen(acltdtBuf buf, size_t *len) {
    return on_device(Function::acltdtGetBufDataLen, get_length, buf, len);
}

aclError acltdtSetBufDataLen(acltdtBuf buf, size_t len) {
    return on_device(Function::acltdtSetBufDataLen, set_length, buf, len);
}

aclError acltdtGetBufUserData(const acltdtBuf buf, void *dataPtr, size_t size, size_t offset) {
    return on_device(Function::acltdtGetBufUserData, get_user_data, buf, dataPtr, size, offset);
}

aclError acltdtSetBufUserData(acltdtBuf buf, const void *dataPtr, size_t size, size_t offset) {
    return on_device(Function::acltdtSetBufUserData, set_user_data, buf, dataPtr, size, offset);
}

aclError acltdtCopyBufRef(const acltdtBuf buf, acltdtBuf *newBuf) {
    return on_device(Function::acltdtCopyBufRef, copy_reference, buf, newBuf);
}

aclError acltdtAppendBufChain(acltdtBuf headBuf, acltdtBuf buf) {
    return on_device(Function::acltdtAppendBufChain, append_chain, headBuf, buf);
}

aclError acltdtGetBufChainNum(acltdtBuf headBuf, uint32_t *num) {
    return on_device(Function::acltdtGetBufChainNum, get_count, headBuf, num);
}

aclError acltdtGetBufFromChain(acltdtBuf headBuf, uint32_t index, acltdtBuf *buf) {
    return on_device(Function::acltdtGetBufFromChain, get_from_chain, headBuf, index, buf);
}
