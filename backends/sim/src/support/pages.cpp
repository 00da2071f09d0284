// SPDX-License-Identifier: Apache-2.0
#include "support/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; refused before
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

namespace aclsim {
namespace {

constexpr int kAccess = PROT_READ | PROT_WRITE;
constexpr int kAddressesOnly = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

}  // namespace

void *reserve_addresses(std::uint64_t size, void *wish) {
    void *found = mmap(wish, size, kAccess, kAddressesOnly | (wish == nullptr ? 0 : MAP_FIXED_NOREPLACE), -1, 0);
    if (found == MAP_FAILED) {
        return nullptr;
    }
    if (wish != nullptr && found != wish) {  // older kernels treat the wish as a hint
        munmap(found, size);
        return nullptr;
    }
    keep_out_of_dumps(found, size);
    return found;
}

void prefer_large_pages(void *address, std::uint64_t size) {
#ifdef MADV_HUGEPAGE
    madvise(address, size, MADV_HUGEPAGE);
#else
    (void)address;
    (void)size;
#endif
}

void make_large_page(void *address) {
    (void)*static_cast<volatile char *>(address);  // a page must be there
    madvise(address, kLargePage, MADV_COLLAPSE);
}

void discard_pages(void *address, std::uint64_t size) { madvise(address, size, MADV_DONTNEED); }

void clear_addresses(void *address, std::uint64_t size) {
    mmap(address, size, kAccess, kAddressesOnly | MAP_FIXED, -1, 0);
    keep_out_of_dumps(address, size);
}

void give_addresses_back(void *address, std::uint64_t size) { munmap(address, size); }

bool has_pages(const void *address, std::uint64_t size) {
    const std::uintptr_t offset =
        reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(getpagesize());
    auto *begin = const_cast<char *>(static_cast<const char *>(address)) - offset;
    return msync(begin, size + offset, MS_ASYNC) == 0;  // starts nothing, and fails if nothing is mapped
}

void populate_pages(const void *address, std::uint64_t size) {
#ifdef MADV_POPULATE_READ
    madvise(const_cast<void *>(address), size, MADV_POPULATE_READ);
#else
    (void)address;
    (void)size;
#endif
}

void *reserve_inaccessible(std::uint64_t size) {
    void *found = mmap(nullptr, size, PROT_NONE, kAddressesOnly, -1, 0);
    return found == MAP_FAILED ? nullptr : found;
}

bool make_accessible(void *address, std::uint64_t size) { return mprotect(address, size, kAccess) == 0; }

void keep_out_of_dumps(void *address, std::uint64_t size) {
#ifdef MADV_DONTDUMP
    madvise(address, size, MADV_DONTDUMP);
#else
    (void)address;
    (void)size;
#endif
}

}  // namespace aclsim
