// SPDX-License-Identifier: Apache-2.0
// aclnnConstantPadNd, an operator that is a task of a stream.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "check.h"
#include "latch.h"

extern "C" aclError aclnnConstantPadNdGetWorkspaceSize(const aclTensor *self, const aclIntArray *padding,
                                                       const aclScalar *value, aclTensor *out, uint64_t *size,
                                                       aclOpExecutor **executor);
extern "C" aclError aclnnConstantPadNd(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream);

namespace {

constexpr aclError kNull = 161001;
constexpr aclError kInvalid = 161002;

using Numbers = std::vector<std::int64_t>;

// Memory of a device with elements of four bytes.
template <class T>
class Memory {
  public:
    explicit Memory(const std::vector<T> &content) : count_(content.size()) {
        CHECK_OK(aclrtMalloc(&data_, bytes() + 64, ACL_MEM_MALLOC_NORMAL_ONLY));
        CHECK_OK(aclrtMemcpy(data_, bytes(), content.data(), bytes(), ACL_MEMCPY_HOST_TO_DEVICE));
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory() { CHECK_OK(aclrtFree(data_)); }
    std::vector<T> get() const {
        std::vector<T> content(count_);
        CHECK_OK(aclrtMemcpy(content.data(), bytes(), data_, bytes(), ACL_MEMCPY_DEVICE_TO_HOST));
        return content;
    }
    void *data() const { return data_; }

  private:
    std::size_t bytes() const { return count_ * sizeof(T); }
    std::size_t count_;
    void *data_ = nullptr;
};

class Tensor {
  public:
    Tensor(const Numbers &dims, aclDataType type, void *data, const Numbers &strides = {}, std::int64_t offset = 0)
        : handle_(aclCreateTensor(dims.data(), dims.size(), type, strides.empty() ? nullptr : strides.data(), offset,
                                  ACL_FORMAT_ND, dims.data(), dims.size(), data)) {
        CHECK(handle_ != nullptr);
    }
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;
    ~Tensor() { CHECK_OK(aclDestroyTensor(handle_)); }
    aclTensor *handle() const { return handle_; }

