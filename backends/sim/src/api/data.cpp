// SPDX-License-Identifier: Apache-2.0
// Data types and half floats (device_context_init_errors.md section 10), data buffers (memory_cmo_allocator.md section
// 11).
#include <algorithm>
#include <cmath>

#include "api/entry.h"

using namespace aclsim;

namespace {

struct TypeSize {
    aclDataType type;
    std::size_t bytes;
};
constexpr TypeSize kTypeSizes[] = {
    {ACL_DT_UNDEFINED, 0}, {ACL_STRING, 0}, {ACL_UINT1, 1},    {ACL_INT4, 1},        {ACL_BOOL, 1},
    {ACL_INT8, 1},         {ACL_UINT8, 1},  {ACL_HIFLOAT8, 1}, {ACL_FLOAT8_E5M2, 1}, {ACL_FLOAT8_E4M3FN, 1},
    {ACL_FLOAT8_E8M0, 1},  {ACL_INT16, 2},  {ACL_UINT16, 2},   {ACL_FLOAT16, 2},     {ACL_BF16, 2},
    {ACL_FLOAT, 4},        {ACL_INT32, 4},  {ACL_UINT32, 4},   {ACL_COMPLEX32, 4},   {ACL_COMPLEX128, 16},
};
constexpr std::size_t kOtherTypeSize = 8;  // size of the 64-bit types and of all other values

constexpr int kMantissaBits = 10;
constexpr std::uint32_t kHiddenBit = 1U << kMantissaBits;
constexpr std::uint32_t kMantissaMask = kHiddenBit - 1;
constexpr std::uint32_t kExponentMask = 0x1F;
constexpr int kSmallestUnit = -24;  // exponent of the last bit of a denormal
constexpr std::uint16_t kSignBit = 0x8000;
constexpr std::uint16_t kLargestHalf = 0x7BFF;
constexpr float kLargestHalfValue = 65504.0F;

// Rounds to nearest, ties to even, regardless of the rounding mode of the thread.
std::uint32_t rounded(double value) {
    const auto whole = static_cast<std::uint32_t>(value);
    const double rest = value - whole;
    return whole + (rest > 0.5 || (rest == 0.5 && whole % 2 != 0) ? 1 : 0);
}

// Encodes a number from 0 to the largest half. A mantissa that rounds up to the next power of two carries into the
// exponent.
std::uint16_t encode_half(float magnitude) {
    int exponent = kSmallestUnit;  // frexp() would return exponent 0 for 0
    if (magnitude > 0) {
        std::frexp(magnitude, &exponent);
    }
    const int unit = std::max(exponent - 1 - kMantissaBits, kSmallestUnit);
    const std::uint32_t mantissa = rounded(std::ldexp(static_cast<double>(magnitude), -unit));
    return static_cast<std::uint16_t>((static_cast<std::uint32_t>(unit - kSmallestUnit) << kMantissaBits) + mantissa);
}

class DataBuffer final : public Object {
  public:
    static constexpr Kind kKind = Kind::DataBuffer;
    DataBuffer(void *address, std::size_t bytes) : data(address), size(bytes) {}

    void *data;
    std::size_t size;
};

// Rejects a pointer that is not a data buffer as an invalid argument. The real runtime follows any pointer.
DataBuffer &require_buffer(Simulator &sim, const aclDataBuffer *buffer) REQUIRES(engine_lock) {
    require(buffer, "dataBuffer");
    DataBuffer *found = sim.core.registry().find<DataBuffer>(const_cast<aclDataBuffer *>(buffer));
    if (found == nullptr) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%p is not a live data buffer", static_cast<const void *>(buffer));
    }
    return *found;
}

template <class Value, class Member>
Value ask_buffer(Function function, const aclDataBuffer *buffer, Member member) {
    Value value{};
    ungated_entry(function,
                  [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { value = member(require_buffer(sim, buffer)); });
    return value;
}

}  // namespace

size_t aclDataTypeSize(aclDataType dataType) {
    for (const TypeSize &entry : kTypeSizes) {
        if (entry.type == dataType) {
            return entry.bytes;
        }
    }
    return kOtherTypeSize;
}

float aclFloat16ToFloat(aclFloat16 value) {
    const std::uint32_t exponent = (value >> kMantissaBits) & kExponentMask;
    const std::uint32_t mantissa = (value & kMantissaMask) + (exponent == 0 ? 0 : kHiddenBit);
    // Infinities and NaNs do not exist in this format: the largest exponent is one like the others.
    const int unit = kSmallestUnit + (exponent == 0 ? 0 : static_cast<int>(exponent) - 1);
    const auto magnitude = static_cast<float>(std::ldexp(static_cast<double>(mantissa), unit));
    return (value & kSignBit) != 0 ? -magnitude : magnitude;
}

aclFloat16 aclFloatToFloat16(float value) {
    const std::uint16_t sign = std::signbit(value) ? kSignBit : 0;
    const float magnitude = std::fabs(value);
    const bool is_in_range = magnitude <= kLargestHalfValue;  // false for a NaN
    return static_cast<aclFloat16>(sign | (is_in_range ? encode_half(magnitude) : kLargestHalf));
}

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size) {
    void *handle = nullptr;
    ungated_entry(Function::aclCreateDataBuffer, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const auto buffer = make_ref<DataBuffer>(data, size);
        sim.core.registry().add(buffer);
        handle = buffer->handle();
    });
    return static_cast<aclDataBuffer *>(handle);
}

aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer) {
    return ungated_entry(Function::aclDestroyDataBuffer, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.core.registry().remove(require_buffer(sim, dataBuffer));
    });
}

aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data, size_t size) {
    return ungated_entry(Function::aclUpdateDataBuffer, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        DataBuffer &buffer = require_buffer(sim, dataBuffer);
        buffer.data = data;
        buffer.size = size;
    });
}

void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer) {
    return ask_buffer<void *>(Function::aclGetDataBufferAddr, dataBuffer,
                              [](const DataBuffer &buffer) { return buffer.data; });
}

uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer) {
    return ask_buffer<uint32_t>(Function::aclGetDataBufferSize, dataBuffer,
                                [](const DataBuffer &buffer) { return static_cast<uint32_t>(buffer.size); });
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer) {
    return ask_buffer<size_t>(Function::aclGetDataBufferSizeV2, dataBuffer,
                              [](const DataBuffer &buffer) { return buffer.size; });
}
