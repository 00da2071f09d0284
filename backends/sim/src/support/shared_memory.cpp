// SPDX-License-Identifier: Apache-2.0
#include "support/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "support/descriptor.h"
#include "support/error.h"
#include "support/file_limit.h"
#include "support/host_error.h"
#include "support/thread_annotations.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

constexpr std::string_view kPrefix = "/ascend_rt-";
constexpr char kOfPart = SharedMemory::kOfPart;
constexpr const char *kDirectory = SharedMemory::kDirectory;

struct FileInUse {
    std::string name;
    bool owns_parts = false;
};

// Files that this process uses. The mutex is held from the opening of a file until its entry is in
// the map, so that a fork finds every file.
struct Files {
    std::mutex mutex;
    std::map<int, FileInUse> in_use;
    std::atomic<bool> are_given_up{false};  // set at exit
};

Files &files() {
    static Files *instance = new Files();  // never destroyed: the exit handler uses it
    return *instance;
}

// Holds the mutex during a fork, so that the child's copy of it is free and the list complete.
void before_fork() NO_THREAD_SAFETY_ANALYSIS { files().mutex.lock(); }

void after_fork() NO_THREAD_SAFETY_ANALYSIS { files().mutex.unlock(); }

// Closes the files in a forked child. The child does not use them, because all its calls fail, but it would keep the
// locks of its parent: they last as long as any process has the file open or mapped. map() excludes the mappings from
// the child.
void close_in_child() {
    for (const auto &[file, used] : files().in_use) {
        close(file);
    }
    files().in_use.clear();
    after_fork();
}

[[maybe_unused]] const int g_follows_forks = pthread_atfork(before_fork, after_fork, close_in_child);

// Number of attempts: a process that removes unused files may find a new file before its creator has locked it.
constexpr int kAttempts = 10;

// Meanings of errors in this file.
constexpr int kRemoved = ESTALE;
constexpr int kKeptLocked = EWOULDBLOCK;
constexpr int kWrongSize = EINVAL;  // shm_open also sets it for a directory
constexpr int kNotOwn = EPERM;

// Returns true if the error shows that the file has no users: they would share the lock, and would look for another
// file if it was truncated or its name removed.
bool can_be_replaced(int error) { return error == kKeptLocked || error == kWrongSize || error == kNotOwn; }

std::string reason_of(int error) {
    switch (error) {
        case kRemoved:
            return "other processes remove it again and again";
        case kKeptLocked:
            return "another process, which may be stopped, keeps it locked; end that process or remove the file";
        case kWrongSize:
            return "it is a directory, or its size is wrong; remove it";
        case kNotOwn:
            return "it belongs to another user, or others may write to it; remove the file";
        case ENOENT:
        case ENOTDIR:
            return describe_host_error(error, kDirectory) + "; mount a tmpfs at /dev/shm";
        case EACCES:
        case EROFS:
            return describe_host_error(error, kDirectory) + "; let this user write to /dev/shm";
        default:
            return describe_host_error(error, kDirectory);
    }
}

// Returns a random number. Requires the mutex of files().
std::uint64_t random_number() {
    static std::random_device random;
    return static_cast<std::uint64_t>(random()) << 32 | random();
}

// Number of a file: the process ID, which makes names easy to attribute, and random bits, which distinguish its pieces.
constexpr int kRandomBits = 40;

std::uint64_t number_of_new_file() {
    return static_cast<std::uint64_t>(getpid()) << kRandomBits | (random_number() & ((1ULL << kRandomBits) - 1));
}

int open_file(const std::string &name, int more_flags) {
    return above_standard_files(shm_open(name.c_str(), O_RDWR | O_CLOEXEC | more_flags, S_IRUSR | S_IWUSR));
}

std::string path_of(const std::string &name) { return kDirectory + name; }

bool has_name(int file) {
    struct stat status = {};
    return fstat(file, &status) == 0 && status.st_nlink > 0;
}

// Exceeds the time that the removal of a file takes, unless the removing process was stopped.
constexpr std::chrono::seconds kPatience(1);

