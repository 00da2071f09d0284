// SPDX-License-Identifier: Apache-2.0
// Tensor descriptors: descriptions of the tensors that a program passes to operators. Setters of a shape or a format
// without "Origin" in their names set those of the memory; queries return those of the tensor itself.
#include "tensor_desc.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "live_objects.h"
#include "refusal.h"

using companions::checked;
using companions::refuse;
using companions::require;

struct aclTensorDesc {
    using Range = std::array<std::int64_t, 2>;

    aclDataType type;
    std::vector<std::int64_t> dims;
    aclFormat format;
    std::vector<std::int64_t> storage_dims;
    aclFormat storage_format = ACL_FORMAT_UNDEFINED;
    std::vector<Range> shape_range;
    std::vector<Range> value_range;
    std::string name;
    std::string dynamic_input;
    std::vector<char> constant;
    aclMemType placement = ACL_MEMTYPE_DEVICE;
};

namespace {

constexpr std::int64_t kUnknownRank = -2;

companions::LiveObjects<aclTensorDesc> &descriptors() {
    // Never destroyed, because threads may use it until the process ends.
    static auto *const live = new companions::LiveObjects<aclTensorDesc>("tensor descriptor");
    return *live;
}

template <class Body>
aclError change(const char *function, const aclTensorDesc *desc, Body body) {
    return checked(function, [&] { body(descriptors().at(desc, "desc")); });
}

template <class Value, class Body>
Value ask(const char *function, const aclTensorDesc *desc, Value otherwise, Body body) {
    Value value = otherwise;
    change(function, desc, [&](aclTensorDesc &found) { value = body(found); });
    return value;
}

std::vector<std::int64_t> dims_of(int count, const std::int64_t *dims) {
    if (count < 0) {
        refuse(ACL_ERROR_INVALID_PARAM, "numDims is " + std::to_string(count));
    }
    if (count > 0) {
        require(dims, "dims");
    }
    return {dims, dims + count};
}

std::vector<aclTensorDesc::Range> ranges_of(std::size_t count, const aclTensorRange *ranges) {
    if (count > 0) {
        require(ranges, "the range");
    }
    std::vector<aclTensorDesc::Range> result;
    for (std::size_t i = 0; i < count; ++i) {
        result.push_back({ranges[i][0], ranges[i][1]});
    }
    return result;
}

template <class Element>
Element at(const std::vector<Element> &elements, std::size_t index) {
    if (index >= elements.size()) {
        refuse(ACL_ERROR_INVALID_PARAM,
               "index " + std::to_string(index) + " is not below " + std::to_string(elements.size()));
    }
    return elements[index];
}

// Returns 0 if a dimension is unknown or the product overflows.
std::size_t element_count(const aclTensorDesc &desc) {
    std::size_t count = 1;
    for (const std::int64_t dim : desc.dims) {
        if (dim < 0 || __builtin_mul_overflow(count, static_cast<std::size_t>(dim), &count)) {
            return 0;
        }
    }
    return count;
}

struct TypeName {
    aclDataType type;
    const char *name;
};
constexpr TypeName kTypeNames[] = {
    {ACL_FLOAT, "float"}, {ACL_FLOAT16, "float16"}, {ACL_BF16, "bfloat16"},       {ACL_DOUBLE, "double"},
    {ACL_INT8, "int8"},   {ACL_INT16, "int16"},     {ACL_INT32, "int32"},         {ACL_INT64, "int64"},
    {ACL_UINT8, "uint8"}, {ACL_UINT16, "uint16"},   {ACL_UINT32, "uint32"},       {ACL_UINT64, "uint64"},
    {ACL_BOOL, "bool"},   {ACL_STRING, "string"},   {ACL_COMPLEX64, "complex64"}, {ACL_COMPLEX128, "complex128"},
};

std::string name_of(aclDataType type) {
    for (const TypeName &entry : kTypeNames) {
        if (entry.type == type) {
            return entry.name;
        }
    }
    return "type " + std::to_string(static_cast<int>(type));
}

std::string text_of(const aclTensorDesc &desc) {
    std::string text = name_of(desc.type) + "[";
    for (std::size_t i = 0; i < desc.dims.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(desc.dims[i]);
    }
    return text + "]";
}

}  // namespace

