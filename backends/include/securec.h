/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded functions on memory, strings and formats, in libc_sec.so: each takes the size of its destination. Sizes are
 * numbers of characters, with the terminating null; those of memory are bytes, in functions on wide characters too.
 *
 * Functions that return errno_t return EOK or an error code. A code that ends in AND_RESET means that the destination
 * was emptied: memory is filled with zeros, a string ends at its first character.
 *
 * Functions that print return the number of characters, or -1, and functions that scan the number of items, or -1.
 * Conversions %s, %[ and %c of functions that scan take the size of the destination (size_t) after its address. */
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <wchar.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#define SECUREC_PRINTS(text, arguments) __attribute__((format(printf, text, arguments)))
#else
#define SECUREC_PRINTS(text, arguments)
#endif

#ifndef errno_t
typedef int errno_t;
#endif

#ifndef EOK
#define EOK 0
#endif
#define EINVAL_AND_RESET 150   /* an argument is NULL, or a string has no end */
#define ERANGE_AND_RESET 162   /* the destination is too small */
#define EOVERLAP_AND_RESET 182 /* the source overlaps the destination */

/* Larger sizes are refused with ERANGE. */
#define SECUREC_MEM_MAX_LEN 0x7fffffffUL
#define SECUREC_STRING_MAX_LEN 0x7fffffffUL
#define SECUREC_WCHAR_STRING_MAX_LEN (SECUREC_STRING_MAX_LEN / sizeof(wchar_t))
#define SECUREC_WCHAR_MEM_MAX_LEN (SECUREC_MEM_MAX_LEN / sizeof(wchar_t))

const char *GetHwSecureCVersion(unsigned short *verNumber);

errno_t memset_s(void *dest, size_t destMax, int c, size_t count);
errno_t memcpy_s(void *dest, size_t destMax, const void *src, size_t count);
errno_t memmove_s(void *dest, size_t destMax, const void *src, size_t count);
errno_t wmemcpy_s(wchar_t *dest, size_t destMax, const wchar_t *src, size_t count);
errno_t wmemmove_s(wchar_t *dest, size_t destMax, const wchar_t *src, size_t count);

errno_t strcpy_s(char *strDest, size_t destMax, const char *strSrc);
errno_t strncpy_s(char *strDest, size_t destMax, const char *strSrc, size_t count);
errno_t strcat_s(char *strDest, size_t destMax, const char *strSrc);
errno_t strncat_s(char *strDest, size_t destMax, const char *strSrc, size_t count);
char *strtok_s(char *strToken, const char *strDelimit, char **context);
errno_t wcscpy_s(wchar_t *strDest, size_t destMax, const wchar_t *strSrc);
errno_t wcsncpy_s(wchar_t *strDest, size_t destMax, const wchar_t *strSrc, size_t count);
errno_t wcscat_s(wchar_t *strDest, size_t destMax, const wchar_t *strSrc);
errno_t wcsncat_s(wchar_t *strDest, size_t destMax, const wchar_t *strSrc, size_t count);
wchar_t *wcstok_s(wchar_t *strToken, const wchar_t *strDelimit, wchar_t **context);

int sprintf_s(char *strDest, size_t destMax, const char *format, ...) SECUREC_PRINTS(3, 4);
int vsprintf_s(char *strDest, size_t destMax, const char *format, va_list argList) SECUREC_PRINTS(3, 0);
/* At most count characters are written, and -1 is returned if there are more. */
int snprintf_s(char *strDest, size_t destMax, size_t count, const char *format, ...) SECUREC_PRINTS(4, 5);
int vsnprintf_s(char *strDest, size_t destMax, size_t count, const char *format, va_list argList) SECUREC_PRINTS(4, 0);
/* A text that is too long is cut, and destMax - 1 is returned. */
int snprintf_truncated_s(char *strDest, size_t destMax, const char *format, ...) SECUREC_PRINTS(3, 4);
int vsnprintf_truncated_s(char *strDest, size_t destMax, const char *format, va_list argList) SECUREC_PRINTS(3, 0);
int swprintf_s(wchar_t *strDest, size_t destMax, const wchar_t *format, ...);
int vswprintf_s(wchar_t *strDest, size_t destMax, const wchar_t *format, va_list argList);

int scanf_s(const char *format, ...);
int vscanf_s(const char *format, va_list argList);
int sscanf_s(const char *buffer, const char *format, ...);
int vsscanf_s(const char *buffer, const char *format, va_list argList);
int fscanf_s(FILE *stream, const char *format, ...);
int vfscanf_s(FILE *stream, const char *format, va_list argList);
int wscanf_s(const wchar_t *format, ...);
int vwscanf_s(const wchar_t *format, va_list argList);
int swscanf_s(const wchar_t *buffer, const wchar_t *format, ...);
int vswscanf_s(const wchar_t *buffer, const wchar_t *format, va_list argList);
int fwscanf_s(FILE *stream, const wchar_t *format, ...);
int vfwscanf_s(FILE *stream, const wchar_t *format, va_list argList);

char *gets_s(char *buffer, size_t destMax);

/* Names of faster forms, which are functions here. */
#define memset_sp memset_s
#define memcpy_sp memcpy_s
#define strcpy_sp strcpy_s
#define strncpy_sp strncpy_s
#define strcat_sp strcat_s
#define strncat_sp strncat_s

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
