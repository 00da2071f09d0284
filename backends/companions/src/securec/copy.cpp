// SPDX-License-Identifier: Apache-2.0
// Bounded functions on memory and strings.
#include <cstdint>
#include <cstring>
#include <cwchar>

#include "securec.h"

namespace {

// Functions on characters of either width.
std::size_t length(const char *text, std::size_t limit) { return strnlen(text, limit); }
std::size_t length(const wchar_t *text, std::size_t limit) { return wcsnlen(text, limit); }
const char *find(const char *set, char character) { return std::strchr(set, character); }
const wchar_t *find(const wchar_t *set, wchar_t character) { return std::wcschr(set, character); }

template <class Char>
constexpr std::size_t kLongest = SECUREC_STRING_MAX_LEN / sizeof(Char);

enum class Overlap { kRefused, kAllowed };

errno_t copy_memory(void *dest, std::size_t size, const void *src, std::size_t count, Overlap overlap) {
    if (size == 0 || size > SECUREC_MEM_MAX_LEN) {
        return ERANGE;
    }
    if (dest == nullptr) {
        return EINVAL;
    }
    const auto reset = [&](errno_t code) {
        std::memset(dest, 0, size);
        return code;
    };
    if (src == nullptr) {
        return reset(EINVAL_AND_RESET);
    }
    if (count > size) {
        return reset(ERANGE_AND_RESET);
    }
    const auto to = reinterpret_cast<std::uintptr_t>(dest);
    const auto from = reinterpret_cast<std::uintptr_t>(src);
    const bool overlaps = to < from ? from - to < count : to != from && to - from < count;
    if (overlaps && overlap == Overlap::kRefused) {
        return reset(EOVERLAP_AND_RESET);
    }
    std::memmove(dest, src, count);
    return EOK;
}

errno_t copy_wide(wchar_t *dest, std::size_t size, const wchar_t *src, std::size_t count, Overlap overlap) {
    if (size == 0 || size > SECUREC_WCHAR_MEM_MAX_LEN || (count > size && dest == nullptr)) {
        return ERANGE;
    }
    if (count > size) {
        std::memset(dest, 0, size * sizeof *dest);
        return ERANGE_AND_RESET;
    }
    return copy_memory(dest, size * sizeof *dest, src, count * sizeof *dest, overlap);
}

template <class Char>
errno_t reset(Char *dest, errno_t code) {
    dest[0] = 0;
    return code;
}

// Checks that all functions on strings begin with; returns EOK if the function may go on.
template <class Char>
errno_t check(Char *dest, std::size_t size, const Char *src) {
    if (size == 0 || size > kLongest<Char>) {
        return ERANGE;
    }
    if (dest == nullptr) {
        return EINVAL;
    }
    return src == nullptr ? reset(dest, EINVAL_AND_RESET) : EOK;
}

template <class Char>
errno_t copy_string(Char *dest, std::size_t size, const Char *src, std::size_t count) {
    if (const errno_t code = check(dest, size, src); code != EOK) {
        return code;
    }
    const std::size_t copied = length(src, count < size ? count : size);
    if (copied == size) {
        return reset(dest, ERANGE_AND_RESET);
    }
    if (dest < src ? dest + copied >= src : dest != src && src + copied >= dest) {
        return reset(dest, EOVERLAP_AND_RESET);
    }
    std::memmove(dest, src, copied * sizeof(Char));  // the source may be the destination
    dest[copied] = 0;
    return EOK;
}

template <class Char>
errno_t copy_part(Char *dest, std::size_t size, const Char *src, std::size_t count) {
    const errno_t code = check(dest, size, src);
    if (code == EOK && count > kLongest<Char>) {
        return reset(dest, ERANGE_AND_RESET);
    }
    return code == EOK ? copy_string(dest, size, src, count) : code;
}

// Appends what is found in the source within the limit, which depends on the room behind the string.
template <class Char, class Limit>
errno_t append(Char *dest, std::size_t size, const Char *src, Limit limit) {
    if (const errno_t code = check(dest, size, src); code != EOK) {
        return code;
    }
    const std::size_t kept = length(dest, size);
    const std::size_t rest = size - kept;
    const std::size_t added = length(src, limit(rest));
    const bool overlaps = dest < src ? dest + kept + added >= src : dest != src && src + added >= dest;
    if (overlaps && (kept < size || dest + kept > src)) {
        return reset(dest, EOVERLAP_AND_RESET);
    }
    if (added >= rest || dest == src) {
        return reset(dest, kept == size ? EINVAL_AND_RESET : ERANGE_AND_RESET);
    }
    std::memcpy(dest + kept, src, added * sizeof(Char));
    dest[kept + added] = 0;
    return EOK;
}

template <class Char>
errno_t append_all(Char *dest, std::size_t size, const Char *src) {
    return append(dest, size, src, [](std::size_t rest) { return rest; });
}

template <class Char>
errno_t append_part(Char *dest, std::size_t size, const Char *src, std::size_t count) {
    const errno_t code = check(dest, size, src);
    if (code == EOK && count > kLongest<Char>) {
        return reset(dest, ERANGE_AND_RESET);
    }
    return code == EOK ? append(dest, size, src, [=](std::size_t) { return count; }) : code;
}

template <class Char>
Char *token(Char *text, const Char *delimiters, Char **rest) {
    if (rest == nullptr || delimiters == nullptr || (text == nullptr && *rest == nullptr)) {
        return nullptr;
    }
    Char *begin = text == nullptr ? *rest : text;
    while (*begin != 0 && find(delimiters, *begin) != nullptr) {
        ++begin;
    }
    Char *end = begin;
    while (*end != 0 && find(delimiters, *end) == nullptr) {
        ++end;
    }
    *rest = end;
    if (*end != 0) {
        *end = 0;
        *rest = end + 1;
    }
    return begin == end ? nullptr : begin;
}

}  // namespace

