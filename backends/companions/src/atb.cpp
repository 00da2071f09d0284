// SPDX-License-Identifier: Apache-2.0
// The library of transformer operators (ATB), as far as torch_npu's library of operators is linked with it. Its
// presence lets torch_npu declare the operators of `torch_npu._npu_*` and `torch_npu.atb`; their kernels are replaced
// by ascend_rt.torch. A kernel that is not replaced raises an exception, which torch passes on. The types are those of
// ATB's public headers, which nothing here looks into.
#include <cstdint>
#include <stdexcept>
#include <string>

namespace {

[[noreturn]] void refuse(const char *function) {
    throw std::runtime_error(std::string("atb::") + function + ": the simulator has no transformer operators of ATB");
}

}  // namespace

#pragma GCC visibility push(default)
namespace atb {

class Context;
class Operation;
struct Tensor;

namespace infer {
struct ElewiseParam;
struct GroupTopkParam;
struct LinearParam;
struct PagedAttentionParam;
struct ReshapeAndCacheParam;
struct RmsNormParam;
struct RopeParam;
struct SelfAttentionParam;
}  // namespace infer

std::int32_t CreateContext(Context ** /*context*/) { refuse("CreateContext"); }

std::int32_t DestroyContext(Context * /*context*/) { refuse("DestroyContext"); }

std::int32_t DestroyOperation(Operation * /*operation*/) { refuse("DestroyOperation"); }

template <class Param>
std::int32_t CreateOperation(const Param & /*param*/, Operation ** /*operation*/) {
    refuse("CreateOperation");
}

template std::int32_t CreateOperation(const infer::ElewiseParam &, Operation **);
template std::int32_t CreateOperation(const infer::GroupTopkParam &, Operation **);
template std::int32_t CreateOperation(const infer::LinearParam &, Operation **);
template std::int32_t CreateOperation(const infer::PagedAttentionParam &, Operation **);
template std::int32_t CreateOperation(const infer::ReshapeAndCacheParam &, Operation **);
template std::int32_t CreateOperation(const infer::RmsNormParam &, Operation **);
template std::int32_t CreateOperation(const infer::RopeParam &, Operation **);
template std::int32_t CreateOperation(const infer::SelfAttentionParam &, Operation **);

class Utils {
  public:
    static std::uint64_t GetTensorSize(const Tensor &tensor);
};

std::uint64_t Utils::GetTensorSize(const Tensor & /*tensor*/) { refuse("Utils::GetTensorSize"); }

}  // namespace atb
#pragma GCC visibility pop
