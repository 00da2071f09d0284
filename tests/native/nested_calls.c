/* SPDX-License-Identifier: Apache-2.0 */
#include "nested_calls.h"

#include <alloca.h>
#include <string.h>

/* Keeps a call from being the last one, which would take the frame of its caller. */
static void stay(void) { __asm__ volatile("" ::: "memory"); }

#ifdef NESTED_OUTER
void outer_level(nested_function function, int argument) {
    char text[40];
    memset(text, argument, sizeof text);
    __asm__ volatile("" ::"r"(text) : "memory");
    inner_level(function, argument);
    stay();
}
#else
void inner_level(nested_function function, int argument) {
    function(argument);
    stay();
}

void with_array(nested_function function, int argument) {
    char *array = alloca((size_t)argument);
    memset(array, argument, (size_t)argument);
    __asm__ volatile("" ::"r"(array) : "memory");
    function(argument);
    stay();
}

void with_alignment(nested_function function, int argument) {
    _Alignas(256) char aligned[256];
    memset(aligned, argument, sizeof aligned);
    __asm__ volatile("" ::"r"(aligned) : "memory");
    function(argument);
    stay();
}
#endif
