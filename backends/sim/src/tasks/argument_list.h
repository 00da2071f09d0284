// Lists of arguments for a kernel (graphs_kernels.md section A4): parameters one after the other, then the data that
// placeholders among them will point to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "abi/acl.h"
#include "engine/registry.h"
#include "tasks/binary.h"

namespace aclsim {

// A pointer in a block of arguments, and what it is to point to there.
using PlaceHolder = aclrtPlaceHolderInfo;

// Guarded by the engine's lock.
class ArgumentList final : public Object {
  public:
    static constexpr Kind kKind = Kind::ArgumentList;
    static constexpr bool kIsShared = true;
    static constexpr std::size_t kMostParameters = 128;
    static constexpr std::size_t kMostBytes = 65536;
    // What the runtime reserves in memory of the user for parameters of its own.
    static constexpr std::size_t kHiddenBytes = 64;

    // Empties it, for a call of that function; in memory of the list's own, or of the user's.
    void begin(const KernelFunction &function) REQUIRES(engine_lock);
    void begin_in(const KernelFunction &function, void *memory, std::size_t size) REQUIRES(engine_lock);

    // All fail with ACL_ERROR_RT_PARAM_INVALID, or ACL_ERROR_RT_FEATURE_NOT_SUPPORT in the wrong phase.
    aclrtParamHandle append(const void *value, std::size_t size) REQUIRES(engine_lock);
    aclrtParamHandle append_place_holder() REQUIRES(engine_lock);
    // Where the data is to be written that the placeholder will point to.
    void *place_holder_buffer(aclrtParamHandle parameter, std::size_t size) REQUIRES(engine_lock);
    void update(aclrtParamHandle parameter, const void *value, std::size_t size) REQUIRES(engine_lock);
    void finalize() REQUIRES(engine_lock) { phase_ = Phase::Final; }

    // For a launch; fails unless the list is finalized.
    void require_final() const REQUIRES(engine_lock);
    const unsigned char *bytes() const REQUIRES(engine_lock) { return bytes_; }
    std::size_t size() const REQUIRES(engine_lock) { return used_; }
    std::vector<PlaceHolder> place_holders() const REQUIRES(engine_lock);

    const void *function() const REQUIRES(engine_lock) { return function_; }  // handle, which may be destroyed since

  private:
    enum class Phase : std::uint8_t { Open, Data, Final, Updating };
    struct Parameter {
        std::size_t offset;
        std::size_t size;
        bool is_place_holder;
        std::size_t data = 0;  // of a placeholder: where its data begins; 0: it has none
    };
    void reset(const KernelFunction &function) REQUIRES(engine_lock);
    void require_open() const REQUIRES(engine_lock);
    Parameter &add(std::size_t size, bool is_place_holder) REQUIRES(engine_lock);
    Parameter &find(aclrtParamHandle parameter) REQUIRES(engine_lock);
    aclrtParamHandle handle_of(std::size_t index) const REQUIRES(engine_lock);
    // Where a piece of that size begins.
    std::size_t take(std::size_t size, std::size_t alignment) REQUIRES(engine_lock);

    const void *function_ GUARDED_BY(engine_lock) = nullptr;
    std::unique_ptr<unsigned char[]> own_ GUARDED_BY(engine_lock);  // at the first use
    unsigned char *bytes_ GUARDED_BY(engine_lock) = nullptr;
    std::size_t room_ GUARDED_BY(engine_lock) = 0;
    std::size_t used_ GUARDED_BY(engine_lock) = 0;
    std::size_t alignment_ GUARDED_BY(engine_lock) = 1;
    std::size_t most_parameters_ GUARDED_BY(engine_lock) = 0;
    Phase phase_ GUARDED_BY(engine_lock) = Phase::Open;
    std::uint64_t number_ GUARDED_BY(engine_lock) = 0;  // no other list, and not this one before, has it
    std::vector<Parameter> parameters_ GUARDED_BY(engine_lock);
};

// How many parameters the metadata declares; where it does not tell, as many as a list takes (section A4 [obs]).
std::size_t declared_parameters(const KernelFunction &function);

}  // namespace aclsim
