// SPDX-License-Identifier: Apache-2.0
// Objects that programs make before they call operators: values, lifetimes, handles of no live object, and operators.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "check.h"

extern "C" aclError aclnnAddGetWorkspaceSize(const aclTensor *self, const aclTensor *other, const aclScalar *alpha,
                                             aclTensor *out, uint64_t *size, aclOpExecutor **executor);
extern "C" aclError aclnnAdd(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream);

namespace {

constexpr aclError kNull = 161001;
constexpr aclError kInvalid = 161002;

constexpr std::int64_t kDims[] = {2, 3, 4};
constexpr std::int64_t kStorageDims[] = {6, 4};

aclTensor *tensor(void *data = nullptr, const std::int64_t *strides = nullptr) {
    return aclCreateTensor(kDims, 3, ACL_FLOAT16, strides, 5, ACL_FORMAT_ND, kStorageDims, 2, data);
}

using Get = aclnnStatus (*)(const aclTensor *, std::int64_t **, std::uint64_t *);

std::vector<std::int64_t> numbers(Get get, const aclTensor *of) {
    std::int64_t *values = nullptr;
    std::uint64_t count = 0;
    CHECK_OK(get(of, &values, &count));
    const std::unique_ptr<std::int64_t[]> owned(values);  // a copy, for the caller to delete
    return std::vector<std::int64_t>(values, values + count);
}

using Numbers = std::vector<std::int64_t>;

void a_tensor_keeps_what_it_is_made_of() {
    char memory[64];
    aclTensor *created = tensor(memory);
    CHECK(numbers(aclGetViewShape, created) == Numbers({2, 3, 4}));
    CHECK(numbers(aclGetViewStrides, created) == Numbers({12, 4, 1}));
    CHECK(numbers(aclGetStorageShape, created) == Numbers({6, 4}));
    std::int64_t offset = 0;
    aclFormat format = ACL_FORMAT_UNDEFINED;
    aclDataType type = ACL_DT_UNDEFINED;
    void *data = nullptr;
    CHECK_OK(aclGetViewOffset(created, &offset));
    CHECK_OK(aclGetFormat(created, &format));
    CHECK_OK(aclGetDataType(created, &type));
    CHECK_OK(aclGetRawTensorAddr(created, &data));
    CHECK(offset == 5 && format == ACL_FORMAT_ND && type == ACL_FLOAT16 && data == memory);
    CHECK_OK(aclSetRawTensorAddr(created, nullptr));
    CHECK_OK(aclGetRawTensorAddr(created, &data));
    CHECK(data == nullptr);
    const std::int64_t other[] = {8}, step[] = {2};
    CHECK_OK(aclInitTensor(created, other, 1, ACL_INT32, step, 0, ACL_FORMAT_NCHW, other, 1, memory));
    CHECK(numbers(aclGetViewShape, created) == Numbers({8}) && numbers(aclGetViewStrides, created) == Numbers({2}));
    CHECK_OK(aclInitTensor(created, nullptr, 0, ACL_INT64, nullptr, 1, ACL_FORMAT_ND, nullptr, 0, nullptr));
    CHECK(numbers(aclGetViewShape, created) == Numbers({8}) && numbers(aclGetViewStrides, created) == Numbers({1}));
    CHECK_OK(aclGetRawTensorAddr(created, &data));
    CHECK(data == memory);
    CHECK_OK(aclDestroyTensor(created));
    aclTensor *scalar = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
    CHECK(numbers(aclGetViewShape, scalar).empty());
    CHECK_OK(aclDestroyTensor(scalar));
}

void arrays_and_scalars() {
    const bool flags[] = {true, false, true};
    const float reals[] = {1, 2};
    std::uint64_t size = 0;
    aclIntArray *ints = aclCreateIntArray(kDims, 3);
    aclFloatArray *floats = aclCreateFloatArray(reals, 2);
    aclBoolArray *bools = aclCreateBoolArray(flags, 3);
    CHECK_OK(aclGetIntArraySize(ints, &size));
    CHECK(size == 3);
    CHECK_OK(aclGetFloatArraySize(floats, &size));
    CHECK(size == 2);
    CHECK_OK(aclGetBoolArraySize(bools, &size));
    CHECK(size == 3);
    aclIntArray *empty = aclCreateIntArray(nullptr, 0);
    CHECK_OK(aclGetIntArraySize(empty, &size));
    CHECK(size == 0);
    CHECK_OK(aclDestroyIntArray(empty));
    CHECK_OK(aclDestroyIntArray(ints));
    CHECK_OK(aclDestroyFloatArray(floats));
    CHECK_OK(aclDestroyBoolArray(bools));
    double value = 2.5;
    aclScalar *scalar = aclCreateScalar(&value, ACL_DOUBLE);
    CHECK(scalar != nullptr);
    CHECK_OK(aclDestroyScalar(scalar));
}

void a_list_owns_its_elements() {
    const aclTensor *const elements[] = {tensor(), nullptr, tensor()};
    aclTensorList *list = aclCreateTensorList(elements, 3);
    std::uint64_t size = 0;
    CHECK_OK(aclGetTensorListSize(list, &size));
    CHECK(size == 3);
    CHECK_OK(aclDestroyTensorList(list));
    CHECK_CODE(kInvalid, aclDestroyTensor(elements[0]));
    float value = 1;
    const aclScalar *const scalars[] = {aclCreateScalar(&value, ACL_FLOAT)};
    aclScalarList *scalar_list = aclCreateScalarList(scalars, 1);
    CHECK_OK(aclGetScalarListSize(scalar_list, &size));
    CHECK(size == 1);
    CHECK_OK(aclDestroyScalarList(scalar_list));
    CHECK_CODE(kInvalid, aclDestroyScalar(scalars[0]));
    // An element that is already destroyed is reported; the others are destroyed all the same.
    const aclTensor *const some[] = {tensor(), tensor()};
    list = aclCreateTensorList(some, 2);
    CHECK_OK(aclDestroyTensor(some[0]));
    CHECK_CODE(kInvalid, aclDestroyTensorList(list));
    CHECK_CODE(kInvalid, aclDestroyTensor(some[1]));
    CHECK_CODE(kInvalid, aclDestroyTensorList(list));
}

void wrong_arguments() {
    CHECK(aclCreateTensor(nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, kDims, 3, nullptr) == nullptr);
    CHECK(recent_text() == "aclCreateTensor: viewDims is NULL");
    CHECK(aclCreateTensor(kDims, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 3, nullptr) == nullptr);
    CHECK(aclCreateScalar(nullptr, ACL_FLOAT) == nullptr);
    double value = 1;
    CHECK(aclCreateScalar(&value, ACL_STRING) == nullptr);
    CHECK(recent_text() == "aclCreateScalar: there are no scalars of the data type 13");
    CHECK(aclCreateIntArray(nullptr, 1) == nullptr);
    CHECK(aclCreateIntArray(kDims, UINT64_MAX) == nullptr);
    CHECK(aclCreateTensorList(nullptr, 1) == nullptr);
    CHECK_OK(aclDestroyTensor(nullptr));
    CHECK_OK(aclDestroyTensorList(nullptr));
    CHECK_OK(aclDestroyIntArray(nullptr));
    std::int64_t *values = nullptr, number = 0;
    std::uint64_t count = 0;
    aclTensor *created = tensor();
    CHECK_CODE(kNull, aclGetViewShape(nullptr, &values, &count));
    CHECK_CODE(kNull, aclGetViewShape(created, nullptr, &count));
    CHECK_CODE(kNull, aclGetViewShape(created, &values, nullptr));
    CHECK_CODE(kNull, aclGetViewOffset(created, nullptr));
    CHECK_CODE(kNull, aclInitTensor(nullptr, kDims, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, kDims, 3, nullptr));
    CHECK_CODE(kNull, aclGetIntArraySize(nullptr, &count));
    CHECK_OK(aclDestroyTensor(created));
    CHECK_CODE(kInvalid, aclDestroyTensor(created));
    CHECK(recent_text().find("is not a live aclTensor") != std::string::npos);
    CHECK_CODE(kInvalid, aclGetViewOffset(created, &number));
    CHECK_CODE(kInvalid, aclGetIntArraySize(reinterpret_cast<const aclIntArray *>(created), &count));
    CHECK_CODE(kInvalid, aclDestroyIntArray(reinterpret_cast<const aclIntArray *>(&number)));
}

void operators_are_refused_by_name() {
    CHECK_OK(aclnnInit(nullptr));
    CHECK_CODE(ACL_ERROR_API_NOT_SUPPORT,
               aclnnAddGetWorkspaceSize(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
    CHECK(recent_text().find("aclnnAddGetWorkspaceSize: the simulator has no operators") == 0);
    CHECK_CODE(ACL_ERROR_API_NOT_SUPPORT, aclnnAdd(nullptr, 0, nullptr, nullptr));
    CHECK_CODE(ACL_ERROR_API_NOT_SUPPORT, aclDestroyAclOpExecutor(nullptr));
    CHECK_OK(aclnnFinalize());
}

// Each thread makes and destroys tensors and lists, and then destroys one that all know: one of them succeeds.
void threads_at_the_same_time() {
    constexpr int kThreads = 4, kTimes = 300;
    aclTensor *const shared = tensor();
    std::atomic<int> done{0};
    std::atomic<int> destroyed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            for (int time = 0; time < kTimes; ++time) {
                const aclTensor *const elements[] = {tensor(), tensor()};
                CHECK(numbers(aclGetViewShape, elements[1]).size() == 3);
                aclTensorList *list = aclCreateTensorList(elements, 2);
                CHECK_OK(aclDestroyTensorList(list));
                std::int64_t offset = 0;
                const aclnnStatus code = aclGetViewOffset(shared, &offset);
                CHECK(code == ACL_SUCCESS || code == kInvalid);
            }
            ++done;
            while (done < kThreads) {  // a new tensor might have the address of the destroyed one
                std::this_thread::yield();
            }
            destroyed += aclDestroyTensor(shared) == ACL_SUCCESS ? 1 : 0;
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(destroyed == 1);
}

}  // namespace

int main() {
    a_tensor_keeps_what_it_is_made_of();
    arrays_and_scalars();
    a_list_owns_its_elements();
    wrong_arguments();
    operators_are_refused_by_name();
    threads_at_the_same_time();
    return 0;
}
