// A small piece of memory that processes share by name: what IPC events and IPC notifies are made of.
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
    static constexpr std::size_t kDataSize = 2048;

    // A new piece, all zero. Fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    static std::shared_ptr<SharedMemory> create();
    // The piece of that name, or nullptr if there is none.
    static std::shared_ptr<SharedMemory> open(const std::string &name);
    ~SharedMemory();
    SharedMemory(const SharedMemory &) = delete;
    SharedMemory &operator=(const SharedMemory &) = delete;

    const std::string &name() const { return name_; }
    template <class T>
    T &as() const {
        static_assert(sizeof(T) <= kDataSize, "enlarge kDataSize");
        return *reinterpret_cast<T *>(block_->data);
    }

  private:
    struct Block {
        std::atomic<std::uint32_t> users;  // the last one removes the name
        alignas(64) unsigned char data[kDataSize];
    };
    SharedMemory(std::string name, Block *block);
    static Block *map(int file);
    void release();
    static void release_all();

    std::string name_;
    Block *block_;
};

}  // namespace aclsim
