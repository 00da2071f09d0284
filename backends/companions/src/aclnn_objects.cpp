// SPDX-License-Identifier: Apache-2.0
// Tensors, scalars, arrays and lists that programs make before they call an operator. A NULL argument is
// ACLNN_ERR_PARAM_NULLPTR, another wrong one ACLNN_ERR_PARAM_INVALID; destroying NULL succeeds (CANN, aolapi, common
// return codes and aclDestroyTensor). The vendor's library dereferences any other pointer.
#include "aclnn_objects.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

using companions::checked;
using companions::kInvalid;
using companions::live;
using companions::refuse;

namespace {

template <class Element>
std::vector<Element> copied(const Element *values, std::uint64_t count, const char *name) {
    if (count > 0) {
        companions::require_argument(values, name);
    }
    if (count > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(Element)) {
        throw std::bad_alloc();
    }
    return std::vector<Element>(values, values + count);
}

template <class Object, class Make>
Object *created(const char *function, Make make) {
    Object *handle = nullptr;
    checked(function, [&] { handle = live<Object>().add(std::make_unique<Object>(make())); });
    return handle;
}

template <class Object>
aclnnStatus destroyed(const char *function, const Object *object) {
    return checked(function, [&] {
        if (object != nullptr) {
            live<Object>().remove(object);
        }
    });
}

template <class Object, class Body>
aclnnStatus with(const char *function, const Object *object, const char *argument, Body body) {
    return checked(function, [&] {
        companions::require_argument(object, argument);
        live<Object>().use(object, body);
    });
}

// Destroys the list with its elements, of which each is destroyed, even if others are not there any more.
template <class List, class Element>
aclnnStatus destroyed_with_elements(const char *function, const List *list, const Element *) {
    return checked(function, [&] {
        if (list == nullptr) {
            return;
        }
        const std::unique_ptr<List> removed = live<List>().remove(list);
        std::unique_ptr<companions::Refusal> refusal;
        for (const Element *element : removed->elements) {
            try {
                if (element != nullptr) {
                    live<Element>().remove(element);
                }
            } catch (const companions::Refusal &caught) {
                refusal = std::make_unique<companions::Refusal>(caught);
            }
        }
        if (refusal != nullptr) {
            throw *refusal;
        }
    });
}

template <class Object>
aclnnStatus size_of(const char *function, const Object *object, const char *argument, std::uint64_t *size) {
    return checked(function, [&] {
        companions::require_argument(object, argument);
        companions::require_argument(size, "size");
        live<Object>().use(object, [&](const Object &found) { *size = found.elements.size(); });
    });
}

// Gives out a copy, which the caller deletes, as in the vendor's library: delete[].
aclnnStatus copy_of(const char *function, const aclTensor *tensor, std::vector<std::int64_t> aclTensor::*member,
                    std::int64_t **values, std::uint64_t *count) {
    return with(function, tensor, "tensor", [&](const aclTensor &found) {
        companions::require_argument(values, "the address of the values");
        companions::require_argument(count, "the address of their number");
        const std::vector<std::int64_t> &source = found.*member;
        *values = new std::int64_t[source.size()];
        std::copy(source.begin(), source.end(), *values);
        *count = source.size();
    });
}

// Strides of rows that follow each other; wraps around like the vendor's if there are too many elements.
std::vector<std::int64_t> contiguous(const std::vector<std::int64_t> &dims) {
    std::vector<std::int64_t> strides(dims.size(), 1);
    for (std::size_t i = dims.size(); i-- > 1;) {
        strides[i - 1] =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(strides[i]) * static_cast<std::uint64_t>(dims[i]));
    }
    return strides;
}

}  // namespace

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                           void *tensorData) {
    return created<aclTensor>("aclCreateTensor", [&] {
        std::vector<std::int64_t> dims = copied(viewDims, viewDimsNum, "viewDims");
        std::vector<std::int64_t> strides =
            stride == nullptr ? contiguous(dims) : std::vector<std::int64_t>(stride, stride + viewDimsNum);
        return aclTensor{dims,   strides,   copied(storageDims, storageDimsNum, "storageDims"), dataType, offset,
                         format, tensorData};
    });
}

// Arguments that are NULL leave the tensor as it is, except for the strides.
aclnnStatus aclInitTensor(aclTensor *tensor, const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                          const int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims,
                          uint64_t storageDimsNum, void *tensorDataAddr) {
    return with("aclInitTensor", tensor, "tensor", [&](aclTensor &found) {
        aclTensor changed = found;
        if (viewDims != nullptr && viewDimsNum > 0) {
            changed.dims = copied(viewDims, viewDimsNum, "viewDims");
        }
        changed.strides = stride == nullptr ? contiguous(changed.dims) : copied(stride, viewDimsNum, "stride");
        if (storageDims != nullptr && storageDimsNum > 0) {
            changed.storage_dims = copied(storageDims, storageDimsNum, "storageDims");
        }
        changed.type = dataType;
        changed.offset = offset;
        changed.format = format;
        if (tensorDataAddr != nullptr) {
            changed.data = tensorDataAddr;
        }
        found = std::move(changed);
    });
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor) { return destroyed("aclDestroyTensor", tensor); }

aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum) {
    return copy_of("aclGetViewShape", tensor, &aclTensor::dims, viewDims, viewDimsNum);
}

aclnnStatus aclGetStorageShape(const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum) {
    return copy_of("aclGetStorageShape", tensor, &aclTensor::storage_dims, storageDims, storageDimsNum);
}

aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum) {
    return copy_of("aclGetViewStrides", tensor, &aclTensor::strides, stridesValue, stridesNum);
}

aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset) {
    return with("aclGetViewOffset", tensor, "tensor", [&](const aclTensor &found) {
        companions::require_argument(offset, "offset");
        *offset = found.offset;
    });
}

aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format) {
    return with("aclGetFormat", tensor, "tensor", [&](const aclTensor &found) {
        companions::require_argument(format, "format");
        *format = found.format;
    });
}

aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType) {
    return with("aclGetDataType", tensor, "tensor", [&](const aclTensor &found) {
        companions::require_argument(dataType, "dataType");
        *dataType = found.type;
    });
}

aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr) {
    return with("aclSetRawTensorAddr", tensor, "tensor", [&](aclTensor &found) { found.data = addr; });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr) {
    return with("aclGetRawTensorAddr", tensor, "tensor", [&](const aclTensor &found) {
        companions::require_argument(addr, "addr");
        *addr = found.data;
    });
}

aclScalar *aclCreateScalar(void *value, aclDataType dataType) {
    return created<aclScalar>("aclCreateScalar", [&] {
        companions::require_argument(value, "value");
        const std::size_t size = aclDataTypeSize(dataType);
        if (size == 0) {
            refuse(kInvalid, "there are no scalars of the data type " + std::to_string(static_cast<int>(dataType)));
        }
        return aclScalar{dataType, copied(static_cast<const char *>(value), size, "value")};
    });
}

aclnnStatus aclDestroyScalar(const aclScalar *scalar) { return destroyed("aclDestroyScalar", scalar); }

aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size) {
    return created<aclIntArray>("aclCreateIntArray", [&] { return aclIntArray{copied(value, size, "value")}; });
}

aclnnStatus aclDestroyIntArray(const aclIntArray *array) { return destroyed("aclDestroyIntArray", array); }

aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size) {
    return size_of("aclGetIntArraySize", array, "array", size);
}

aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size) {
    return created<aclFloatArray>("aclCreateFloatArray", [&] { return aclFloatArray{copied(value, size, "value")}; });
}

aclnnStatus aclDestroyFloatArray(const aclFloatArray *array) { return destroyed("aclDestroyFloatArray", array); }

aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size) {
    return size_of("aclGetFloatArraySize", array, "array", size);
}

aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size) {
    return created<aclBoolArray>("aclCreateBoolArray", [&] { return aclBoolArray{copied(value, size, "value")}; });
}

aclnnStatus aclDestroyBoolArray(const aclBoolArray *array) { return destroyed("aclDestroyBoolArray", array); }

aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size) {
    return size_of("aclGetBoolArraySize", array, "array", size);
}

aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size) {
    return created<aclTensorList>("aclCreateTensorList", [&] { return aclTensorList{copied(value, size, "value")}; });
}

aclnnStatus aclDestroyTensorList(const aclTensorList *array) {
    return destroyed_with_elements("aclDestroyTensorList", array, static_cast<const aclTensor *>(nullptr));
}

aclnnStatus aclGetTensorListSize(const aclTensorList *tensorList, uint64_t *size) {
    return size_of("aclGetTensorListSize", tensorList, "tensorList", size);
}

aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size) {
    return created<aclScalarList>("aclCreateScalarList", [&] { return aclScalarList{copied(value, size, "value")}; });
}

aclnnStatus aclDestroyScalarList(const aclScalarList *array) {
    return destroyed_with_elements("aclDestroyScalarList", array, static_cast<const aclScalar *>(nullptr));
}

aclnnStatus aclGetScalarListSize(const aclScalarList *scalarList, uint64_t *size) {
    return size_of("aclGetScalarListSize", scalarList, "scalarList", size);
}

// There is nothing to load: programs get as far as their first operator.
aclnnStatus aclnnInit(const char *) { return ACL_SUCCESS; }

aclnnStatus aclnnFinalize(void) { return ACL_SUCCESS; }
