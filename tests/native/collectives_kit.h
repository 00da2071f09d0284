// SPDX-License-Identifier: Apache-2.0
// Helpers of tests of collective communication.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "hccl/hccl.h"
#include "latch.h"

#define CHECK_HCCL(expected, call) CHECK_CODE(static_cast<aclError>(expected), static_cast<aclError>(call))

#define CHECK_CONTAINS(text, part)                                                                                  \
    do {                                                                                                            \
        const std::string check_text = (text), check_part = (part);                                                 \
        if (!contains(check_text, check_part)) {                                                                    \
            std::fprintf(stderr, "%s:%d: \"%s\" does not contain \"%s\"\n", __FILE__, __LINE__, check_text.c_str(), \
                         check_part.c_str());                                                                       \
            std::abort();                                                                                           \
        }                                                                                                           \
    } while (false)

// Returns a port that no other program uses, for HCCL_IF_BASE_PORT: the usual one may be that of another connection.
inline std::string free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t size = sizeof address;
    CHECK(bind(socket, reinterpret_cast<const sockaddr *>(&address), size) == 0);
    CHECK(getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size) == 0);
    close(socket);
    return std::to_string(ntohs(address.sin_port));
}

template <class T>
class Memory {
  public:
    explicit Memory(std::size_t count) : count_(count) {
        CHECK_OK(aclrtMalloc(reinterpret_cast<void **>(&data_), std::max<std::size_t>(count * sizeof(T), 64),
                             ACL_MEM_MALLOC_NORMAL_ONLY));
    }
    explicit Memory(const std::vector<T> &content) : Memory(content.size()) { set(content); }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory() { CHECK_OK(aclrtFree(data_)); }
    void set(const std::vector<T> &content) const {
        CHECK_OK(aclrtMemcpy(data_, count_ * sizeof(T), content.data(), content.size() * sizeof(T),
                             ACL_MEMCPY_HOST_TO_DEVICE));
    }
    std::vector<T> get() const {
        std::vector<T> content(count_);
        CHECK_OK(aclrtMemcpy(content.data(), count_ * sizeof(T), data_, count_ * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST));
        return content;
    }
    T *data() const { return data_; }
    std::size_t count() const { return count_; }

  private:
    std::size_t count_;
    T *data_ = nullptr;
};

// Point that all ranks of a test pass together.
class Gathering {
  public:
    explicit Gathering(std::size_t size) : size_(size) {}
    void wait() {
        std::unique_lock<std::mutex> lock(mutex_);
        const std::size_t round = arrived_++ / size_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return arrived_ >= (round + 1) * size_; });
    }

  private:
    const std::size_t size_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t arrived_ = 0;
};

// A rank on its thread. A body that destroys the stream or the communicator sets it to nullptr.
struct Rank {
    std::uint32_t size;
    std::uint32_t number;
    HcclComm comm;
    aclrtStream stream;
    Gathering *gathering;

    void synchronize() const { CHECK_OK(aclrtSynchronizeStream(stream)); }
    void gather() const { gathering->wait(); }
    HcclResult async_error() const {
        HcclResult error = HCCL_SUCCESS;
        CHECK_HCCL(HCCL_SUCCESS, HcclGetCommAsyncError(comm, &error));
        return error;
    }
    // Synchronizes with a stream whose collective is to fail, and returns the reason.
    std::string failure() const {
        CHECK_CODE(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(stream));
        return recent_text();
    }
};

// Runs the body on as many threads as there are ranks.
inline void with_ranks(std::uint32_t size, const std::function<void(Rank &)> &body) {
    std::vector<std::int32_t> devices(size);
    std::iota(devices.begin(), devices.end(), 0);
    std::vector<HcclComm> comms(size);
    CHECK_HCCL(HCCL_SUCCESS, HcclCommInitAll(size, devices.data(), comms.data()));
    Gathering gathering(size);
    std::vector<std::thread> threads;
    for (std::uint32_t number = 0; number < size; ++number) {
        threads.emplace_back([&, number] {
            CHECK_OK(aclrtSetDevice(devices[number]));
            Rank rank{size, number, comms[number], nullptr, &gathering};
            CHECK_OK(aclrtCreateStream(&rank.stream));
            body(rank);
            if (rank.stream != nullptr) {
                CHECK_OK(aclrtDestroyStreamForce(rank.stream));
            }
            if (rank.comm != nullptr) {
                CHECK_HCCL(HCCL_SUCCESS, HcclCommDestroy(rank.comm));
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

// Numbers that differ between ranks and places, and are small enough for every type.
template <class T>
std::vector<T> content_of(std::uint32_t rank, std::size_t count) {
    std::vector<T> content(count);
    for (std::size_t i = 0; i < count; ++i) {
        content[i] = static_cast<T>(static_cast<int>((rank * 7 + i * 3) % 5) - 2);
    }
    return content;
}

template <class T>
T combine(HcclReduceOp op, T one, T other) {
    switch (op) {
        case HCCL_REDUCE_SUM:
            return static_cast<T>(one + other);
        case HCCL_REDUCE_PROD:
            return static_cast<T>(one * other);
        case HCCL_REDUCE_MAX:
            return std::max(one, other);
        default:
            return std::min(one, other);
    }
}

template <class T>
std::vector<T> reduced(HcclReduceOp op, std::uint32_t ranks, std::size_t count) {
    std::vector<T> result = content_of<T>(0, count);
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
        const std::vector<T> other = content_of<T>(rank, count);
        for (std::size_t i = 0; i < count; ++i) {
            result[i] = combine(op, result[i], other[i]);
        }
    }
    return result;
}

template <class T>
std::vector<T> part_of(const std::vector<T> &all, std::size_t begin, std::size_t count) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
    return {first, first + static_cast<std::ptrdiff_t>(count)};
}

inline constexpr std::size_t kLargeCount = 40000;  // floats: more than a message that is sent at once

// The call fails with the code and a text that contains the part.
#define CHECK_REFUSED(code, part, call)      \
    do {                                     \
        CHECK_HCCL(code, call);              \
        CHECK_CONTAINS(recent_text(), part); \
    } while (false)

inline HcclResult all_reduce(const Rank &rank, const Memory<float> &memory, std::size_t count = kLargeCount) {
    return HcclAllReduce(memory.data(), memory.data(), count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, rank.comm,
                         rank.stream);
}
