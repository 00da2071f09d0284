// SPDX-License-Identifier: Apache-2.0
// Memory that two ranks of one host share, in which one leaves messages of medium size for the other: two copies at the
// speed of memory, where reading from another process takes the kernel longer, and no answer to wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "hccl/socket.h"

namespace hccl {

// Pages of a file without a name, mapped as long as the object lives.
class SharedPages {
  public:
    // Returns nullptr if the host has no memory.
    static std::unique_ptr<SharedPages> create();
    // Maps what another process has created, under the number of its descriptor there, and keeps no descriptor. Returns
    // nullptr if that cannot be done, or if the number is that of other pages: the process may be in another namespace.
    static std::unique_ptr<SharedPages> open(std::int64_t process, std::uint64_t descriptor, std::uint64_t mark);
    ~SharedPages();
    SharedPages(const SharedPages &) = delete;
    SharedPages &operator=(const SharedPages &) = delete;

    char *data() const;
    std::uint64_t mark() const;  // random
    int descriptor() const { return file_.descriptor(); }
    void close_file() { file_.close(); }  // the pages stay

  private:
    SharedPages(Socket file, void *pages) : file_(std::move(file)), pages_(pages) {}
    static std::unique_ptr<SharedPages> map(Socket file);

    Socket file_;
    void *const pages_;
};

// Place of a message.
struct Deposit {
    std::uint64_t offset;
    std::uint64_t slot;  // by which the receiver gives the place back
};

// The sender's side.
class Outbox {
  public:
    explicit Outbox(std::unique_ptr<SharedPages> pages) : pages_(std::move(pages)) {}
    int descriptor() const { return pages_->descriptor(); }
    std::uint64_t mark() const { return pages_->mark(); }
    // Call when the receiver has mapped the pages: a process has few descriptors, and may write to many ranks.
    void close_file() { pages_->close_file(); }
    // Returns std::nullopt if the pages are too full for it.
    std::optional<Deposit> put(const void *data, std::size_t size);

  private:
    struct Used {
        std::size_t begin, end;
        std::uint64_t slot;
    };
    std::optional<std::size_t> room_for(std::size_t size) const;

    const std::unique_ptr<SharedPages> pages_;
    std::deque<Used> used_;  // in the order in which they were put
    std::uint64_t slots_ = 0;
};

// The receiver's side.
class Inbox {
  public:
    explicit Inbox(std::unique_ptr<SharedPages> pages) : pages_(std::move(pages)) {}
    // Returns false if such a message cannot exist.
    static bool may_hold(const Deposit &deposit, std::size_t size);
    const char *message(const Deposit &deposit) const;
    // Gives the place of the message back.
    void give_back(const Deposit &deposit) const;

  private:
    const std::unique_ptr<SharedPages> pages_;
};

}  // namespace hccl
