// A piece of memory that processes share by name: what IPC events, IPC notifies and exports of memory are made of.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace aclsim {

class SharedMemory {
  public:
    static constexpr std::size_t kNameSize = 48;  // with the terminator; fits an IPC key and an IPC event handle

    // A new piece for a T, all zero. Fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    template <class T>
    static std::shared_ptr<SharedMemory> create() {
        return create(sizeof(T));
    }
    // The piece of that name, or nullptr if there is none for a T.
    template <class T>
    static std::shared_ptr<SharedMemory> open(const std::string &name) {
        return open(name, sizeof(T));
    }
    // The number in a name: it stands for the name where a handle has no room for one.
    static std::string name_of(std::uint64_t number);
    ~SharedMemory();
    SharedMemory(const SharedMemory &) = delete;
    SharedMemory &operator=(const SharedMemory &) = delete;

    const std::string &name() const { return name_; }
    std::uint64_t number() const { return number_; }
    template <class T>
    T &as() const {
        return *reinterpret_cast<T *>(block_->data);
    }

  private:
    struct Block {
        std::atomic<std::uint32_t> users;   // the last one removes the name
        alignas(64) unsigned char data[1];  // as many as create() was asked for
    };
    SharedMemory(std::uint64_t number, Block *block, std::size_t size);
    static std::shared_ptr<SharedMemory> create(std::size_t data_size);
    static std::shared_ptr<SharedMemory> open(const std::string &name, std::size_t data_size);
    static Block *map(int file, std::size_t size);
    void release();
    static void release_all();

    const std::uint64_t number_;
    const std::string name_;
    Block *const block_;
    const std::size_t size_;
};

}  // namespace aclsim
