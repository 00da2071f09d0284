#include "support/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <string_view>
#include <utility>

#include "support/error.h"
#include "support/file_limit.h"
#include "support/thread_annotations.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

constexpr std::string_view kPrefix = "/ascend_rt-";
constexpr char kDirectory[] = "/dev/shm";  // where the names are files

// The files that this process uses, with their names. The mutex is held from the opening of a file until it is here, so
// that a fork finds every file.
struct Files {
    std::mutex mutex;
    std::map<int, std::string> names;
};

Files &files() {
    static Files *instance = new Files();  // never destroyed: the exit handler uses it
    return *instance;
}

// No other thread has the mutex at a fork: the child's copy of it is free, and the list complete.
void before_fork() NO_THREAD_SAFETY_ANALYSIS { files().mutex.lock(); }

void after_fork() NO_THREAD_SAFETY_ANALYSIS { files().mutex.unlock(); }

// A forked child is no user, because every call of it fails, but would keep the locks of its parent: they last as long
// as any process has the file open, or mapped (map() sees to that).
void close_in_child() {
    for (const auto &[file, name] : files().names) {
        close(file);
    }
    files().names.clear();
    after_fork();
}

[[maybe_unused]] const int g_follows_forks = pthread_atfork(before_fork, after_fork, close_in_child);

// Another process that removes what nobody uses may find a new file before its creator has locked it.
constexpr int kAttempts = 10;

// The process's number, which makes names easy to attribute, and what tells its pieces apart.
constexpr int kRandomBits = 40;

std::uint64_t number_of_new_file() {
    static std::random_device random;
    const std::uint64_t bits = static_cast<std::uint64_t>(random()) << 32 | random();
    return static_cast<std::uint64_t>(getpid()) << kRandomBits | (bits & ((1ULL << kRandomBits) - 1));
}

int open_file(const std::string &name, int more_flags) {
    return shm_open(name.c_str(), O_RDWR | O_CLOEXEC | more_flags, S_IRUSR | S_IWUSR);
}

std::string path_of(const std::string &name) { return kDirectory + name; }

bool has_name(int file) {
    struct stat status = {};
    return fstat(file, &status) == 0 && status.st_nlink > 0;
}

// Becomes a user of the file; false: it was removed meanwhile.
bool lock_shared(int file) {
    int code = 0;
    do {
        code = flock(file, LOCK_SH);  // waits for at most the time that a removal takes
    } while (code != 0 && errno == EINTR);
    return code == 0 && has_name(file);
}

// Ends the use of the file, and removes its name if there is no other user. Of two that end at once, one at least finds
// none: the kernel gives up the shared lock before it tries for the exclusive one. The name of a file that was removed
// may be that of a new one by now. The name of another user's file stays (the directory is sticky) until a process of
// that user, or of root, ends its use or starts.
void end_use(int file, const std::string &name) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && has_name(file)) {
        shm_unlink(name.c_str());
    }
    flock(file, LOCK_UN);
}

// At exit. The memory stays mapped and the bytes stay locked: other threads, and what is destroyed later, may use them.
void end_all_use() {
    const std::lock_guard<std::mutex> guard(files().mutex);
    for (const auto &[file, name] : files().names) {
        end_use(file, name);
    }
    files().names.clear();
}

bool has_size(int file, std::size_t size) {
    struct stat status = {};
    return fstat(file, &status) == 0 && status.st_size == static_cast<off_t>(size);
}

bool set_size(int file, std::size_t size) { return ftruncate(file, static_cast<off_t>(size)) == 0; }

// With its pages: a process that looks at one which the host does not have is killed.
bool reserve(int file, std::size_t size) {
#ifdef __linux__
    int code = 0;
    do {
        code = posix_fallocate(file, 0, static_cast<off_t>(size));
    } while (code == EINTR);
    return code == 0;
#else
    return set_size(file, size);
#endif
}

void require_file_limit(std::size_t size) {
    const std::string problem = file_limit_problem(size);
    if (!problem.empty()) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "shared memory is a file of %zu bytes: %s", size, problem.c_str());
    }
}

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

