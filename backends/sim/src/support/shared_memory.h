// SPDX-License-Identifier: Apache-2.0
// Named memory shared by processes: the basis of IPC events, IPC notifies, exports of memory and the accounts of shared
// cards.
//
// Every user holds a shared lock on the file of the piece, which the kernel releases however the process ends. A piece
// is unused if an exclusive lock on it can be acquired. The last user removes the name, or, if it was killed, the next
// process that starts the simulator. Unlike process IDs, locks mean the same to processes in different containers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace aclsim {

// Returns a number that no other process has in any container, unlike process IDs, which are per container.
std::uint64_t own_process();

class SharedMemory {
  public:
    static constexpr char kDirectory[] = "/dev/shm";  // names are files here
    static constexpr char kOfPart = '+';              // between the owner's name and the suffix in the name of a part
    static constexpr std::size_t kNameSize = 48;  // including the terminator; fits an IPC key and an IPC event handle

    // Creates a piece for a T, all zero. Its first bytes have pages of the host; bytes after them must be reserved
    // before they are read or written. Fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    static constexpr std::size_t kFirstBytes = 4096;
    template <class T>
    static std::shared_ptr<SharedMemory> create() {
        return create(sizeof(T));
    }
    // Returns the piece of that name, or nullptr if there is none for a T. Fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL
    // if the host cannot open it.
    template <class T>
    static std::shared_ptr<SharedMemory> open(const std::string &name) {
        return open(name, sizeof(T));
    }
    // Returns the piece that all processes of the user, or of all users, find under a key. The first process creates
    // it, all zero and with all pages. Changes of T need another key. An invalid file under the name is replaced. Fails
    // with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    enum class Users { Own, All };
    template <class T>
    static std::shared_ptr<SharedMemory> open_or_create(const std::string &key, Users users) {
        return open_or_create(key, sizeof(T), users);
    }
    // Returns true if a process uses the piece of that name; otherwise removes it.
    static bool is_used(const std::string &name);
    // Removes pieces left by killed processes.
    static void remove_unused();
    // Number in a name; it replaces the name in handles that have no room for one.
    static std::string name_of(std::uint64_t number);
    static std::optional<std::uint64_t> number_of(const std::string &name);
    ~SharedMemory();
    SharedMemory(const SharedMemory &) = delete;
    SharedMemory &operator=(const SharedMemory &) = delete;

    // Parts of a piece: further files, which need no open descriptor and no lock to stay. A part is in use while its
    // owner is; the process that removes the owner's name, or finds a part without an owner, removes it. own_parts()
    // comes before the first part. A part's name is that of the owner and a suffix.
    void own_parts() const;
    std::string part(const std::string &suffix) const { return name_ + kOfPart + suffix; }

    const std::string &name() const { return name_; }
    std::uint64_t number() const { return *number_of(name_); }  // invalid for a piece with a key
    template <class T>
    T &as() const {
        return *static_cast<T *>(address_);
    }

    // Reserves pages of the host for a part of the piece: a process that touches a page which the host does not have is
    // killed. Fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    void reserve(const void *begin, std::size_t size) const;
    // Return false if another process has truncated the file, or removed its name.
    bool has_its_size() const;
    bool has_its_name() const;

    // Each byte of the piece has a lock, which the kernel releases however the process ends. The lock belongs to this
    // object and excludes other objects of the same piece, even in this process. Only Linux has such locks; try_lock
    // fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL if the host refuses them.
#ifdef __linux__
    static constexpr bool kHasLocks = true;
#else
    static constexpr bool kHasLocks = false;
#endif
    bool try_lock(std::size_t byte) const;
    void unlock(std::size_t byte) const noexcept;

  private:
    class Made {};  // restricts the constructor to map()

  public:
    SharedMemory(Made, std::string name, int file, void *address, std::size_t size);

  private:
    static std::shared_ptr<SharedMemory> create(std::size_t size);
    static std::shared_ptr<SharedMemory> open(const std::string &name, std::size_t size);
    static std::shared_ptr<SharedMemory> open_or_create(const std::string &key, std::size_t size, Users users);
    // Private functions that return nullptr and leave the reason in errno.
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