// The release whose results the functions have.
const char *GetHwSecureCVersion(unsigned short *verNumber) {
    if (verNumber != nullptr) {
        *verNumber = 0x510;
    }
    return "1.1.16";
}

errno_t memset_s(void *dest, size_t destMax, int c, size_t count) {
    if (destMax > SECUREC_MEM_MAX_LEN || (destMax == 0 && count > 0)) {
        return ERANGE;
    }
    if (dest == nullptr) {
        return destMax == 0 ? ERANGE : EINVAL;
    }
    std::memset(dest, c, count > destMax ? destMax : count);
    return count > destMax ? ERANGE_AND_RESET : EOK;
}

errno_t memcpy_s(void *dest, size_t destMax, const void *src, size_t count) {
    return copy_memory(dest, destMax, src, count, Overlap::kRefused);
}

errno_t memmove_s(void *dest, size_t destMax, const void *src, size_t count) {
    return copy_memory(dest, destMax, src, count, Overlap::kAllowed);
}

errno_t wmemcpy_s(wchar_t *dest, size_t destMax, const wchar_t *src, size_t count) {
    return copy_wide(dest, destMax, src, count, Overlap::kRefused);
}

errno_t wmemmove_s(wchar_t *dest, size_t destMax, const wchar_t *src, size_t count) {
    return copy_wide(dest, destMax, src, count, Overlap::kAllowed);
}

errno_t strcpy_s(char *strDest, size_t destMax, const char *strSrc) {
    return copy_string(strDest, destMax, strSrc, destMax);
}

errno_t strncpy_s(char *strDest, size_t destMax, const char *strSrc, size_t count) {
    return copy_part(strDest, destMax, strSrc, count);
}

errno_t strcat_s(char *strDest, size_t destMax, const char *strSrc) { return append_all(strDest, destMax, strSrc); }

errno_t strncat_s(char *strDest, size_t destMax, const char *strSrc, size_t count) {
    return append_part(strDest, destMax, strSrc, count);
}

char *strtok_s(char *strToken, const char *strDelimit, char **context) { return token(strToken, strDelimit, context); }

errno_t wcscpy_s(wchar_t *strDest, size_t destMax, const wchar_t *strSrc) {
    return copy_string(strDest, destMax, strSrc, destMax);
}

errno_t wcsncpy_s(wchar_t *strDest, size_t destMax, const wchar_t *strSrc, size_t count) {
    return copy_part(strDest, destMax, strSrc, count);
}

errno_t wcscat_s(wchar_t *strDest, size_t destMax, const wchar_t *strSrc) {
    return append_all(strDest, destMax, strSrc);
}

errno_t wcsncat_s(wchar_t *strDest, size_t destMax, const wchar_t *strSrc, size_t count) {
    return append_part(strDest, destMax, strSrc, count);
}

wchar_t *wcstok_s(wchar_t *strToken, const wchar_t *strDelimit, wchar_t **context) {
    return token(strToken, strDelimit, context);
}

// Names that macros of the vendor's header call.
#pragma GCC visibility push(default)
extern "C" {
errno_t memset_sOptAsm(void *dest, size_t destMax, int c, size_t count) { return memset_s(dest, destMax, c, count); }
errno_t memset_sOptTc(void *dest, size_t destMax, int c, size_t count) { return memset_s(dest, destMax, c, count); }
errno_t memcpy_sOptAsm(void *dest, size_t destMax, const void *src, size_t count) {
    return memcpy_s(dest, destMax, src, count);
}
errno_t memcpy_sOptTc(void *dest, size_t destMax, const void *src, size_t count) {
    return memcpy_s(dest, destMax, src, count);
}
errno_t strcpy_error(char *strDest, size_t destMax, const char *strSrc) { return strcpy_s(strDest, destMax, strSrc); }
errno_t strncpy_error(char *strDest, size_t destMax, const char *strSrc, size_t count) {
    return strncpy_s(strDest, destMax, strSrc, count);
}
}
#pragma GCC visibility pop
