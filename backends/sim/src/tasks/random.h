// SPDX-License-Identifier: Apache-2.0
// Random numbers (random.md): Philox 4x32 with 10 rounds. The key is the seed; the counter of the first block of four
// words is in device memory. The conversion of words to numbers is undocumented; docs/faithfulness.md describes the one
// used here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "abi/acl.h"
#include "tasks/copy.h"

namespace aclsim {

// Block of four words, or the number of a block, least significant word first.
using PhiloxBlock = std::array<std::uint32_t, 4>;
PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key);

// Size of an element; 0 for a data type without random numbers.
std::size_t random_element_size(aclDataType type);
// Size of the result; a mask has one bit per element.
std::uint64_t random_result_size(const aclrtRandomNumTaskInfo &info, std::uint64_t count);
// Value of a parameter, given directly or by its address, and the number of bytes of its type at that address.
std::uint64_t random_value(const aclrtRandomParaInfo &parameter, std::size_t size);
std::size_t random_value_size(const aclrtRandomParaInfo &parameter, std::size_t size);

class RandomTask final : public DataTask {
  public:
    static constexpr std::size_t kParametersSize = 16;
    static constexpr std::size_t kCounterSize = 16;
    RandomTask(Memory &memory, const aclrtRandomNumTaskInfo &info);
    static constexpr TaskInfo kInfo{"RANDOM", "random numbers"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &stream) override REQUIRES(engine_lock);
    // Sets the addresses, seed and count for the next execution.
    void update(const aclrtRandomNumTaskInfo &info) REQUIRES(engine_lock);

  protected:
    bool perform(const Interruption &interruption) const override;

  private:
    bool read(const Stream &stream) REQUIRES(engine_lock);
    bool read_value(const Stream &stream, const aclrtRandomParaInfo &parameter, std::size_t size, const char *name,
                    std::uint64_t &value) const REQUIRES(engine_lock);
    bool is_there(const Stream &stream, const Access &access) const REQUIRES(engine_lock);

    Memory &memory_;
    aclrtRandomNumTaskInfo info_;
    // Values read when the task starts:
    std::uint64_t parameters_[2] = {};
    std::uint64_t seed_ = 0;
    std::uint64_t count_ = 0;
    PhiloxBlock counter_{};
    void *written_ = nullptr;
};

}  // namespace aclsim