void SharedMemory::remove_unused() {
    DIR *directory = opendir(kDirectory);
    if (directory == nullptr) {
        return;
    }
    while (const dirent *found = readdir(directory)) {
        const std::string name = std::string("/") + found->d_name;
        const int file = name.compare(0, kPrefix.size(), kPrefix) == 0 ? open_file(name, 0) : -1;
        if (file >= 0) {
            end_use(file, name);
            close(file);
        }
    }
    closedir(directory);
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
    files().names.emplace(file, name);
    void *address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (address == MAP_FAILED) {
        files().names.erase(file);
        return nullptr;
    }
#ifdef MADV_DONTFORK
    madvise(address, size, MADV_DONTFORK);
#endif
    try {
        return std::make_shared<SharedMemory>(Made(), name, file, address, size);
    } catch (const std::bad_alloc &) {
        munmap(address, size);
        files().names.erase(file);
        throw;
    }
}

std::shared_ptr<SharedMemory> SharedMemory::create(std::size_t size) {
    require_file_limit(size);
    const Uncancelled uncancelled;
    const std::lock_guard<std::mutex> guard(files().mutex);
    std::shared_ptr<SharedMemory> piece;
    for (int attempt = 0; attempt < kAttempts && piece == nullptr; ++attempt) {
        const std::string name = name_of(number_of_new_file());
        const int file = open_file(name, O_CREAT | O_EXCL);
        if (file < 0) {
            break;
        }
        piece = use(name, file, size, set_size);
    }
    if (piece == nullptr) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host gives no shared memory for an IPC object");
    }
    return piece;
}

// The file gets the key's name when it is complete, permissions and pages included, so that nobody finds half of one.
void SharedMemory::publish(const std::string &name, std::size_t size) {
    require_file_limit(size);
    const std::string draft = name_of(number_of_new_file());
    const int file = open_file(draft, O_CREAT | O_EXCL);
    if (file < 0) {
        return;
    }
    constexpr mode_t kForAll = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
    if (lock_shared(file) && fchmod(file, kForAll) == 0 && reserve(file, size)) {
        // fails if another process was first
        (void)!link(path_of(draft).c_str(), path_of(name).c_str());
    }
    shm_unlink(draft.c_str());
    close(file);
}

// Without O_CREAT, with which Linux refuses another user's file (fs.protected_regular).
std::shared_ptr<SharedMemory> SharedMemory::open_or_create(const std::string &key, std::size_t size) {
    const Uncancelled uncancelled;
    const std::lock_guard<std::mutex> guard(files().mutex);
    const std::string name = std::string(kPrefix) + key;
    std::shared_ptr<SharedMemory> piece = open_existing(name, size);
    for (int attempt = 0; attempt < kAttempts && piece == nullptr; ++attempt) {
        publish(name, size);
        piece = open_existing(name, size);
    }
    return piece;
}

std::shared_ptr<SharedMemory> SharedMemory::open(const std::string &name, std::size_t size) {
    const Uncancelled uncancelled;
    const std::lock_guard<std::mutex> guard(files().mutex);
    return number_of(name) ? open_existing(name, size) : nullptr;
}

std::shared_ptr<SharedMemory> SharedMemory::open_existing(const std::string &name, std::size_t size) {
    const int file = open_file(name, 0);
    return file < 0 ? nullptr : use(name, file, size, has_size);
}

std::shared_ptr<SharedMemory> SharedMemory::use(const std::string &name, int file, std::size_t size,
                                                bool (*prepare)(int, std::size_t)) {
    std::shared_ptr<SharedMemory> piece;
    const auto give_up = [&] {
        end_use(file, name);
        close(file);
    };
    try {
        piece = lock_shared(file) && prepare(file, size) ? map(name, file, size) : nullptr;
    } catch (const std::bad_alloc &) {
        give_up();
        throw;
    }
    if (piece == nullptr) {
        give_up();
    }
    return piece;
}

SharedMemory::SharedMemory(Made, std::string name, int file, void *address, std::size_t size)
    : name_(std::move(name)), file_(file), address_(address), size_(size) {
    static const int registered = std::atexit(end_all_use);
    (void)registered;
}

SharedMemory::~SharedMemory() {
    const Uncancelled uncancelled;
    const std::lock_guard<std::mutex> guard(files().mutex);
    if (files().names.erase(file_) > 0) {
        end_use(file_, name_);
        close(file_);
    }
    munmap(address_, size_);
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