  private:
    aclTensor *handle_;
};

aclError prepare(const Tensor &self, const Numbers &padding, double value, const Tensor &out,
                 aclOpExecutor **executor) {
    std::uint64_t size = 7;
    aclIntArray *const around = aclCreateIntArray(padding.data(), padding.size());
    aclScalar *const scalar = aclCreateScalar(&value, ACL_DOUBLE);
    const aclError code =
        aclnnConstantPadNdGetWorkspaceSize(self.handle(), around, scalar, out.handle(), &size, executor);
    CHECK(code != ACL_SUCCESS || size == 0);
    CHECK_OK(aclDestroyIntArray(around));
    CHECK_OK(aclDestroyScalar(scalar));
    return code;
}

aclError pad(const Tensor &self, const Numbers &padding, double value, const Tensor &out, aclrtStream stream) {
    aclOpExecutor *executor = nullptr;
    const aclError code = prepare(self, padding, value, out, &executor);
    return code == ACL_SUCCESS ? aclnnConstantPadNd(nullptr, 0, executor, stream) : code;
}

void one_dimension(aclrtStream stream) {
    const Memory<float> from({1, 2, 3}), to(std::vector<float>(6, 9));
    CHECK_OK(pad({{3}, ACL_FLOAT, from.data()}, {1, 2}, 0.5, {{6}, ACL_FLOAT, to.data()}, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(to.get() == std::vector<float>({0.5, 1, 2, 3, 0.5, 0.5}));
    // Uneven numbers of bytes, as all_gather has them.
    const Memory<std::uint8_t> bytes({1, 2, 3}), padded(std::vector<std::uint8_t>(5, 9));
    CHECK_OK(pad({{3}, ACL_UINT8, bytes.data()}, {0, 2}, 0, {{5}, ACL_UINT8, padded.data()}, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(padded.get() == std::vector<std::uint8_t>({1, 2, 3, 0, 0}));
    // Nothing but padding, and no padding.
    CHECK_OK(pad({{0}, ACL_FLOAT, nullptr}, {3, 3}, 7, {{6}, ACL_FLOAT, to.data()}, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(to.get() == std::vector<float>(6, 7));
    CHECK_OK(pad({{3}, ACL_FLOAT, from.data()}, {}, 7, {{3}, ACL_FLOAT, to.data()}, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(to.get() == std::vector<float>({1, 2, 3, 7, 7, 7}));
}

// The padding names the last dimension first.
void two_dimensions(aclrtStream stream) {
    const Memory<std::int32_t> from({1, 2, 3, 4, 5, 6}), to(std::vector<std::int32_t>(12, 9)),
        wide(std::vector<std::int32_t>(8, 9));
    CHECK_OK(pad({{2, 3}, ACL_INT32, from.data()}, {1, 0, 0, 1}, -1, {{3, 4}, ACL_INT32, to.data()}, stream));
    CHECK_OK(pad({{2, 3}, ACL_INT32, from.data()}, {0, 1}, -1, {{2, 4}, ACL_INT32, wide.data()}, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(to.get() == std::vector<std::int32_t>({-1, 1, 2, 3, -1, 4, 5, 6, -1, -1, -1, -1}));
    CHECK(wide.get() == std::vector<std::int32_t>({1, 2, 3, -1, 4, 5, 6, -1}));
}

// A transposed matrix with an offset is padded into every other element.
void strided_tensors(aclrtStream stream) {
    const Memory<float> from({99, 1, 2, 3, 4, 5, 6}), to(std::vector<float>(16, 9));
    CHECK_OK(pad({{3, 2}, ACL_FLOAT, from.data(), {1, 3}, 1}, {0, 0, 0, 1}, 0,
                 {{4, 2}, ACL_FLOAT, to.data(), {4, 2}, 1}, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(to.get() == std::vector<float>({9, 1, 9, 4, 9, 2, 9, 5, 9, 3, 9, 6, 9, 0, 9, 0}));
}

void it_has_its_place_in_the_stream(aclrtStream stream) {
    const Memory<float> from({1}), to(std::vector<float>(2, 9));
    LatchedCallback before;
    CHECK_OK(aclrtLaunchHostFunc(stream, LatchedCallback::run, &before));
    CHECK_OK(pad({{1}, ACL_FLOAT, from.data()}, {1, 0}, 0, {{2}, ACL_FLOAT, to.data()}, stream));
    CHECK(before.entered.opens());
    CHECK(to.get() == std::vector<float>(2, 9));
    before.released.open();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(to.get() == std::vector<float>({0, 1}));
}

void wrong_operands(aclrtStream stream) {
    const Memory<float> memory(std::vector<float>(16, 9));
    void *const data = memory.data();
    const auto refused = [&](const Numbers &self, const Numbers &padding, const Numbers &out, aclDataType type) {
        aclOpExecutor *executor = nullptr;
        CHECK_CODE(kInvalid, prepare({self, ACL_FLOAT, data}, padding, 0, {out, type, data}, &executor));
        CHECK(!recent_text().empty() && executor == nullptr);
    };
    constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
    refused({3}, {1, 1}, {4}, ACL_FLOAT);
    refused({3}, {1}, {4}, ACL_FLOAT);
    refused({3}, {0, 0, 1, 1}, {3}, ACL_FLOAT);
    refused({3}, {-1, 0}, {2}, ACL_FLOAT);
    refused({3}, {2, -1}, {4}, ACL_FLOAT);
    refused({3}, {kHuge, kHuge}, {1}, ACL_FLOAT);
    refused({3}, {0, 1}, {2, 2}, ACL_FLOAT);
    refused({3}, {0, 1}, {4}, ACL_INT32);
    refused({3}, {0, 1}, {4}, ACL_COMPLEX64);

    aclOpExecutor *executor = nullptr;
    std::uint64_t size = 0;
    const Tensor self({3}, ACL_INT8, data), out({4}, ACL_INT8, data);
    for (const double value : {128.0, -129.0, std::numeric_limits<double>::quiet_NaN()}) {
        CHECK_CODE(kInvalid, prepare(self, {0, 1}, value, out, &executor));
    }
    const std::int64_t around[] = {0, 1};
    const float zero = 0;
    aclIntArray *const padding = aclCreateIntArray(around, 2);
    aclScalar *const value = aclCreateScalar(const_cast<float *>(&zero), ACL_FLOAT);
    const auto prepared = [&](const aclTensor *from, const aclIntArray *by, const aclScalar *with, aclTensor *to,
                              std::uint64_t *workspace, aclOpExecutor **made) {
        return aclnnConstantPadNdGetWorkspaceSize(from, by, with, to, workspace, made);
    };
    CHECK_CODE(kNull, prepared(nullptr, padding, value, out.handle(), &size, &executor));
    CHECK_CODE(kNull, prepared(self.handle(), nullptr, value, out.handle(), &size, &executor));
    CHECK_CODE(kNull, prepared(self.handle(), padding, nullptr, out.handle(), &size, &executor));
    CHECK_CODE(kNull, prepared(self.handle(), padding, value, nullptr, &size, &executor));
    CHECK_CODE(kNull, prepared(self.handle(), padding, value, out.handle(), nullptr, &executor));
    CHECK_CODE(kNull, prepared(self.handle(), padding, value, out.handle(), &size, nullptr));
    CHECK_CODE(kNull, aclnnConstantPadNd(nullptr, 0, nullptr, stream));
    CHECK_OK(prepared(self.handle(), padding, value, out.handle(), &size, &executor));
    CHECK_OK(aclnnConstantPadNd(nullptr, 0, executor, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_CODE(kInvalid, aclnnConstantPadNd(nullptr, 0, executor, stream));  // serves once
    CHECK_OK(aclDestroyIntArray(padding));
    CHECK_OK(aclDestroyScalar(value));

    // Memory that is none, of the host, or too small.
    float plain[16] = {};
    for (void *const wrong : {static_cast<void *>(nullptr), static_cast<void *>(plain)}) {
        CHECK_CODE(kInvalid, pad({{3}, ACL_FLOAT, wrong}, {0, 1}, 0, {{4}, ACL_FLOAT, data}, stream));
        CHECK_CODE(kInvalid, pad({{3}, ACL_FLOAT, data}, {0, 1}, 0, {{4}, ACL_FLOAT, wrong}, stream));
    }
    CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID,
               pad({{3}, ACL_FLOAT, data}, {0, 1 << 28}, 0, {{3 + (1 << 28)}, ACL_FLOAT, data}, stream));
    CHECK(pad({{3}, ACL_FLOAT, data, {kHuge}}, {0, 1}, 0, {{4}, ACL_FLOAT, data}, stream) != ACL_SUCCESS);
    CHECK(pad({{3}, ACL_FLOAT, data, {1}, kHuge}, {0, 1}, 0, {{4}, ACL_FLOAT, data}, stream) != ACL_SUCCESS);
    CHECK_OK(aclrtSynchronizeStream(stream));
}

}  // namespace

int main() {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    one_dimension(stream);
    two_dimensions(stream);
    strided_tensors(stream);
    it_has_its_place_in_the_stream(stream);
    wrong_operands(stream);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return 0;
}
