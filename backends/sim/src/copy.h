// Data movement: copies and fills, as tasks and at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "task.h"

namespace aclsim {

class Engine;

// height rows of width bytes; a plain copy is one row.
struct Transfer {
    void *destination;
    std::size_t destination_pitch;
    const void *source;
    std::size_t source_pitch;
    std::size_t width;
    std::size_t height;

    static Transfer plain(void *destination, const void *source, std::size_t count) {
        return {destination, count, source, count, count, 1};
    }
    void move() const;
};

// count repetitions of a pattern of 1 or 4 bytes.
struct Pattern {
    void *destination;
    std::uint32_t value;
    std::size_t unit;
    std::size_t count;

    void write() const;
};

class CopyTask final : public Task {
  public:
    CopyTask(Executor &workers, const Transfer &transfer) : workers_(&workers), transfer_(transfer) {}
    TaskKind kind() const override { return TaskKind::Copy; }
    Start start(Stream &) override { return Start::Run; }
    void run() override { transfer_.move(); }
    Executor *executor() override { return workers_; }

  private:
    Executor *workers_;
    Transfer transfer_;
};

class FillTask final : public Task {
  public:
    FillTask(Executor &workers, const Pattern &pattern) : workers_(&workers), pattern_(pattern) {}
    TaskKind kind() const override { return TaskKind::Fill; }
    Start start(Stream &) override { return Start::Run; }
    void run() override { pattern_.write(); }
    Executor *executor() override { return workers_; }

  private:
    Executor *workers_;
    Pattern pattern_;
};

// The kind that the runtime makes of the caller's kind and the two places: memory_cmo_allocator.md section 3.
// Fails with ACL_ERROR_RT_PARAM_INVALID where the table has no answer. Engine lock held.
aclrtMemcpyKind correct_kind(Engine &engine, aclrtMemcpyKind kind, const void *destination, const void *source);

// Memory that the runtime allocated must be live over the whole range; other addresses cannot be checked.
// Fails with ACL_ERROR_RT_PARAM_INVALID. Engine lock held.
void require_live(Engine &engine, const void *address, std::size_t size, const char *name);

// An asynchronous copy as the runtime does it: with pageable memory on the host side it waits for the stream and
// copies at once (the "pageable rule"), else it is a task. Engine lock held.
void copy_in_stream(Engine &engine, std::unique_lock<std::mutex> &lock, Stream &stream, const Transfer &transfer,
                    aclrtMemcpyKind corrected);

}  // namespace aclsim
