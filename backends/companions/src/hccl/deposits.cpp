// SPDX-License-Identifier: Apache-2.0
#include "hccl/deposits.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>

#include "hccl/descriptors.h"

namespace hccl {
namespace {

constexpr std::size_t kSlots = 64;
using Returned = std::atomic<std::uint32_t>;
static_assert(Returned::is_always_lock_free, "processes share it");

// Beginning of the pages.
struct Header {
    std::uint64_t mark;
    Returned returned[kSlots];  // not 0: the receiver has given the place back
};
constexpr std::size_t kHeader = 4096;
static_assert(sizeof(Header) <= kHeader);
constexpr std::size_t kCapacity = std::size_t{4} << 20;  // bytes of messages
constexpr std::size_t kSize = kHeader + kCapacity;
// Messages are read where they lie, as numbers of any type. Each begins in a line of the cache.
constexpr std::size_t kAlignment = 64;
static_assert(kHeader % kAlignment == 0 && kCapacity % kAlignment == 0);
constexpr const char *kName = "ascend_rt_hccl";
// The size is final: an access beyond the end of a file ends the process.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Header &header(const SharedPages &pages) { return *reinterpret_cast<Header *>(pages.data()); }
Returned &returned(const SharedPages &pages, std::uint64_t slot) { return header(pages).returned[slot]; }

// Any other file is not opened: that may have effects.
bool is_shared_pages(const std::string &path) {
    char target[64] = "";
    const ssize_t size = readlink(path.c_str(), target, sizeof target - 1);
    return size > 0 && std::string(target).rfind(std::string("/memfd:") + kName, 0) == 0;
}

}  // namespace

// --- pages -----------------------------------------------------------------------------------------------------------

std::unique_ptr<SharedPages> SharedPages::create() {
    Socket file(open_descriptor([] { return memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING); }));
    std::uint64_t mark = 0;
    const bool is_ready = file.is_open() && ftruncate(file.descriptor(), static_cast<off_t>(kSize)) == 0 &&
                          fcntl(file.descriptor(), F_ADD_SEALS, kSeals) == 0 &&
                          getrandom(&mark, sizeof mark, 0) == static_cast<ssize_t>(sizeof mark);
    std::unique_ptr<SharedPages> pages = is_ready ? map(std::move(file)) : nullptr;
    if (pages != nullptr) {
        header(*pages).mark = mark;
    }
    return pages;
}

std::unique_ptr<SharedPages> SharedPages::open(std::int64_t process, std::uint64_t descriptor, std::uint64_t mark) {
    const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    if (!is_shared_pages(path)) {
        return nullptr;
    }
    Socket file(open_descriptor([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK); }));
    struct stat known{};
    const bool is_ready = file.is_open() && fcntl(file.descriptor(), F_GET_SEALS) == kSeals &&
                          fstat(file.descriptor(), &known) == 0 && known.st_size == static_cast<off_t>(kSize);
    std::unique_ptr<SharedPages> pages = is_ready ? map(std::move(file)) : nullptr;
    if (pages == nullptr || pages->mark() != mark) {
        return nullptr;
    }
    pages->close_file();
    return pages;
}

std::unique_ptr<SharedPages> SharedPages::map(Socket file) {
    void *const pages = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
    return pages == MAP_FAILED ? nullptr : std::unique_ptr<SharedPages>(new SharedPages(std::move(file), pages));
}

SharedPages::~SharedPages() { munmap(pages_, kSize); }

char *SharedPages::data() const { return static_cast<char *>(pages_); }

std::uint64_t SharedPages::mark() const { return header(*this).mark; }

// --- messages --------------------------------------------------------------------------------------------------------

// Messages lie one behind the other, and begin anew at the end. Without any, they begin where the cache is warm.
std::optional<std::size_t> Outbox::room_for(std::size_t size) const {
    if (used_.size() == kSlots || size > kCapacity) {
        return std::nullopt;
    }
    if (used_.empty()) {
        return 0;
    }
    const std::size_t begin = used_.front().begin, end = used_.back().end;
    if (begin < end) {
        return kCapacity - end >= size ? std::optional(end)
               : begin >= size         ? std::optional(std::size_t{0})
                                       : std::nullopt;
    }
    return begin - end >= size ? std::optional(end) : std::nullopt;
}

std::optional<Deposit> Outbox::put(const void *data, std::size_t size) {
    while (!used_.empty() && returned(*pages_, used_.front().slot).load(std::memory_order_acquire) != 0) {
        used_.pop_front();
    }
    const std::size_t used = (size + kAlignment - 1) / kAlignment * kAlignment;
    const std::optional<std::size_t> room = room_for(used);
    if (!room) {
        return std::nullopt;
    }
    const std::uint64_t slot = slots_++ % kSlots;
    used_.push_back({*room, *room + used, slot});
    returned(*pages_, slot).store(0, std::memory_order_relaxed);
    std::memcpy(pages_->data() + kHeader + *room, data, size);
    return Deposit{*room, slot};
}

bool Inbox::may_hold(const Deposit &deposit, std::size_t size) {
    return deposit.slot < kSlots && size <= kCapacity && deposit.offset <= kCapacity - size;
}

const char *Inbox::message(const Deposit &deposit) const { return pages_->data() + kHeader + deposit.offset; }

void Inbox::give_back(const Deposit &deposit) const {
    returned(*pages_, deposit.slot).store(1, std::memory_order_release);
}

}  // namespace hccl
