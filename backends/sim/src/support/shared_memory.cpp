#include "support/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <set>

#include "support/error.h"

namespace aclsim {
namespace {

// The pieces of this process. A process that ends without having given them back does so at its exit, but not a forked
// child: they are its parent's.
struct Live {
    std::mutex mutex;
    std::set<SharedMemory *> pieces;
    pid_t owner = getpid();
};

Live &live() {
    static Live *instance = new Live();  // never destroyed: the exit handler uses it
    return *instance;
}

// Another process that removes what nobody uses may find a new file before its creator has locked it.
constexpr int kAttempts = 10;

// The process's number, which makes names easy to attribute, and what tells its pieces apart.
constexpr int kRandomBits = 40;

std::uint64_t new_number() {
    static std::random_device random;
    const std::uint64_t bits = static_cast<std::uint64_t>(random()) << 32 | random();
    return static_cast<std::uint64_t>(getpid()) << kRandomBits | (bits & ((1ULL << kRandomBits) - 1));
}

int open_file(const std::string &name, int more_flags) {
    return shm_open(name.c_str(), O_RDWR | O_CLOEXEC | more_flags, S_IRUSR | S_IWUSR);
}

// Becomes a user of the file; false: it was removed meanwhile.
bool lock_shared(int file) {
    int code = 0;
    do {
        code = flock(file, LOCK_SH);  // waits for at most the time that a removal takes
    } while (code != 0 && errno == EINTR);
    struct stat status = {};
    return code == 0 && fstat(file, &status) == 0 && status.st_nlink > 0;
}

// Ends the use of the file, and removes its name if there is no other user. Of two that end at once, one at least finds
// none: the kernel gives up the shared lock before it tries for the exclusive one.
void unlock(int file, const std::string &name) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        shm_unlink(name.c_str());
    }
    close(file);
}

}  // namespace

void SharedMemory::remove_unused() {
    DIR *directory = opendir("/dev/shm");
    if (directory == nullptr) {
        return;
    }
    while (const dirent *found = readdir(directory)) {
        const std::string name = std::string("/") + found->d_name;
        if (number_of(name)) {
            const int file = open_file(name, 0);
            if (file >= 0) {
                unlock(file, name);
            }
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

std::shared_ptr<SharedMemory> SharedMemory::map(std::uint64_t number, int file, std::size_t size) {
    void *address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (address == MAP_FAILED) {
        return nullptr;
    }
    return std::shared_ptr<SharedMemory>(new SharedMemory(number, file, address, size));
}

std::shared_ptr<SharedMemory> SharedMemory::create(std::size_t size) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const std::uint64_t number = new_number();
        const int file = open_file(name_of(number), O_CREAT | O_EXCL);
        if (file < 0) {
            break;
        }
        std::shared_ptr<SharedMemory> piece;
        if (lock_shared(file) && ftruncate(file, static_cast<off_t>(size)) == 0) {
            piece = map(number, file, size);
        }
        if (piece != nullptr) {
            return piece;
        }
        unlock(file, name_of(number));
    }
    fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host gives no shared memory for an IPC object");
}

std::shared_ptr<SharedMemory> SharedMemory::open(const std::string &name, std::size_t size) {
    const std::optional<std::uint64_t> number = number_of(name);
    const int file = number ? open_file(name, 0) : -1;
    if (file < 0) {
        return nullptr;
    }
    std::shared_ptr<SharedMemory> piece;
    struct stat status = {};
    if (lock_shared(file) && fstat(file, &status) == 0 && status.st_size == static_cast<off_t>(size)) {
        piece = map(*number, file, size);
    }
    if (piece == nullptr) {
        unlock(file, name);
    }
    return piece;
}

SharedMemory::SharedMemory(std::uint64_t number, int file, void *address, std::size_t size)
    : number_(number), name_(name_of(number)), file_(file), address_(address), size_(size) {
    static const int registered = std::atexit(release_all);
    (void)registered;
    const std::lock_guard<std::mutex> guard(live().mutex);
    live().pieces.insert(this);
}

SharedMemory::~SharedMemory() {
    const std::lock_guard<std::mutex> guard(live().mutex);
    if (live().pieces.erase(this) > 0) {
        release();
    }
    munmap(address_, size_);
}

void SharedMemory::release() { unlock(file_, name_); }

// The memory stays mapped: a worker may still use it.
void SharedMemory::release_all() {
    if (getpid() != live().owner) {
        return;
    }
    const std::lock_guard<std::mutex> guard(live().mutex);
    for (SharedMemory *piece : live().pieces) {
        piece->release();
    }
    live().pieces.clear();
}

}  // namespace aclsim
