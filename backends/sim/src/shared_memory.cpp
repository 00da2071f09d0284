#include "shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <random>
#include <set>

#include "error.h"

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

std::string new_name() {
    static std::random_device random;
    std::string name = kPrefix + std::to_string(getpid());
    for (int i = 0; i < 2; ++i) {
        name += "-" + std::to_string(random());
    }
    return name;
}

}  // namespace

SharedMemory::Block *SharedMemory::map(int file) {
    void *address = mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return address == MAP_FAILED ? nullptr : static_cast<Block *>(address);
}

std::shared_ptr<SharedMemory> SharedMemory::create() {
    const std::string name = new_name();
    const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    Block *block = file >= 0 && ftruncate(file, sizeof(Block)) == 0 ? map(file) : nullptr;
    if (block == nullptr) {
        shm_unlink(name.c_str());
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host gives no shared memory for an IPC object");
    }
    block->users = 1;
    return std::shared_ptr<SharedMemory>(new SharedMemory(name, block));
}

std::shared_ptr<SharedMemory> SharedMemory::open(const std::string &name) {
    if (name.rfind(kPrefix, 0) != 0 || name.size() >= kNameSize) {
        return nullptr;
    }
    const int file = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
    struct stat status = {};
    if (file < 0 || fstat(file, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(Block))) {
        if (file >= 0) {
            close(file);
        }
        return nullptr;
    }
    Block *block = map(file);
    if (block == nullptr) {
        return nullptr;
    }
    std::uint32_t users = block->users.load();
    while (users > 0 && !block->users.compare_exchange_weak(users, users + 1)) {
    }
    if (users == 0) {  // its last user is about to remove it
        munmap(block, sizeof(Block));
        return nullptr;
    }
    return std::shared_ptr<SharedMemory>(new SharedMemory(name, block));
}

SharedMemory::SharedMemory(std::string name, Block *block) : name_(std::move(name)), block_(block) {
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
    munmap(block_, sizeof(Block));
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
