/* SPDX-License-Identifier: Apache-2.0 */
#include "checks.h"

#include <ATen/core/DimVector.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <set>
#include <string>

#include "abi/acl.h"
#include "abi/aclsim.h"
#include "adapter.h"
#include "layouts.h"
#include "operator.h"
#include "places.h"
#include "tensors.h"

namespace ascend_rt {
namespace {

struct Name {
    at::ScalarType type;
    at::DimVector sizes;
    std::string text;
};

// Finds the name of a tensor without a key that would have to be allocated: each operator asks for several names.
struct ByTypeAndSizes {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A &a, const B &b) const {
        const at::ScalarType types[] = {type_of(a), type_of(b)};
        const c10::IntArrayRef sizes[] = {sizes_of(a), sizes_of(b)};
        return types[0] != types[1]
                   ? types[0] < types[1]
                   : std::lexicographical_compare(sizes[0].begin(), sizes[0].end(), sizes[1].begin(), sizes[1].end());
    }

  private:
    static at::ScalarType type_of(const Name &name) { return name.type; }
    static at::ScalarType type_of(const at::Tensor &tensor) { return tensor.scalar_type(); }
    static c10::IntArrayRef sizes_of(const Name &name) { return name.sizes; }
    static c10::IntArrayRef sizes_of(const at::Tensor &tensor) { return tensor.sizes(); }
};

// One set for each thread. They outlive it, because reports use the names.
using Names = std::set<Name, ByTypeAndSizes>;
thread_local Names *names = nullptr;

}  // namespace

bool is_checked() { return aclsimWantsHostAccesses() != 0; }

const char *name_of(const at::Tensor &tensor) {
    if (names == nullptr) {
        names = new Names();  // NOLINT: kept forever
    }
    auto found = names->find(tensor);
    if (found == names->end()) {
        found = names->insert({tensor.scalar_type(), at::DimVector(tensor.sizes()), type_and_sizes(tensor)}).first;
    }
    return found->text.c_str();
}

void name_memory(const at::Tensor &tensor) {
    if (!is_checked()) {
        return;
    }
    const at::Tensor whole(tensor.is_view() ? tensor._base() : tensor);
    if (is_plain(whole) && whole.has_storage() && whole.nbytes() > 0) {
        require(aclsimNamePart(whole.const_data_ptr(), name_of(whole)), "aclsimNamePart", "a tensor");
    }
}

// These three cannot fail, and must not: memory is freed in destructors.
void note_given_out(const void *address, std::size_t size) {
    const ForwardPlace place;  // a backward pass also allocates before it calls an operator
    aclsimNoteGivenOut(address, size);
}

void note_reusable(const void *address, std::size_t size) { aclsimNoteReusable(address, size); }

std::uint64_t last_task() {
    std::uint32_t task = 0;
    std::uint32_t stream = 0;
    aclsimGetLastTask(&task, &stream);
    return (static_cast<std::uint64_t>(stream) << 32) | task;
}

void watch_allocators() {
    if (watch_device_allocator()) {
        // Its events have these flags, and no others do: the program has learned nothing if they are complete.
        require(aclsimAskQuietlyAbout(ACL_EVENT_CAPTURE_STREAM_PROGRESS), "aclsimAskQuietlyAbout", "an allocation");
    }
    watch_host_allocator();
}

}  // namespace ascend_rt

// Called from Python when a device is first used.
extern "C" __attribute__((visibility("default"))) void ascend_rt_torch_watch() {
    if (ascend_rt::is_checked()) {
        ascend_rt::watch_allocators();
    }
}
