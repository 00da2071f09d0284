// A piece of memory that processes share by name: what IPC events, IPC notifies and exports of memory are made of.
//
// Every user holds a shared lock on the piece's file, which the kernel takes back however the process ends. Nobody uses
// a piece of which an exclusive lock can be had: the last user removes the name, or, if it was killed, the next process
// that starts the simulator. Locks, unlike process ids, mean the same to processes in different containers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
    // Removes what killed processes have left.
    static void remove_unused();
    // The number in a name: it stands for the name where a handle has no room for one.
    static std::string name_of(std::uint64_t number);
    static std::optional<std::uint64_t> number_of(const std::string &name);
    ~SharedMemory();
    SharedMemory(const SharedMemory &) = delete;
    SharedMemory &operator=(const SharedMemory &) = delete;

    const std::string &name() const { return name_; }
    std::uint64_t number() const { return number_; }
    template <class T>
    T &as() const {
        return *static_cast<T *>(address_);
    }

  private:
    SharedMemory(std::uint64_t number, int file, void *address, std::size_t size);
    static std::shared_ptr<SharedMemory> create(std::size_t size);
    static std::shared_ptr<SharedMemory> open(const std::string &name, std::size_t size);
    static std::shared_ptr<SharedMemory> map(std::uint64_t number, int file, std::size_t size);
    void release();
    static void release_all();

    const std::uint64_t number_;
    const std::string name_;
    const int file_;
    void *const address_;
    const std::size_t size_;
};

}  // namespace aclsim
