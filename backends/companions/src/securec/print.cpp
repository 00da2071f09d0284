// SPDX-License-Identifier: Apache-2.0
// Bounded functions that print.
#include <cstdarg>
#include <cstdio>
#include <cwchar>

#include "securec.h"

namespace {

template <class Char>
int failed(Char *dest, std::size_t size) {
    if (dest != nullptr && size > 0 && size <= SECUREC_STRING_MAX_LEN / sizeof(Char)) {
        dest[0] = 0;
    }
    return -1;
}

template <class Char>
bool is_usable(const Char *dest, std::size_t size, const Char *format) {
    return dest != nullptr && format != nullptr && size > 0 && size <= SECUREC_STRING_MAX_LEN / sizeof(Char);
}

}  // namespace

int vsprintf_s(char *strDest, size_t destMax, const char *format, va_list argList) {
    if (!is_usable(strDest, destMax, format)) {
        return failed(strDest, destMax);
    }
    const int printed = std::vsnprintf(strDest, destMax, format, argList);
    return printed < 0 || static_cast<std::size_t>(printed) >= destMax ? failed(strDest, destMax) : printed;
}

int vsnprintf_s(char *strDest, size_t destMax, size_t count, const char *format, va_list argList) {
    if (!is_usable(strDest, destMax, format) || count >= SECUREC_STRING_MAX_LEN) {
        return failed(strDest, destMax);
    }
    const bool is_cut_short = count < destMax;
    const int printed = std::vsnprintf(strDest, is_cut_short ? count + 1 : destMax, format, argList);
    if (printed < 0) {
        return failed(strDest, destMax);
    }
    if (is_cut_short) {
        return static_cast<std::size_t>(printed) > count ? -1 : printed;
    }
    return static_cast<std::size_t>(printed) < destMax ? printed : failed(strDest, destMax);
}

int vsnprintf_truncated_s(char *strDest, size_t destMax, const char *format, va_list argList) {
    if (!is_usable(strDest, destMax, format)) {
        return failed(strDest, destMax);
    }
    const int printed = std::vsnprintf(strDest, destMax, format, argList);
    if (printed < 0) {
        return failed(strDest, destMax);
    }
    return static_cast<std::size_t>(printed) < destMax ? printed : static_cast<int>(destMax - 1);
}

int vswprintf_s(wchar_t *strDest, size_t destMax, const wchar_t *format, va_list argList) {
    if (!is_usable(strDest, destMax, format)) {
        return failed(strDest, destMax);
    }
    const int printed = std::vswprintf(strDest, destMax, format, argList);
    return printed < 0 ? failed(strDest, destMax) : printed;
}

int sprintf_s(char *strDest, size_t destMax, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int printed = vsprintf_s(strDest, destMax, format, arguments);
    va_end(arguments);
    return printed;
}

int snprintf_s(char *strDest, size_t destMax, size_t count, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int printed = vsnprintf_s(strDest, destMax, count, format, arguments);
    va_end(arguments);
    return printed;
}

int snprintf_truncated_s(char *strDest, size_t destMax, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int printed = vsnprintf_truncated_s(strDest, destMax, format, arguments);
    va_end(arguments);
    return printed;
}

int swprintf_s(wchar_t *strDest, size_t destMax, const wchar_t *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int printed = vswprintf_s(strDest, destMax, format, arguments);
    va_end(arguments);
    return printed;
}
