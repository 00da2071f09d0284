// SPDX-License-Identifier: Apache-2.0
// Argument lists of kernels (graphs_kernels.md section A4): parameters one after the other, followed by the data that
// placeholders among them point to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "abi/acl.h"
#include "engine/registry.h"
#include "tasks/binary.h"

namespace aclsim {

// Pointer in an argument block, and the data it is to point to.
using PlaceHolder = aclrtPlaceHolderInfo;

// Guarded by the engine lock.
class ArgumentList final : public Object {
  public:
    static constexpr Kind kKind = Kind::ArgumentList;
    static constexpr bool kIsShared = true;
    static constexpr std::size_t kMostParameters = 128;
    static constexpr std::size_t kMostBytes = 65536;
    // Bytes that the runtime reserves in memory of the user for its internal parameters.
    static constexpr std::size_t kHiddenBytes = 64;

    // Empties the list for a call of the function. The list is in its own memory, or in memory of the user.
    void begin(const KernelFunction &function) REQUIRES(engine_lock);
    void begin_in(const KernelFunction &function, void *memory, std::size_t size) REQUIRES(engine_lock);

    // Functions that fail with ACL_ERROR_RT_PARAM_INVALID, or with ACL_ERROR_RT_FEATURE_NOT_SUPPORT in the wrong phase.
    aclrtParamHandle append(const void *value, std::size_t size) REQUIRES(engine_lock);
    aclrtParamHandle append_place_holder() REQUIRES(engine_lock);
    // Returns the address at which to write the data of the placeholder.
    void *place_holder_buffer(aclrtParamHandle parameter, std::size_t size) REQUIRES(engine_lock);
    void update(aclrtParamHandle parameter, const void *value, std::size_t size) REQUIRES(engine_lock);
    void finalize() REQUIRES(engine_lock);

    // Fails unless the list is finalized, as a launch requires.
    void require_final() const REQUIRES(engine_lock);
    const unsigned char *bytes() const REQUIRES(engine_lock) { return bytes_; }
    std::size_t size() const REQUIRES(engine_lock) { return used_; }
    std::vector<PlaceHolder> place_holders() const REQUIRES(engine_lock);

    // Handle; the function may have been destroyed since.
    const void *function() const REQUIRES(engine_lock) { return function_; }

  private:
    enum class Phase : std::uint8_t { Open, Data, Final, Updating };
    struct Parameter {
        std::size_t offset;
        std::size_t size;
        bool is_place_holder;
        std::size_t data = 0;  // offset of a placeholder's data; 0: not a placeholder
    };
    void reset(const KernelFunction &function) REQUIRES(engine_lock);
    void require_open() const REQUIRES(engine_lock);
    Parameter &add(std::size_t size, bool is_place_holder) REQUIRES(engine_lock);
    Parameter &find(aclrtParamHandle parameter) REQUIRES(engine_lock);
    aclrtParamHandle handle_of(std::size_t index) const REQUIRES(engine_lock);
    // Returns the offset of a piece of that size.
    std::size_t take(std::size_t size, std::size_t alignment) REQUIRES(engine_lock);

    const void *function_ GUARDED_BY(engine_lock) = nullptr;
    std::unique_ptr<unsigned char[]> own_ GUARDED_BY(engine_lock);  // allocated on first use
    unsigned char *bytes_ GUARDED_BY(engine_lock) = nullptr;
    std::size_t room_ GUARDED_BY(engine_lock) = 0;
    bool lacks_room_ GUARDED_BY(engine_lock) = false;  // for the runtime's own parameters, in memory of the user
    std::size_t used_ GUARDED_BY(engine_lock) = 0;
    std::size_t alignment_ GUARDED_BY(engine_lock) = 1;
    std::size_t most_parameters_ GUARDED_BY(engine_lock) = 0;
    Phase phase_ GUARDED_BY(engine_lock) = Phase::Open;
    // Unique among all lists, and among successive contents of this one.
    std::uint64_t number_ GUARDED_BY(engine_lock) = 0;
    std::vector<Parameter> parameters_ GUARDED_BY(engine_lock);
};

// Number of parameters that the metadata declares, or the most that a list takes if the metadata does not specify it
// (section A4 [obs]).
std::size_t declared_parameters(const KernelFunction &function);

}  // namespace aclsim