// Becomes a user of the file; returns false if it was removed meanwhile or a process keeps it locked.
bool lock_shared(int file) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (flock(file, LOCK_SH | LOCK_NB) != 0) {
        if ((errno != kKeptLocked && errno != EINTR) || std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    errno = kRemoved;
    return has_name(file);
}

// Ends the use of the file, and removes its name if there is no other user; returns true in that case. If two users end
// at once, at least one finds no other user: the kernel releases the shared lock before it tries to acquire the
// exclusive one. The name of a removed file may already be that of a new one. The name of another user's file stays
// (the directory is sticky) until a process of that user, or of root, ends its use or starts.
bool end_use(int file, const std::string &name) {
    const bool is_unused = flock(file, LOCK_EX | LOCK_NB) == 0;
    if (is_unused && has_name(file)) {
        shm_unlink(name.c_str());
    }
    flock(file, LOCK_UN);
    return is_unused;
}

template <class Action>
void for_each_file(Action action) {
    DIR *directory = opendir(kDirectory);
    if (directory == nullptr) {
        return;
    }
    while (const dirent *found = readdir(directory)) {
        if (std::strncmp(found->d_name, kPrefix.data() + 1, kPrefix.size() - 1) == 0) {
            action(std::string("/") + found->d_name);
        }
    }
    closedir(directory);
}

// Does the same for a piece that may own parts.
void end_use(int file, const FileInUse &used) {
    if (end_use(file, used.name) && used.owns_parts) {
        const std::string beginning = used.name + kOfPart;
        for_each_file([&](const std::string &name) {
            if (name.compare(0, beginning.size(), beginning) == 0) {
                shm_unlink(name.c_str());
            }
        });
    }
}

// Runs at exit. The memory stays mapped and the bytes stay locked, because other threads and later destructors may use
// them.
void end_all_use() {
    const std::lock_guard<std::mutex> guard(files().mutex);
    for (const auto &[file, used] : files().in_use) {
        end_use(file, used);
    }
    files().in_use.clear();
    files().are_given_up = true;
}

bool has_size(int file, std::size_t size) {
    struct stat status = {};
    const bool is_known = fstat(file, &status) == 0;
    errno = is_known ? kWrongSize : errno;
    return is_known && S_ISREG(status.st_mode) && status.st_size == static_cast<off_t>(size);
}

// Returns true if the file belongs to this user alone: another user could truncate it and so end the processes that use
// it.
bool is_own(int file) {
    struct stat status = {};
    const bool is_known = fstat(file, &status) == 0;
    errno = is_known ? kNotOwn : errno;
    return is_known && status.st_uid == geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

bool set_size(int file, std::size_t size) { return ftruncate(file, static_cast<off_t>(size)) == 0; }

bool reserve_pages(int file, std::size_t offset, std::size_t size) {
#ifdef __linux__
    do {
        errno = posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(size));
    } while (errno == EINTR);
    return errno == 0;
#else
    static_cast<void>(file);
    static_cast<void>(offset);
    static_cast<void>(size);
    return true;
#endif
}

void require_file_limit(std::size_t size) {
    const std::string problem = file_limit_problem(size);
    if (!problem.empty()) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "shared memory is a file of %zu bytes: %s", size, problem.c_str());
    }
}

// Gives the file its name when it is complete, including permissions and pages, so that no process finds a partial
// file. Returns an error, or 0 if a file of that name exists now.
int publish(const std::string &name, std::size_t size, SharedMemory::Users users) {
    require_file_limit(size);
    const std::string draft = SharedMemory::name_of(number_of_new_file());
    const int file = open_file(draft, O_CREAT | O_EXCL);
    if (file < 0) {
        return errno;
    }
    constexpr mode_t kForOwn = S_IRUSR | S_IWUSR;
    constexpr mode_t kForAll = kForOwn | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
    const bool is_complete = lock_shared(file) &&
                             fchmod(file, users == SharedMemory::Users::All ? kForAll : kForOwn) == 0 &&
                             set_size(file, size) && reserve_pages(file, 0, size);
    // link() fails if another process was first.
    const bool is_there = is_complete && (link(path_of(draft).c_str(), path_of(name).c_str()) == 0 || errno == EEXIST);
    const int error = is_there ? 0 : errno;
    shm_unlink(draft.c_str());
    close(file);
    return error;
}

