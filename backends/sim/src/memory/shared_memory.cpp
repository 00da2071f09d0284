#include "memory/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <set>

#include "support/error.h"

namespace aclsim {
namespace {

constexpr char kPrefix[] = "/ascend_rt-";

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

// The process's number, so that leftovers of a killed one are recognised, and what tells its pieces apart.
constexpr int kRandomBits = 40;

std::uint64_t new_number() {
    static std::random_device random;
    const std::uint64_t bits = static_cast<std::uint64_t>(random()) << 32 | random();
    return static_cast<std::uint64_t>(getpid()) << kRandomBits | (bits & ((1ULL << kRandomBits) - 1));
}

constexpr std::size_t whole_size(std::size_t data_size) { return data_size + 64; }

}  // namespace

std::string SharedMemory::name_of(std::uint64_t number) {
    char name[kNameSize];
    std::snprintf(name, sizeof name, "%s%llu-%llx", kPrefix, static_cast<unsigned long long>(number >> kRandomBits),
                  static_cast<unsigned long long>(number & ((1ULL << kRandomBits) - 1)));
    return name;
}

SharedMemory::Block *SharedMemory::map(int file, std::size_t size) {
    void *address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return address == MAP_FAILED ? nullptr : static_cast<Block *>(address);
}

std::shared_ptr<SharedMemory> SharedMemory::create(std::size_t data_size) {
    const std::uint64_t number = new_number();
    const std::string name = name_of(number);
    const std::size_t size = whole_size(data_size);
    const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    Block *block = file >= 0 && ftruncate(file, static_cast<off_t>(size)) == 0 ? map(file, size) : nullptr;
    if (block == nullptr) {
        shm_unlink(name.c_str());
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host gives no shared memory for an IPC object");
    }
    block->users = 1;
    return std::shared_ptr<SharedMemory>(new SharedMemory(number, block, size));
}

std::shared_ptr<SharedMemory> SharedMemory::open(const std::string &name, std::size_t data_size) {
    unsigned long long process = 0;
    unsigned long long bits = 0;
    char rest = 0;
    if (std::sscanf(name.c_str(), "/ascend_rt-%llu-%llx%c", &process, &bits, &rest) != 2) {
        return nullptr;
    }
    const std::uint64_t number = process << kRandomBits | bits;
    const std::size_t size = whole_size(data_size);
    const int file = name == name_of(number) ? shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0) : -1;
    struct stat status = {};
    if (file < 0 || fstat(file, &status) != 0 || status.st_size != static_cast<off_t>(size)) {
        if (file >= 0) {
            close(file);
        }
        return nullptr;
    }
    Block *block = map(file, size);
    if (block == nullptr) {
        return nullptr;
    }
    std::uint32_t users = block->users.load();
    while (users > 0 && !block->users.compare_exchange_weak(users, users + 1)) {
    }
    if (users == 0) {  // its last user is about to remove it
        munmap(block, size);
        return nullptr;
    }
    return std::shared_ptr<SharedMemory>(new SharedMemory(number, block, size));
}

SharedMemory::SharedMemory(std::uint64_t number, Block *block, std::size_t size)
    : number_(number), name_(name_of(number)), block_(block), size_(size) {
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
    munmap(block_, size_);
}

void SharedMemory::release() {
    if (block_->users.fetch_sub(1) == 1) {
        shm_unlink(name_.c_str());
    }
}

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
