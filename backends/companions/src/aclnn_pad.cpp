// SPDX-License-Identifier: Apache-2.0
// aclnnConstantPadNd, the one operator that torch_npu calls past PyTorch's dispatcher: a list all_gather of an uneven
// number of bytes pads its tensors. A task of the stream that copies.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "abi/acl.h"
#include "aclnn_objects.h"
#include "device_memory.h"
#include "support/number_format.h"

using companions::checked;
using companions::kInvalid;
using companions::live;
using companions::refuse;
using companions::require_argument;

struct aclOpExecutor {
    static constexpr const char *kName = "aclOpExecutor";
    aclTensor from;
    aclTensor to;
    std::vector<std::int64_t> before;  // padding of each dimension
    std::vector<char> value;           // of an element

    void perform() const;
};

namespace {

using Index = std::vector<std::int64_t>;

// Goes through all places of the shape, the last dimension fastest.
template <class Body>
void for_each(const Index &shape, Body body) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
        return;
    }
    Index index(shape.size(), 0);
    for (;;) {
        body(index);
        std::size_t dimension = shape.size();
        while (dimension > 0 && ++index[dimension - 1] == shape[dimension - 1]) {
            index[--dimension] = 0;
        }
        if (dimension == 0) {
            return;
        }
    }
}

char *element(const aclTensor &tensor, const Index &index, const Index &shift, std::size_t width) {
    std::int64_t offset = tensor.offset;
    for (std::size_t i = 0; i < index.size(); ++i) {
        offset += (index[i] + (shift.empty() ? 0 : shift[i])) * tensor.strides[i];
    }
    return static_cast<char *>(tensor.data) + offset * static_cast<std::int64_t>(width);
}

std::int64_t in_bytes(std::int64_t elements, std::size_t width) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(width), &bytes)) {
        refuse(kInvalid, "a stride or an offset reaches beyond the end of all memory");
    }
    return bytes;
}

// Strides of an operand in bytes.
Index byte_strides(const aclTensor &tensor, std::size_t width) {
    Index strides;
    for (const std::int64_t stride : tensor.strides) {
        strides.push_back(in_bytes(stride, width));
    }
    return strides;
}

void require_memory(const aclTensor &tensor, std::size_t width, const char *name) {
    in_bytes(tensor.offset, width);
    const bool is_empty = std::find(tensor.dims.begin(), tensor.dims.end(), 0) != tensor.dims.end();
    if (!is_empty && !companions::is_of_device(element(tensor, {}, {}, width))) {
        refuse(kInvalid, std::string(name) + " is not memory of a device");
    }
}

template <class T>
T loaded(const aclScalar &scalar) {
    T value{};
    std::memcpy(&value, scalar.value.data(), std::min(sizeof value, scalar.value.size()));
    return value;
}

// Number of a scalar, of the types that programs make them of.
double number_of(const aclScalar &scalar) {
    switch (scalar.type) {
        case ACL_DOUBLE:
            return loaded<double>(scalar);
        case ACL_FLOAT:
            return static_cast<double>(loaded<float>(scalar));
        case ACL_INT64:
            return static_cast<double>(loaded<std::int64_t>(scalar));
        case ACL_INT32:
            return loaded<std::int32_t>(scalar);
        case ACL_BOOL:
            return loaded<std::int8_t>(scalar);
        default:
            if (std::all_of(scalar.value.begin(), scalar.value.end(), [](char byte) { return byte == 0; })) {
                return 0;
            }
            refuse(kInvalid, "value has the data type " + std::to_string(static_cast<int>(scalar.type)));
    }
}

template <class T>
std::vector<char> stored(T value) {
    const auto *const bytes = reinterpret_cast<const char *>(&value);
    return {bytes, bytes + sizeof value};
}

template <class T>
std::vector<char> stored_integer(double number) {
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);  // the first number that is too large
    if (!(number < end && number >= static_cast<double>(std::numeric_limits<T>::min()))) {
        refuse(kInvalid, "value, " + std::to_string(number) + ", does not fit the tensors' type");
    }
    return stored(static_cast<T>(number));
}

// The number as an element of the type.
std::vector<char> element_of(double number, aclDataType type) {
    switch (type) {
        case ACL_FLOAT:
            return stored(static_cast<float>(number));
        case ACL_DOUBLE:
            return stored(number);
        case ACL_FLOAT16:
            return stored(aclsim::Half::store(static_cast<float>(number)));
        case ACL_BF16:
            return stored(aclsim::Bfloat16::store(static_cast<float>(number)));
        case ACL_INT8:
            return stored_integer<std::int8_t>(number);
        case ACL_UINT8:
            return stored_integer<std::uint8_t>(number);
        case ACL_BOOL:
            return stored(static_cast<std::uint8_t>(number != 0 ? 1 : 0));
        case ACL_INT16:
            return stored_integer<std::int16_t>(number);
        case ACL_INT32:
            return stored_integer<std::int32_t>(number);
        case ACL_INT64:
            return stored_integer<std::int64_t>(number);
        default:
            if (number == 0 && aclDataTypeSize(type) > 0) {  // zero has no bits of any type
                return std::vector<char>(aclDataTypeSize(type), 0);
            }
            refuse(kInvalid, "tensors of the data type " + std::to_string(static_cast<int>(type)) +
                                 " are padded with zeros only");
    }
}

