// A piece of memory that processes share by name: what IPC events, IPC notifies, exports of memory and the accounts of
// shared cards are made of.
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

// A number that no other process has, whatever container it is in: process ids are the container's own.
std::uint64_t own_process();

class SharedMemory {
  public:
    static constexpr std::size_t kNameSize = 48;  // with the terminator; fits an IPC key and an IPC event handle

    // A new piece for a T, all zero. Its first bytes have pages of the host, and what is behind them must be reserved
    // before it is read or written. Fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    static constexpr std::size_t kFirstBytes = 4096;
    template <class T>
    static std::shared_ptr<SharedMemory> create() {
        return create(sizeof(T));
    }
    // The piece of that name, or nullptr if there is none for a T. Fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL if the
    // host cannot open it.
    template <class T>
    static std::shared_ptr<SharedMemory> open(const std::string &name) {
        return open(name, sizeof(T));
    }
    // The piece that all processes of the user, or of all users, find under a key; the first one makes it, all zero and
    // with all pages. Changes of T need another key. A file that can be no such piece is replaced. Fails with
    // ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    enum class Users { Own, All };
    template <class T>
    static std::shared_ptr<SharedMemory> open_or_create(const std::string &key, Users users) {
        return open_or_create(key, sizeof(T), users);
    }
    // Does a process use the piece of that name? Removes it if none does.
    static bool is_used(const std::string &name);
    // Removes what killed processes have left.
    static void remove_unused();
    // The number in a name: it stands for the name where a handle has no room for one.
    static std::string name_of(std::uint64_t number);
    static std::optional<std::uint64_t> number_of(const std::string &name);
    ~SharedMemory();
    SharedMemory(const SharedMemory &) = delete;
    SharedMemory &operator=(const SharedMemory &) = delete;

    const std::string &name() const { return name_; }
    std::uint64_t number() const { return *number_of(name_); }  // not of a piece with a key
    template <class T>
    T &as() const {
        return *static_cast<T *>(address_);
    }

    // Gives the host's pages to a part of the piece: a process that touches one which the host does not have is killed.
    // Fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    void reserve(const void *begin, std::size_t size) const;
    // false: another process has cut the file, or removed its name.
    bool is_whole() const;

    // Each byte of the piece has a lock, which the kernel takes back however the process ends. It belongs to this
    // object: another one of the same piece is excluded, in this process, too. Only Linux has such locks; try_lock
    // fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL where the host refuses them.
#ifdef __linux__
    static constexpr bool kHasLocks = true;
#else
    static constexpr bool kHasLocks = false;
#endif
    bool try_lock(std::size_t byte) const;
    void unlock(std::size_t byte) const noexcept;

  private:
    class Made {};  // for map() alone

  public:
    SharedMemory(Made, std::string name, int file, void *address, std::size_t size);

  private:
    static std::shared_ptr<SharedMemory> create(std::size_t size);
    static std::shared_ptr<SharedMemory> open(const std::string &name, std::size_t size);
    static std::shared_ptr<SharedMemory> open_or_create(const std::string &key, std::size_t size, Users users);
    // The following answer nullptr and leave the reason in errno.
    template <class Prepare>
    static std::shared_ptr<SharedMemory> open_existing(const std::string &name, std::size_t size, Prepare is_sound);
    template <class Prepare>
    static std::shared_ptr<SharedMemory> use(const std::string &name, int file, std::size_t size, Prepare prepare);
    static std::shared_ptr<SharedMemory> map(const std::string &name, int file, std::size_t size);

    const std::string name_;
    const int file_;
    void *const address_;
    const std::size_t size_;
};

}  // namespace aclsim
