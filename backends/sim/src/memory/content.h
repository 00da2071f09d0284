// SPDX-License-Identifier: Apache-2.0
// Bytes of shared buffers. Several buffers may refer to the same bytes, also in several processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace aclsim {

// One reference to bytes. Not guarded by the engine lock: one thread at a time uses an object.
class Content {
  public:
    // Makes bytes that are zero, in memory of the process, or, with ASCEND_RT_SIM_QUEUES=device, in memory that
    // processes share. Fails with ACL_ERROR_RT_MEMORY_ALLOCATION.
    static std::unique_ptr<Content> create(std::uint64_t size);
    explicit Content(std::uint64_t size) : size_(size) {}
    virtual ~Content() = default;
    Content(const Content &) = delete;
    Content &operator=(const Content &) = delete;

    std::uint64_t size() const { return size_; }
    virtual std::unique_ptr<Content> another() const = 0;  // reference to the same bytes
    // Returns the address of the bytes, which stays until the reference ends. Fails with
    // ACL_ERROR_RT_DRV_INTERNAL_ERROR if another process has truncated or removed them.
    virtual void *address() = 0;
    // Copy between the first bytes and memory of the program. Fail in the same way.
    virtual void write(const void *from, std::uint64_t size) = 0;
    virtual void read(void *to, std::uint64_t size) = 0;

  private:
    const std::uint64_t size_;
};

// Content in a file that every reference gives a name, by a link. The kernel counts the references: a killed process
// cannot lose bytes that another one refers to. The names are parts of a piece of the process, or of the queue in which
// the reference is.
class SharedContent final : public Content {
  public:
    static std::unique_ptr<SharedContent> create(std::uint64_t size);
    // Takes the reference with that name, which then is a part of this process. Returns nullptr if there are no bytes
    // of that size.
    static std::unique_ptr<Content> take(const std::string &name, std::uint64_t size);
    // Copies all bytes of the reference with that name; returns false if there are none of that size.
    static bool read(const std::string &name, void *to, std::uint64_t size);
    static void remove(const std::string &name);
    SharedContent(std::string name, std::uint64_t size) : Content(size), name_(std::move(name)) {}
    ~SharedContent() override;

    std::unique_ptr<Content> another() const override;
    void *address() override;
    void write(const void *from, std::uint64_t size) override;
    void read(void *to, std::uint64_t size) override;
    // Gives the reference another name.
    void rename(const std::string &name);
    void reclaim() { rename(new_name()); }
    void leave() { name_.clear(); }  // leaves the reference to others

  private:
    class File;
    static std::string new_name();
    [[noreturn]] void fail_to_find() const;

    std::string name_;
    void *address_ = nullptr;
};

}  // namespace aclsim