std::string companions::describe(int count, const aclTensorDesc *const *descs) {
    if (count > 0) {
        require(descs, "the tensor descriptors");
    }
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += (i == 0 ? "" : ", ") + text_of(descriptors().at(descs[i], "a tensor descriptor"));
    }
    return text;
}

aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims, aclFormat format) {
    aclTensorDesc *created = nullptr;
    checked("aclCreateTensorDesc", [&] {
        auto desc = std::make_unique<aclTensorDesc>();
        desc->type = dataType;
        desc->dims = dims_of(numDims, dims);
        desc->format = format;
        created = descriptors().add(std::move(desc));
    });
    return created;
}

void aclDestroyTensorDesc(const aclTensorDesc *desc) {
    checked("aclDestroyTensorDesc", [&] {
        if (desc != nullptr) {
            descriptors().remove(desc);
        }
    });
}

aclDataType aclGetTensorDescType(const aclTensorDesc *desc) {
    return ask("aclGetTensorDescType", desc, ACL_DT_UNDEFINED, [](const aclTensorDesc &found) { return found.type; });
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc *desc) {
    return ask("aclGetTensorDescFormat", desc, ACL_FORMAT_UNDEFINED,
               [](const aclTensorDesc &found) { return found.format; });
}

size_t aclGetTensorDescElementCount(const aclTensorDesc *desc) {
    return ask("aclGetTensorDescElementCount", desc, std::size_t{0}, element_count);
}

size_t aclGetTensorDescSize(const aclTensorDesc *desc) {
    return ask("aclGetTensorDescSize", desc, std::size_t{0}, [](const aclTensorDesc &found) {
        std::size_t size = 0;
        return __builtin_mul_overflow(element_count(found), aclDataTypeSize(found.type), &size) ? 0 : size;
    });
}

size_t aclGetTensorDescNumDims(const aclTensorDesc *desc) {
    return ask("aclGetTensorDescNumDims", desc, std::size_t{0}, [](const aclTensorDesc &found) {
        const bool is_unknown = !found.dims.empty() && found.dims.front() == kUnknownRank;
        return is_unknown ? static_cast<std::size_t>(ACL_UNKNOWN_RANK) : found.dims.size();
    });
}

int64_t aclGetTensorDescDim(const aclTensorDesc *desc, size_t index) {
    return ask("aclGetTensorDescDim", desc, std::int64_t{-1},
               [&](const aclTensorDesc &found) { return at(found.dims, index); });
}

aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *dimSize) {
    return change("aclGetTensorDescDimV2", desc, [&](const aclTensorDesc &found) {
        require(dimSize, "dimSize");
        *dimSize = at(found.dims, index);
    });
}

aclError aclGetTensorDescDimRange(const aclTensorDesc *desc, size_t index, size_t dimRangeNum, int64_t *dimRange) {
    return change("aclGetTensorDescDimRange", desc, [&](const aclTensorDesc &found) {
        require(dimRange, "dimRange");
        const aclTensorDesc::Range range = at(found.shape_range, index);
        if (dimRangeNum < range.size()) {
            refuse(ACL_ERROR_INVALID_PARAM, "dimRangeNum is " + std::to_string(dimRangeNum) + ", not 2");
        }
        std::memcpy(dimRange, range.data(), sizeof range);
    });
}

const char *aclGetTensorDescName(aclTensorDesc *desc) {
    return ask("aclGetTensorDescName", desc, "", [](const aclTensorDesc &found) { return found.name.c_str(); });
}

// Returns NULL, because addresses are set only by the graph engine for the tensors of a model, and the simulator has no
// graph engine.
void *aclGetTensorDescAddress(const aclTensorDesc *desc) {
    return ask("aclGetTensorDescAddress", desc, static_cast<void *>(nullptr),
               [](const aclTensorDesc &) { return nullptr; });
}