aclTensor copy_of(const aclTensor *tensor, const char *name) {
    require_argument(tensor, name);
    aclTensor copy{};
    live<aclTensor>().use(tensor, [&](const aclTensor &found) { copy = found; });
    return copy;
}

}  // namespace

void aclOpExecutor::perform() const {
    const std::size_t width = value.size();
    for_each(to.dims, [&](const Index &index) { std::memcpy(element(to, index, {}, width), value.data(), width); });
    for_each(from.dims, [&](const Index &index) {
        std::memcpy(element(to, index, before, width), element(from, index, {}, width), width);
    });
}

extern "C" {

__attribute__((visibility("default"))) aclnnStatus
aclnnConstantPadNdGetWorkspaceSize(const aclTensor *self, const aclIntArray *padding, const aclScalar *value,
                                   aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor) {
    return checked("aclnnConstantPadNdGetWorkspaceSize", [&] {
        require_argument(padding, "padding");
        require_argument(value, "value");
        require_argument(workspaceSize, "workspaceSize");
        require_argument(executor, "executor");
        auto made = std::make_unique<aclOpExecutor>(aclOpExecutor{copy_of(self, "self"), copy_of(out, "out"), {}, {}});
        std::vector<std::int64_t> around;
        live<aclIntArray>().use(padding, [&](const aclIntArray &found) { around = found.elements; });
        live<aclScalar>().use(value, [&](const aclScalar &found) {
            const std::vector<char> zero = element_of(0, made->to.type);
            const bool is_same = found.type == made->to.type && found.value.size() == zero.size();
            made->value = is_same ? found.value : element_of(number_of(found), made->to.type);
        });
        const std::size_t rank = made->from.dims.size();
        if (made->to.dims.size() != rank || around.size() % 2 != 0 || around.size() > 2 * rank ||
            made->from.type != made->to.type) {
            refuse(kInvalid, "the operands do not fit together in shape or type");
        }
        // From the last dimension to the first, as pairs.
        made->before.assign(rank, 0);
        for (std::size_t i = 0; i < rank; ++i) {
            const std::size_t pair = 2 * (rank - 1 - i);
            const std::int64_t before = pair < around.size() ? around[pair] : 0;
            const std::int64_t after = pair < around.size() ? around[pair + 1] : 0;
            const std::int64_t size = made->from.dims[i], padded = made->to.dims[i];
            if (size < 0 || before < 0 || after < 0 || padded < size || before > padded - size ||
                after != padded - size - before) {
                refuse(kInvalid, "out does not have the padded shape, or the padding is negative");
            }
            made->before[i] = before;
        }
        *workspaceSize = 0;
        *executor = live<aclOpExecutor>().add(std::move(made));
    });
}

__attribute__((visibility("default"))) aclnnStatus aclnnConstantPadNd(void *, uint64_t, aclOpExecutor *executor,
                                                                      aclrtStream stream) {
    return checked("aclnnConstantPadNd", [&] {
        require_argument(executor, "executor");
        std::unique_ptr<aclOpExecutor> owned = live<aclOpExecutor>().remove(executor);
        const std::size_t width = owned->value.size();
        require_memory(owned->from, width, "self");
        require_memory(owned->to, width, "out");
        const Index from_strides = byte_strides(owned->from, width), to_strides = byte_strides(owned->to, width);
        const auto access = [&](const aclTensor &tensor, aclsimAccessMode mode, const Index &strides,
                                const char *name) {
            return aclsimAccess{element(tensor, {}, {}, width),
                                mode,
                                static_cast<std::uint32_t>(width),
                                static_cast<std::uint32_t>(tensor.dims.size()),
                                tensor.dims.data(),
                                strides.data(),
                                name};
        };
        const aclsimAccess accesses[] = {access(owned->from, ACLSIM_ACCESS_READ, from_strides, "self"),
                                         access(owned->to, ACLSIM_ACCESS_WRITE, to_strides, "out")};
        aclsimOperation operation{};
        operation.name = "ConstantPadNd";
        operation.accesses = accesses;
        operation.accessCount = 2;
        operation.userData = owned.get();
        operation.begin = [](void *data, std::uint64_t execution) {
            try {
                static_cast<const aclOpExecutor *>(data)->perform();
                aclsimEndOperation(execution, ACL_SUCCESS, nullptr);
            } catch (const std::bad_alloc &) {
                aclsimEndOperation(execution, ACL_ERROR_RT_MEMORY_ALLOCATION, "host out of RAM");
            }
        };
        operation.release = [](void *data) { delete static_cast<aclOpExecutor *>(data); };
        companions::demand(aclsimSubmitOperation(stream, &operation));
        owned.release();  // NOLINT: belongs to the task
    });
}

}  // extern "C"
