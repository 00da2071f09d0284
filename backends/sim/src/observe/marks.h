// SPDX-License-Identifier: Apache-2.0
// Marks and ranges that a program sets for its profiles: stamps, ranges with tensors, steps, and texts with numbers
// (profiling.md sections 5 to 7).
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core.h"
#include "observe/profiler.h"

namespace aclsim {

// Created by aclprofCreateStamp.
class Stamp final : public Object {
  public:
    static constexpr Kind kKind = Kind::Stamp;
    explicit Stamp(std::uint32_t number) : id(number) {}

    const std::uint32_t id;  // number of its range
    std::string message;
    std::optional<Time> began;  // time at which its range began
};

// Created by aclprofCreateStepInfo.
class StepInfo final : public Object {
  public:
    static constexpr Kind kKind = Kind::StepInfo;
    explicit StepInfo(std::uint64_t step) : number(step) {}

    const std::uint64_t number;
    bool has_start = false;
    bool has_end = false;
};

// Guarded by the engine lock.
class Marks {
  public:
    static constexpr std::size_t kMostStamps = 100;

    Marks(Core &core, Profiler &profiler) : core_(core), profiler_(profiler) {}
    // True while a profile collects marks.
    bool is_on() const REQUIRES(engine_lock) { return profiler_.takes_marks(); }

    Stamp *create_stamp() REQUIRES(engine_lock);  // nullptr: there are too many
    void destroy(Stamp &stamp) REQUIRES(engine_lock);
    StepInfo &create_step() REQUIRES(engine_lock);

    void mark(const Stamp &stamp) REQUIRES(engine_lock);
    void push(const Stamp &stamp) REQUIRES(engine_lock);
    bool pop() REQUIRES(engine_lock);  // false: the thread has pushed nothing
    void start_range(Stamp &stamp) REQUIRES(engine_lock);
    bool stop_range(std::uint32_t id) REQUIRES(engine_lock);  // returns false for an unknown range

    // Ranges with tensors, one for each thread. The newest one stays after its end (profiling.md section 7 [obs]).
    void push_tensors(const aclprofTensorInfo *info) REQUIRES(engine_lock);
    struct Tensors {
        std::optional<aclprofTensorInfo> info;
        std::vector<aclprofTensor> tensors;
        Time began{};
        bool was_pushed = false;
    };
    static Tensors &own_tensors();
    // Describes the operator of the range in words.
    std::string describe(const Tensors &range) const REQUIRES(engine_lock);
    void note_tensors(const Tensors &range) REQUIRES(engine_lock);

    std::uint64_t number_of(const std::string &text) REQUIRES(engine_lock);

  private:
    std::string text_of(std::uint64_t number) const REQUIRES(engine_lock);

    Core &core_;
    Profiler &profiler_;
    std::array<Ref<Stamp>, kMostStamps> stamps_ GUARDED_BY(engine_lock);
    std::uint64_t steps_ GUARDED_BY(engine_lock) = 0;
    std::map<std::uint64_t, std::string> texts_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
