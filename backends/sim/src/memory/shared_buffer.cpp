// SPDX-License-Identifier: Apache-2.0
#include "memory/shared_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/registry.h"

namespace aclsim {
namespace {

BufferPart another_part(const BufferPart &part) {
    return {part.content ? part.content->another() : nullptr, part.length, part.user_data};
}

}  // namespace

Message Message::another() const {
    Message message;
    message.small = small;
    message.handover = handover;
    message.parts.reserve(parts.size());
    for (const BufferPart &part : parts) {
        message.parts.push_back(another_part(part));
    }
    return message;
}

void Message::give_content(std::unique_ptr<Content> to) {
    if (!small.empty()) {
        to->write(small.data(), small.size());
        parts.front().content = std::move(to);
        small.clear();
    }
}

void Message::read(void *to, std::uint64_t size) const {
    if (!small.empty()) {
        std::memcpy(to, small.data(), std::min<std::uint64_t>(size, small.size()));
        return;
    }
    std::uint64_t done = 0;
    for (const BufferPart &part : parts) {
        const std::uint64_t count = std::min(part.length, size - done);
        part.content->read(static_cast<char *>(to) + done, count);
        done += count;
    }
}

SharedBuffer &SharedBuffer::add(Registry &registry, Message message) {
    std::vector<Ref<SharedBuffer>> made;
    made.reserve(message.parts.size());
    try {
        for (BufferPart &part : message.parts) {
            auto buffer = make_ref<SharedBuffer>(std::move(part));
            registry.add(buffer);
            buffer->is_member_ = !made.empty();
            made.push_back(std::move(buffer));
        }
        made.front()->rest_.assign(made.begin() + 1, made.end());
    } catch (...) {
        for (const Ref<SharedBuffer> &buffer : made) {
            registry.remove(*buffer);
        }
        throw;
    }
    return *made.front();
}

void SharedBuffer::remove(Registry &registry) {
    for (const Ref<SharedBuffer> &buffer : rest_) {
        registry.remove(*buffer);
    }
    registry.remove(*this);
}

Message SharedBuffer::lend() {
    Message message;
    message.parts.reserve(count());
    for (std::size_t i = 0; i < count(); ++i) {
        message.parts.push_back(std::move(at(i).part));
    }
    return message;
}

void SharedBuffer::take_back(Message message) {
    for (std::size_t i = 0; i < count(); ++i) {
        at(i).part = std::move(message.parts[i]);
    }
}

Message SharedBuffer::another() const {
    Message message;
    message.parts.reserve(count());
    message.parts.push_back(another_part(part));
    for (const Ref<SharedBuffer> &buffer : rest_) {
        message.parts.push_back(another_part(buffer->part));
    }
    return message;
}

void SharedBuffer::append(SharedBuffer &chain) {
    rest_.reserve(rest_.size() + chain.count());
    rest_.emplace_back(chain);
    rest_.insert(rest_.end(), chain.rest_.begin(), chain.rest_.end());
    chain.rest_.clear();
    chain.is_member_ = true;
}

}  // namespace aclsim
