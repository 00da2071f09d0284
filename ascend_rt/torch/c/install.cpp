/* SPDX-License-Identifier: Apache-2.0 */
/* Called from Python: replaces torch_npu's kernels by these. */
#include <c10/util/Exception.h>

#include <sstream>

#include "call.h"
#include "copy.h"
#include "failure.h"
#include "special.h"

namespace ascend_rt {
namespace {

using c10::DispatchKey;
using c10::KernelFunction;
using BoxedFunction = void(const c10::OperatorHandle &, c10::DispatchKeySet, Stack *);

// PyTorch warns of kernels that take another's place, which is the purpose here.
class Silence final : public c10::WarningHandler {
  public:
    void process(const c10::Warning &) override {}
};

struct Kind {
    const char *name;
    DispatchKey key;
    KernelFunction (*make)(const c10::OperatorHandle &);
};

template <DispatchKey key>
KernelFunction same_as(const c10::OperatorHandle &handle) {
    return KernelFunction::makeFromBoxedFunctor(std::make_unique<SameAs>(handle, key));
}

template <typename Functor>
KernelFunction functor(const c10::OperatorHandle &handle) {
    return KernelFunction::makeFromBoxedFunctor(std::make_unique<Functor>(handle));
}

template <BoxedFunction *function>
KernelFunction plain(const c10::OperatorHandle &) {
    return KernelFunction::makeFromBoxedFunction<function>();
}

constexpr Kind kKinds[] = {
    {"cpu", DispatchKey::PrivateUse1, functor<RunOnCpu>},
    {"cpu_sized", DispatchKey::PrivateUse1, functor<RunSizedByCpu>},
    {"copy", DispatchKey::PrivateUse1, functor<Copy>},
    {"composed", DispatchKey::PrivateUse1, same_as<DispatchKey::CPU>},
    {"sparse", DispatchKey::SparsePrivateUse1, functor<RunOnCpu>},
    {"sparse_made", DispatchKey::SparsePrivateUse1, functor<MakeSparse>},
    {"sparse_csr", DispatchKey::SparseCsrPrivateUse1, functor<RunOnCpu>},
    {"nested", DispatchKey::NestedTensorPrivateUse1, functor<RunOnCpu>},
    {"nested_composed", DispatchKey::NestedTensorPrivateUse1, same_as<DispatchKey::NestedTensorCPU>},
    {"quantized_composed", DispatchKey::QuantizedPrivateUse1, same_as<DispatchKey::QuantizedCPU>},
    {"quantized_copy", DispatchKey::QuantizedPrivateUse1, plain<&copy_quantized>},
    {"quantized", DispatchKey::QuantizedPrivateUse1, functor<RunOnCpu>},
    {"histogram", DispatchKey::PrivateUse1, functor<Histogram>},
    {"empty", DispatchKey::PrivateUse1, functor<Empty>},
    {"autograd", DispatchKey::AutogradPrivateUse1, same_as<DispatchKey::AutogradCPU>},
    {"refused", DispatchKey::PrivateUse1, plain<&refuse>},
    {"refused_autograd", DispatchKey::AutogradPrivateUse1, plain<&refuse>},
    {"attention", DispatchKey::AutogradPrivateUse1, functor<Attention>},
    {"attention_choice", DispatchKey::PrivateUse1, plain<&choose_attention>},
    {"watched", DispatchKey::PrivateUse1, functor<Theirs>},
    {"clone", DispatchKey::PrivateUse1, plain<&clone_at_once>},
    {"dropout", DispatchKey::PrivateUse1, plain<&native_dropout>},
};

auto &registered = *new std::vector<c10::RegistrationHandleRAII>;  // forever

void install(const std::string &kind, const std::string &name) {
    for (const Kind &known : kKinds) {
        if (kind == known.name) {
            const c10::OperatorName parsed = parse_name(name);
            c10::Dispatcher &dispatcher = c10::Dispatcher::singleton();
            registered.push_back(dispatcher.registerImpl(
                parsed, known.key,
                known.make(dispatcher.findSchemaOrThrow(parsed.name.c_str(), parsed.overload_name.c_str())),
                std::nullopt, nullptr, "ascend_rt.torch"));
            return;
        }
    }
    TORCH_CHECK(false, "there is no kind of kernel ", kind);
}

}  // namespace
}  // namespace ascend_rt

// The table has a line for each operator: the kind of its kernel, and its name. Returns 0, or writes what went wrong.
extern "C" __attribute__((visibility("default"))) int ascend_rt_torch_install(const char *table, const char *kernels,
                                                                              std::size_t kernels_size, char *text,
                                                                              std::size_t text_size) {
    try {
        ascend_rt::Silence silence;
        const c10::WarningUtils::WarningHandlerGuard silenced(&silence);
        ascend_rt::set_kernels(kernels, kernels_size);
        std::istringstream lines(table);
        for (std::string kind, name; lines >> kind >> name;) {
            ascend_rt::install(kind, name);
        }
        return 0;
    } catch (const std::exception &error) {
        std::snprintf(text, text_size, "%s", error.what());
        return 1;
    }
}

// Writes what has failed in streams, or nothing.
extern "C" __attribute__((visibility("default"))) void ascend_rt_torch_failure(char *text, std::size_t text_size) {
    std::snprintf(text, text_size, "%s", ascend_rt::all_failures().c_str());
}
