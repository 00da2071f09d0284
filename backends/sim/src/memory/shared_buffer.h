// SPDX-License-Identifier: Apache-2.0
// Shared buffers: bytes with a length and user data, in chains (API reference 17-03 and 20).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/handover.h"
#include "engine/lock.h"
#include "engine/object.h"
#include "memory/content.h"
#include "support/ref.h"

namespace aclsim {

class Registry;

// One buffer of a message.
struct BufferPart {
    static constexpr std::size_t kUserData = 96;
    std::unique_ptr<Content> content;  // nullptr: the bytes are those of Message::small
    std::uint64_t length = 0;          // bytes that hold data
    std::array<unsigned char, kUserData> user_data{};
};

// Message of a queue: the buffers of a chain.
struct Message {
    static constexpr std::size_t kMost = 128;  // buffers
    static constexpr std::size_t kSmall = 896;
    std::vector<BufferPart> parts;
    std::string small;  // bytes of the only buffer, which has no content
    Handover handover;

    std::uint64_t length() const {
        std::uint64_t sum = 0;
        for (const BufferPart &part : parts) {
            sum += part.length;
        }
        return sum;
    }
    Message another() const;                         // refers to the same bytes
    void give_content(std::unique_ptr<Content> to);  // moves small bytes there, if there are any
    void read(void *to, std::uint64_t size) const;   // copies the data of all buffers, one after the other
};

// Guarded by the engine lock.
class SharedBuffer final : public Object {
  public:
    static constexpr Kind kKind = Kind::SharedBuffer;
    static constexpr std::uint64_t kLargest = 1ULL << 32;
    explicit SharedBuffer(BufferPart made) : part(std::move(made)) {}

    // Adds the chain of buffers to the registry, and returns its head. All or none are added.
    static SharedBuffer &add(Registry &registry, Message message) REQUIRES(engine_lock);
    // Removes the chain, of which this is the head, from the registry.
    void remove(Registry &registry) REQUIRES(engine_lock);
    // Moves the contents of the chain to a message and back. Without contents it may only be removed.
    Message lend() REQUIRES(engine_lock);
    void take_back(Message message) REQUIRES(engine_lock);
    Message another() const REQUIRES(engine_lock);  // refers to the same bytes
    void append(SharedBuffer &chain) REQUIRES(engine_lock);
    bool is_head() const { return !is_member_; }
    std::size_t count() const { return 1 + rest_.size(); }
    SharedBuffer &at(std::size_t index) { return index == 0 ? *this : *rest_[index - 1]; }

    BufferPart part;

  private:
    bool is_member_ = false;               // true in the chain of another buffer
    std::vector<Ref<SharedBuffer>> rest_;  // empty for a member
};

}  // namespace aclsim