[[noreturn]] void fail_to_share(const char *what, const std::string &name, int error) {
    fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "no shared memory for %s: %s: %s (errno %d)", what, path_of(name).c_str(),
         reason_of(error).c_str(), error);
}

constexpr char kIpcObject[] = "an IPC object";

#ifdef __linux__
constexpr int kSetLock = F_OFD_SETLK;
#else
constexpr int kSetLock = F_SETLK;
#endif

struct flock lock_of(std::size_t byte, int type) {
    struct flock lock = {};
    lock.l_type = static_cast<short>(type);
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(byte);
    lock.l_len = 1;
    return lock;
}

}  // namespace

std::uint64_t own_process() {
    static const std::uint64_t number = [] {
        const std::lock_guard<std::mutex> guard(files().mutex);
        return random_number();
    }();
    return number;
}

void SharedMemory::remove_unused() {
    for_each_file([](const std::string &name) {
        const std::size_t end_of_owner = name.find(kOfPart);
        if (end_of_owner != std::string::npos) {
            if (!is_used(name.substr(0, end_of_owner))) {
                shm_unlink(name.c_str());
            }
        } else if (const int file = open_file(name, 0); file >= 0) {
            end_use(file, name);
            close(file);
        }
    });
}

void SharedMemory::own_parts() const {
    const std::lock_guard<std::mutex> guard(files().mutex);
    const auto found = files().in_use.find(file_);
    if (found != files().in_use.end()) {
        found->second.owns_parts = true;
    }
}

std::string SharedMemory::name_of(std::uint64_t number) {
    char name[kNameSize];
    std::snprintf(name, sizeof name, "/ascend_rt-%llu.%llx", static_cast<unsigned long long>(number >> kRandomBits),
                  static_cast<unsigned long long>(number & ((1ULL << kRandomBits) - 1)));
    return name;
}

std::optional<std::uint64_t> SharedMemory::number_of(const std::string &name) {
    unsigned long long process = 0;
    unsigned long long bits = 0;
    if (std::sscanf(name.c_str(), "/ascend_rt-%llu.%llx", &process, &bits) != 2) {
        return std::nullopt;
    }
    const std::uint64_t number = process << kRandomBits | bits;
    return name == name_of(number) ? std::optional(number) : std::nullopt;
}

std::shared_ptr<SharedMemory> SharedMemory::map(const std::string &name, int file, std::size_t size) {
    files().in_use.emplace(file, FileInUse{name});
    void *address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (address == MAP_FAILED) {
        files().in_use.erase(file);
        return nullptr;
    }
#ifdef MADV_DONTFORK
    madvise(address, size, MADV_DONTFORK);
#endif
    try {
        return std::make_shared<SharedMemory>(Made(), name, file, address, size);
    } catch (const std::bad_alloc &) {
        munmap(address, size);
        files().in_use.erase(file);
        throw;
    }
}

std::shared_ptr<SharedMemory> SharedMemory::create(std::size_t size) {
    require_file_limit(size);
    const Uncancelled uncancelled;
    const std::lock_guard<std::mutex> guard(files().mutex);
    for (int attempt = 0;; ++attempt) {
        const std::string name = name_of(number_of_new_file());
        const int file = open_file(name, O_CREAT | O_EXCL);
        const auto fill = [&] { return set_size(file, size) && reserve_pages(file, 0, std::min(size, kFirstBytes)); };
        std::shared_ptr<SharedMemory> piece = file < 0 ? nullptr : use(name, file, size, fill);
        if (piece != nullptr) {
            return piece;
        }
        if (errno != kRemoved || attempt == kAttempts) {
            fail_to_share(kIpcObject, name, errno);
        }
    }
}