// Accepts index 0 only: lists of descriptors are passed only to callbacks of the graph engine.
aclTensorDesc *aclGetTensorDescByIndex(aclTensorDesc *desc, size_t index) {
    return ask("aclGetTensorDescByIndex", desc, static_cast<aclTensorDesc *>(nullptr), [&](aclTensorDesc &found) {
        if (index != 0) {
            refuse(ACL_ERROR_INVALID_PARAM, "a descriptor that the program created stands alone");
        }
        return &found;
    });
}

void aclSetTensorDescName(aclTensorDesc *desc, const char *name) {
    change("aclSetTensorDescName", desc, [&](aclTensorDesc &found) { found.name = name == nullptr ? "" : name; });
}

aclError aclSetTensorStorageFormat(aclTensorDesc *desc, aclFormat format) {
    return desc == nullptr ? ACL_SUCCESS  // as in the vendor's library
                           : change("aclSetTensorStorageFormat", desc,
                                    [&](aclTensorDesc &found) { found.storage_format = format; });
}

aclError aclSetTensorFormat(aclTensorDesc *desc, aclFormat format) {
    return desc == nullptr
               ? ACL_SUCCESS
               : change("aclSetTensorFormat", desc, [&](aclTensorDesc &found) { found.storage_format = format; });
}

aclError aclSetTensorOriginFormat(aclTensorDesc *desc, aclFormat format) {
    return desc == nullptr
               ? ACL_SUCCESS
               : change("aclSetTensorOriginFormat", desc, [&](aclTensorDesc &found) { found.format = format; });
}

aclError aclSetTensorStorageShape(aclTensorDesc *desc, int numDims, const int64_t *dims) {
    return change("aclSetTensorStorageShape", desc, [&](aclTensorDesc &found) {
        require(dims, "dims");
        found.storage_dims = dims_of(numDims, dims);
    });
}

aclError aclSetTensorShape(aclTensorDesc *desc, int numDims, const int64_t *dims) {
    return change("aclSetTensorShape", desc, [&](aclTensorDesc &found) {
        require(dims, "dims");
        found.storage_dims = dims_of(numDims, dims);
    });
}

aclError aclSetTensorOriginShape(aclTensorDesc *desc, int numDims, const int64_t *dims) {
    return change("aclSetTensorOriginShape", desc, [&](aclTensorDesc &found) {
        require(dims, "dims");
        found.dims = dims_of(numDims, dims);
    });
}

aclError aclSetTensorShapeRange(aclTensorDesc *desc, size_t dimsCount, aclTensorRange *dimsRange) {
    return change("aclSetTensorShapeRange", desc,
                  [&](aclTensorDesc &found) { found.shape_range = ranges_of(dimsCount, dimsRange); });
}

aclError aclSetTensorValueRange(aclTensorDesc *desc, size_t valueCount, aclTensorRange *valueRange) {
    return change("aclSetTensorValueRange", desc,
                  [&](aclTensorDesc &found) { found.value_range = ranges_of(valueCount, valueRange); });
}

aclError aclSetTensorDynamicInput(aclTensorDesc *desc, const char *dynamicInputName) {
    return change("aclSetTensorDynamicInput", desc, [&](aclTensorDesc &found) {
        require(dynamicInputName, "dynamicInputName");
        found.dynamic_input = dynamicInputName;
    });
}

// Copies the data, so the program may free its buffer.
aclError aclSetTensorConst(aclTensorDesc *desc, void *dataBuffer, size_t length) {
    return change("aclSetTensorConst", desc, [&](aclTensorDesc &found) {
        require(dataBuffer, "dataBuffer");
        if (length == 0) {
            refuse(ACL_ERROR_INVALID_PARAM, "length is 0");
        }
        const char *const data = static_cast<const char *>(dataBuffer);
        found.constant.assign(data, data + length);
    });
}

aclError aclSetTensorPlaceMent(aclTensorDesc *desc, aclMemType memType) {
    return change("aclSetTensorPlaceMent", desc, [&](aclTensorDesc &found) { found.placement = memType; });
}
