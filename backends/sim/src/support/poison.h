// SPDX-License-Identifier: Apache-2.0
// Annotations for the address sanitizer on memory that comes from no allocator: parts that are free, and memory that
// contains pointers.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace aclsim {

#ifdef __SANITIZE_ADDRESS__
inline void poison(const void *memory, std::size_t size) { __asan_poison_memory_region(memory, size); }
inline void unpoison(const void *memory, std::size_t size) { __asan_unpoison_memory_region(memory, size); }
inline void announce_pointers(const void *memory, std::size_t size) { __lsan_register_root_region(memory, size); }
#else
inline void poison(const void *, std::size_t) {}
inline void unpoison(const void *, std::size_t) {}
inline void announce_pointers(const void *, std::size_t) {}
#endif

}  // namespace aclsim