// Opens files without O_CREAT, because Linux refuses another user's file with it (fs.protected_regular).
std::shared_ptr<SharedMemory> SharedMemory::open_or_create(const std::string &key, std::size_t size, Users users) {
    const Uncancelled uncancelled;
    const std::lock_guard<std::mutex> guard(files().mutex);
    const std::string name = std::string(kPrefix) + key;
    const auto is_sound = [&](int file) { return (users == Users::All || is_own(file)) && has_size(file, size); };
    for (int attempt = 0;; ++attempt) {
        std::shared_ptr<SharedMemory> piece = open_existing(name, size, is_sound);
        if (piece != nullptr) {
            return piece;
        }
        const int error = errno;
        const bool is_free = error == ENOENT || error == kRemoved ||
                             (can_be_replaced(error) && (shm_unlink(name.c_str()) == 0 || errno == ENOENT));
        const int reason = is_free ? publish(name, size, users) : error;
        if ((reason != 0 && reason != kRemoved) || attempt == kAttempts) {
            fail_to_share("a card", name, reason != 0 ? reason : error);
        }
    }
}

std::shared_ptr<SharedMemory> SharedMemory::open(const std::string &name, std::size_t size) {
    const Uncancelled uncancelled;
    const std::lock_guard<std::mutex> guard(files().mutex);
    std::shared_ptr<SharedMemory> piece;
    if (number_of(name)) {
        piece = open_existing(name, size, [size](int file) { return has_size(file, size); });
        if (piece == nullptr && is_shortage(errno)) {
            fail_to_share(kIpcObject, name, errno);
        }
    }
    return piece;
}

template <class Prepare>
std::shared_ptr<SharedMemory> SharedMemory::open_existing(const std::string &name, std::size_t size, Prepare is_sound) {
    const int file = open_file(name, 0);
    return file < 0 ? nullptr : use(name, file, size, [&] { return is_sound(file); });
}

template <class Prepare>
std::shared_ptr<SharedMemory> SharedMemory::use(const std::string &name, int file, std::size_t size, Prepare prepare) {
    std::shared_ptr<SharedMemory> piece;
    const auto give_up = [&] {
        const int error = errno;
        end_use(file, name);
        close(file);
        errno = error;
    };
    try {
        piece = lock_shared(file) && prepare() ? map(name, file, size) : nullptr;
    } catch (const std::bad_alloc &) {
        give_up();
        throw;
    }
    if (piece == nullptr) {
        give_up();
    }
    return piece;
}

bool SharedMemory::is_used(const std::string &name) {
    const int file = open_file(name, 0);
    if (file < 0) {
        return errno != ENOENT;
    }
    const bool is_unused = end_use(file, name);
    close(file);
    return !is_unused;
}

SharedMemory::SharedMemory(Made, std::string name, int file, void *address, std::size_t size)
    : name_(std::move(name)), file_(file), address_(address), size_(size) {
    static const int registered = std::atexit(end_all_use);
    (void)registered;
}

SharedMemory::~SharedMemory() {
    const Uncancelled uncancelled;
    const std::lock_guard<std::mutex> guard(files().mutex);
    const auto found = files().in_use.find(file_);
    if (found != files().in_use.end()) {
        end_use(file_, found->second);
        files().in_use.erase(found);
        close(file_);
    }
    munmap(address_, size_);
}

void SharedMemory::reserve(const void *begin, std::size_t size) const {
    const auto offset = static_cast<std::size_t>(static_cast<const char *>(begin) - static_cast<char *>(address_));
    if (!reserve_pages(file_, offset, size)) {
        fail_to_share(kIpcObject, name_, errno);
    }
}

// Asks for the end of the file: less than half the time of fstat, which looks at all else too.
bool SharedMemory::has_its_size() const { return lseek(file_, 0, SEEK_END) == static_cast<off_t>(size_); }

// Accepts a removed name at exit: the names are removed then, but the memory is used to the end.
bool SharedMemory::has_its_name() const {
    struct stat status = {};
    return fstat(file_, &status) == 0 && (status.st_nlink > 0 || files().are_given_up);
}

bool SharedMemory::try_lock(std::size_t byte) const {
    struct flock wanted = lock_of(byte, F_WRLCK);
    const int code = fcntl(file_, kSetLock, &wanted);
    if (code != 0 && errno != EAGAIN && errno != EACCES) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host does not lock shared memory: %s", std::strerror(errno));
    }
    return code == 0;
}

void SharedMemory::unlock(std::size_t byte) const noexcept {
    struct flock given_up = lock_of(byte, F_UNLCK);
    fcntl(file_, kSetLock, &given_up);  // cannot fail for a byte whose neighbours are not locked
}

}  // namespace aclsim
