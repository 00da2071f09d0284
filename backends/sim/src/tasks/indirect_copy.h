// SPDX-License-Identifier: Apache-2.0
// Copies whose addresses are read from device memory when the task runs (memory_cmo_allocator.md section 3). The task
// fails if an address is then outside live memory of the stream's device, as on the device's copy engine.
#pragma once

#include "tasks/copy.h"

namespace aclsim {

class IndirectCopyTask : public CopyTask {
  public:
    Start start(Stream &stream) final REQUIRES(engine_lock);
    bool stays_in_shard(const Stream &) const final REQUIRES(engine_lock) { return false; }  // may fail to start

  protected:
    explicit IndirectCopyTask(Memory &memory);
    // Fills in the transfer. Returns false if its description cannot be read.
    virtual bool read(const Stream &stream) REQUIRES(engine_lock) = 0;
    bool is_readable(const Stream &stream, const void *address, std::size_t size, const char *name) const
        REQUIRES(engine_lock);

  private:
    bool is_found(const Stream &stream, const void *address, AccessMode mode, const char *name) const
        REQUIRES(engine_lock);

    Memory &memory_;
};

// Contents of a copy descriptor in device memory.
struct CopyDescriptor {
    static std::size_t size();
    static void write(void *descriptor, const void *source, const void *destination, std::size_t length);
};

class DescribedCopyTask final : public IndirectCopyTask {
  public:
    DescribedCopyTask(Memory &memory, const void *descriptor) : IndirectCopyTask(memory), descriptor_(descriptor) {}

  protected:
    bool read(const Stream &stream) override REQUIRES(engine_lock);

  private:
    const void *descriptor_;
};

// Word in device memory that holds a base address, and an offset from that base.
struct AddressWord {
    const void *word;
    std::size_t offset;
};

class OffsetCopyTask final : public IndirectCopyTask {
  public:
    OffsetCopyTask(Memory &memory, const AddressWord &destination, const AddressWord &source, std::size_t count)
        : IndirectCopyTask(memory), destination_(destination), source_(source), count_(count) {}

  protected:
    bool read(const Stream &stream) override REQUIRES(engine_lock);

  private:
    bool read(const Stream &stream, const AddressWord &place, std::uint64_t &address, const char *name) const
        REQUIRES(engine_lock);

    AddressWord destination_;
    AddressWord source_;
    std::size_t count_;
};

bool is_live_on_device(Memory &memory, const void *address, std::size_t size) REQUIRES(engine_lock);

}  // namespace aclsim
