/* SPDX-License-Identifier: Apache-2.0 */
#include "checks.h"

#include <c10/core/ScalarType.h>

#include <map>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "abi/aclsim.h"
#include "adapter.h"
#include "operator.h"

namespace ascend_rt {
namespace {

// Names by sizes and type, one map for each thread: they outlive it, because reports use them.
using Names = std::map<std::vector<std::int64_t>, std::string>;
thread_local Names *names = nullptr;

std::string type_and_sizes(const at::Tensor &tensor) {
    std::string text(c10::getDtypeNames(tensor.scalar_type()).first);
    const char *separator = "[";
    for (const std::int64_t size : tensor.sizes()) {
        text += separator + std::to_string(size);
        separator = ", ";
    }
    return text + (tensor.dim() == 0 ? "[]" : "]");
}

}  // namespace

bool is_checked() { return aclsimWantsHostAccesses() != 0; }

const char *name_of(const at::Tensor &tensor) {
    if (names == nullptr) {
        names = new Names();  // NOLINT: kept forever
    }
    std::vector<std::int64_t> key(tensor.sizes().begin(), tensor.sizes().end());
    key.push_back(static_cast<std::int64_t>(tensor.scalar_type()));
    const auto [found, is_new] = names->try_emplace(std::move(key));
    if (is_new) {
        found->second = type_and_sizes(tensor);
    }
    return found->second.c_str();
}

void name_memory(const at::Tensor &tensor) {
    if (is_checked() && tensor.has_storage() && tensor.nbytes() > 0) {
        require(aclsimNamePart(tensor.const_data_ptr(), name_of(tensor)), "aclsimNamePart", "aten::copy_");
    }
}

// These three cannot fail, and must not: memory is freed in destructors.
void note_given_out(const void *address, std::size_t size) { aclsimNoteGivenOut(address, size); }

void note_reusable(const void *address, std::size_t size) { aclsimNoteReusable(address, size); }

std::uint64_t last_task() {
    std::uint32_t task = 0;
    std::uint32_t stream = 0;
    aclsimGetLastTask(&task, &stream);
    return (static_cast<std::uint64_t>(stream) << 32) | task;
}

void watch_allocators() {
    // Their events have these flags, and no others do: the program has learned nothing if they are complete.
    require(aclsimAskQuietlyAbout(ACL_EVENT_CAPTURE_STREAM_PROGRESS), "aclsimAskQuietlyAbout", "an allocation");
    watch_device_allocator();
    watch_host_allocator();
}

}  // namespace ascend_rt

// Called from Python when a device is first used.
extern "C" __attribute__((visibility("default"))) void ascend_rt_torch_watch() {
    if (ascend_rt::is_checked()) {
        ascend_rt::watch_allocators();
    }
}
