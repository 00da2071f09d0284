/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into programs by `ascend-rt check`: lets system calls use pinned memory that the race check protects.
 *
 * A load or store at a protected page is noted, and goes on. A system call would fail there with EFAULT, so each of
 * these functions first uses the pages itself, as the system call will. Other memory is not touched: a call may expect
 * that it fails. */
#undef _FILE_OFFSET_BITS /* pread and pread64 are two functions */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Pinned memory; the simulator sets it. */
struct pinned_memory {
    uintptr_t begin, size;
};
extern struct pinned_memory ascend_rt_pinned_memory;
struct pinned_memory ascend_rt_pinned_memory __attribute__((visibility("default"))) = {0, 0};

enum use { IS_READ, IS_WRITTEN };

static void use_byte(char *byte, enum use use) {
    if (use == IS_WRITTEN) {
        __atomic_fetch_add(byte, 0, __ATOMIC_RELAXED); /* a store that changes nothing, even if other threads store */
    } else {
        (void)*(volatile char *)byte;
    }
}

static void use_memory(const void *memory, size_t size, enum use use) {
    const uintptr_t begin = (uintptr_t)memory;
    if (begin - ascend_rt_pinned_memory.begin >= ascend_rt_pinned_memory.size) {
        return;
    }
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (uintptr_t at = begin; at < begin + size; at = (at / page + 1) * page) {
        use_byte((char *)at, use);
    }
}

static void use_pieces(const struct iovec *pieces, int count, enum use use) {
    for (int i = 0; pieces != NULL && i < count; ++i) {
        use_memory(pieces[i].iov_base, pieces[i].iov_len, use);
    }
}

static void use_message(const struct msghdr *message, enum use use) {
    if (message != NULL) {
        use_pieces(message->msg_iov, (int)message->msg_iovlen, use);
    }
}

/* Defines a function that uses memory and calls the one that it replaces. */
#define FOLLOW(result, name, parameters, arguments, use)                    \
    __attribute__((visibility("default"))) result name parameters;          \
    result name parameters {                                                \
        static __typeof__(name) *next;                                      \
        __typeof__(name) *found = __atomic_load_n(&next, __ATOMIC_RELAXED); \
        if (found == NULL) {                                                \
            found = (__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name); \
            __atomic_store_n(&next, found, __ATOMIC_RELAXED);               \
        }                                                                   \
        use;                                                                \
        return found arguments;                                             \
    }

/* clang-format off */
FOLLOW(ssize_t, read, (int file, void *to, size_t size), (file, to, size), use_memory(to, size, IS_WRITTEN))
FOLLOW(ssize_t, pread, (int file, void *to, size_t size, off_t at), (file, to, size, at),
       use_memory(to, size, IS_WRITTEN))
FOLLOW(ssize_t, pread64, (int file, void *to, size_t size, off64_t at), (file, to, size, at),
       use_memory(to, size, IS_WRITTEN))
FOLLOW(ssize_t, readv, (int file, const struct iovec *to, int count), (file, to, count),
       use_pieces(to, count, IS_WRITTEN))
FOLLOW(ssize_t, preadv, (int file, const struct iovec *to, int count, off_t at), (file, to, count, at),
       use_pieces(to, count, IS_WRITTEN))
FOLLOW(ssize_t, preadv64, (int file, const struct iovec *to, int count, off64_t at), (file, to, count, at),
       use_pieces(to, count, IS_WRITTEN))
FOLLOW(ssize_t, preadv64v2, (int file, const struct iovec *to, int count, off64_t at, int flags),
       (file, to, count, at, flags), use_pieces(to, count, IS_WRITTEN))
FOLLOW(ssize_t, recv, (int socket, void *to, size_t size, int flags), (socket, to, size, flags),
       use_memory(to, size, IS_WRITTEN))
FOLLOW(ssize_t, recvfrom, (int socket, void *restrict to, size_t size, int flags, struct sockaddr *restrict from,
       socklen_t *restrict length), (socket, to, size, flags, from, length), use_memory(to, size, IS_WRITTEN))
FOLLOW(ssize_t, recvmsg, (int socket, struct msghdr *message, int flags), (socket, message, flags),
       use_message(message, IS_WRITTEN))
FOLLOW(size_t, fread, (void *restrict to, size_t size, size_t count, FILE *restrict file), (to, size, count, file),
       use_memory(to, size * count, IS_WRITTEN))
FOLLOW(ssize_t, write, (int file, const void *from, size_t size), (file, from, size), use_memory(from, size, IS_READ))
FOLLOW(ssize_t, pwrite, (int file, const void *from, size_t size, off_t at), (file, from, size, at),
       use_memory(from, size, IS_READ))
FOLLOW(ssize_t, pwrite64, (int file, const void *from, size_t size, off64_t at), (file, from, size, at),
       use_memory(from, size, IS_READ))
FOLLOW(ssize_t, writev, (int file, const struct iovec *from, int count), (file, from, count),
       use_pieces(from, count, IS_READ))
FOLLOW(ssize_t, pwritev, (int file, const struct iovec *from, int count, off_t at), (file, from, count, at),
       use_pieces(from, count, IS_READ))
FOLLOW(ssize_t, pwritev64, (int file, const struct iovec *from, int count, off64_t at), (file, from, count, at),
       use_pieces(from, count, IS_READ))
FOLLOW(ssize_t, pwritev64v2, (int file, const struct iovec *from, int count, off64_t at, int flags),
       (file, from, count, at, flags), use_pieces(from, count, IS_READ))
FOLLOW(ssize_t, send, (int socket, const void *from, size_t size, int flags), (socket, from, size, flags),
       use_memory(from, size, IS_READ))
FOLLOW(ssize_t, sendto, (int socket, const void *from, size_t size, int flags, const struct sockaddr *to,
       socklen_t length), (socket, from, size, flags, to, length), use_memory(from, size, IS_READ))
FOLLOW(ssize_t, sendmsg, (int socket, const struct msghdr *message, int flags), (socket, message, flags),
       use_message(message, IS_READ))
FOLLOW(size_t, fwrite, (const void *restrict from, size_t size, size_t count, FILE *restrict file),
       (from, size, count, file), use_memory(from, size * count, IS_READ))
/* clang-format on */
