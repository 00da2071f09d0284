// SPDX-License-Identifier: Apache-2.0
#include "memory/content.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "support/config.h"
#include "support/descriptor.h"
#include "support/error.h"
#include "support/file_limit.h"
#include "support/host_error.h"
#include "support/pages.h"
#include "support/shared_memory.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

class PrivateContent final : public Content {
  public:
    PrivateContent(std::uint64_t size, std::shared_ptr<void> bytes) : Content(size), bytes_(std::move(bytes)) {}
    std::unique_ptr<Content> another() const override { return std::make_unique<PrivateContent>(size(), bytes_); }
    void *address() override { return bytes_.get(); }
    void write(const void *from, std::uint64_t size) override { std::memcpy(bytes_.get(), from, size); }
    void read(void *to, std::uint64_t size) override { std::memcpy(to, bytes_.get(), size); }

  private:
    const std::shared_ptr<void> bytes_;
};

[[noreturn]] void fail_to_allocate(std::uint64_t size, const std::string &reason) {
    fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has no memory for a shared buffer of %llu bytes: %s",
         static_cast<unsigned long long>(size), reason.c_str());
}

// Owner of the parts of this process. It has no contents.
struct Presence {
    std::uint64_t unused;
};

const SharedMemory &presence() {
    static const std::shared_ptr<SharedMemory> &piece = *new auto([] {
        auto made = SharedMemory::create<Presence>();
        made->own_parts();
        return made;
    }());  // never destroyed, like the simulator
    return *piece;
}

// Sets the size and reserves the pages: a process that touches a page which the host does not have is killed. Returns
// an error, or 0.
int enlarge(int file, std::uint64_t size) {
    if (ftruncate(file, static_cast<off_t>(size)) != 0) {
        return errno;
    }
    int error = 0;
#ifdef __linux__
    do {
        error = posix_fallocate(file, 0, static_cast<off_t>(size));
    } while (error == EINTR);
#endif
    return error;
}

std::string file_of(const std::string &name) { return SharedMemory::kDirectory + name; }

// Reads or writes all bytes at once or in steps. Returns false with the reason in errno, which is 0 at the end of the
// file.
template <class Byte, class Step>
bool move_all(int file, Byte *memory, std::uint64_t size, Step step) {
    for (std::uint64_t done = 0; done < size;) {
        errno = 0;
        const ssize_t count = step(file, memory + done, size - done, static_cast<off_t>(done));
        if (count <= 0 && errno != EINTR) {
            return false;
        }
        done += count > 0 ? static_cast<std::uint64_t>(count) : 0;
    }
    return true;
}

}  // namespace

std::unique_ptr<Content> Content::create(std::uint64_t size) {
    if (config().queues_are_on_device) {
        return SharedContent::create(size);
    }
    void *const bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        fail_to_allocate(size, std::strerror(errno));
    }
    keep_out_of_dumps(bytes, size);
    return std::make_unique<PrivateContent>(size, std::shared_ptr<void>(bytes, [size](void *it) { munmap(it, size); }));
}

// --- shared contents -------------------------------------------------------------------------------------------------

class SharedContent::File {
  public:
    File(const std::string &name, int flags)
        : number_(above_standard_files(shm_open(name.c_str(), O_RDWR | O_CLOEXEC | flags, S_IRUSR | S_IWUSR))) {}
    ~File() {
        if (number_ >= 0) {
            close(number_);
        }
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;
    int number() const { return number_; }
    bool is_open() const { return number_ >= 0; }
    bool has_size(std::uint64_t size) const {
        struct stat status = {};
        return is_open() && fstat(number_, &status) == 0 && S_ISREG(status.st_mode) &&
               static_cast<std::uint64_t>(status.st_size) == size;
    }

  private:
    const int number_;
};

std::string SharedContent::new_name() {
    static std::atomic<std::uint64_t> made{0};
    char suffix[24];
    std::snprintf(suffix, sizeof suffix, "%llx", static_cast<unsigned long long>(++made));
    return presence().part(suffix);
}

void SharedContent::fail_to_find() const {
    fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "another process has removed or truncated the shared buffer %s",
         file_of(name_).c_str());
}

std::unique_ptr<SharedContent> SharedContent::create(std::uint64_t size) {
    const Uncancelled uncancelled;
    const std::string problem = file_limit_problem(size);
    if (!problem.empty()) {
        fail_to_allocate(size, problem);
    }
    auto content = std::make_unique<SharedContent>(new_name(), size);
    const File file(content->name_, O_CREAT | O_EXCL);
    const int error = file.is_open() ? enlarge(file.number(), size) : errno;
    if (error != 0) {
        fail_to_allocate(size, describe_host_error(error, SharedMemory::kDirectory));
    }
    return content;
}

std::unique_ptr<Content> SharedContent::take(const std::string &name, std::uint64_t size) {
    const Uncancelled uncancelled;
    if (!File(name, 0).has_size(size)) {
        return nullptr;
    }
    auto content = std::make_unique<SharedContent>(name, size);
    content->rename(new_name());
    return content;
}

bool SharedContent::read(const std::string &name, void *to, std::uint64_t size) {
    const Uncancelled uncancelled;
    const File file(name, 0);
    return file.has_size(size) && move_all(file.number(), static_cast<char *>(to), size, pread);
}

void SharedContent::remove(const std::string &name) { shm_unlink(name.c_str()); }

SharedContent::~SharedContent() {
    const Uncancelled uncancelled;
    if (!name_.empty()) {
        shm_unlink(name_.c_str());
    }
    if (address_ != nullptr) {
        munmap(address_, size());
    }
}

std::unique_ptr<Content> SharedContent::another() const {
    const Uncancelled uncancelled;
    auto content = std::make_unique<SharedContent>(new_name(), size());
    if (link(file_of(name_).c_str(), file_of(content->name_).c_str()) != 0) {
        fail_to_find();
    }
    return content;
}

void *SharedContent::address() {
    const Uncancelled uncancelled;
    const File file(name_, 0);
    if (!file.has_size(size())) {
        fail_to_find();
    }
    if (address_ == nullptr) {
        void *const mapped = mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
        if (mapped == MAP_FAILED) {
            fail_to_allocate(size(), std::strerror(errno));
        }
#ifdef MADV_DONTFORK
        madvise(mapped, size(), MADV_DONTFORK);
#endif
        keep_out_of_dumps(mapped, size());
        address_ = mapped;
    }
    return address_;
}

void SharedContent::write(const void *from, std::uint64_t size) {
    const Uncancelled uncancelled;
    const File file(name_, 0);
    if (!file.has_size(this->size()) || !move_all(file.number(), static_cast<const char *>(from), size, pwrite)) {
        fail_to_find();
    }
}

void SharedContent::read(void *to, std::uint64_t size) {
    const Uncancelled uncancelled;
    const File file(name_, 0);
    if (!file.has_size(this->size()) || !move_all(file.number(), static_cast<char *>(to), size, pread)) {
        fail_to_find();
    }
}

// rename() does nothing if both names already are links of the same file.
void SharedContent::rename(const std::string &name) {
    if (::rename(file_of(name_).c_str(), file_of(name).c_str()) != 0) {
        fail_to_find();
    }
    shm_unlink(name_.c_str());
    name_ = name;
}

}  // namespace aclsim
