// SPDX-License-Identifier: Apache-2.0
// Dumps of failed kernels, and of tensors that the program saves beside them (dumps.md sections 4 and 5).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "machine/dumps.h"
#include "machine/exception.h"

namespace aclsim {

class Memory;

// Contents of a dump file: a description, and pieces of memory behind it.
class DumpFile {
  public:
    // Piece of memory; `description` is the rest of its JSON object, beginning with a comma, or "".
    struct Piece {
        const void *address;
        std::uint64_t size;
        std::string kind;
        std::string description;
    };

    // The name of the file is the stem, a point, and the time in milliseconds. `description` is the beginning of the
    // JSON object of the header, without its braces.
    DumpFile(Dumps &dumps, std::string stem, std::string description, std::vector<Piece> pieces)
        : dumps_(dumps), stem_(std::move(stem)), description_(std::move(description)), pieces_(std::move(pieces)) {}
    // Writes the file, or passes its contents to the program's callback. Memory that is gone is left out. Returns what
    // went wrong, or "". Call without holding the engine lock.
    std::string write() const;

  private:
    std::string header(const std::vector<std::uint64_t> &sizes) const;

    Dumps &dumps_;
    const std::string stem_;
    const std::string description_;
    const std::vector<Piece> pieces_;
};

// Dumps kernels that fail, if it is turned on.
class ExceptionDumps final : public ExceptionDump {
  public:
    ExceptionDumps(Dumps &dumps, Memory &memory) : dumps_(dumps), memory_(memory) {}
    bool is_on() const override REQUIRES(engine_lock) { return dumps_.dumps_exceptions(); }
    std::function<void()> prepare(const rtExceptionInfo &info) override REQUIRES(engine_lock);

  private:
    std::vector<DumpFile::Piece> pieces_of(const FailedKernel &kernel) REQUIRES(engine_lock);

    Dumps &dumps_;
    Memory &memory_;
};

}  // namespace aclsim
