/* SPDX-License-Identifier: Apache-2.0 */
/* Calls through two libraries, each compiled with optimization and without frame pointers. */
#ifndef NESTED_CALLS_H
#define NESTED_CALLS_H

typedef void (*nested_function)(int);

#ifdef __cplusplus
extern "C" {
#endif

void outer_level(nested_function function, int argument);    /* calls inner_level() */
void inner_level(nested_function function, int argument);    /* calls the function */
void with_array(nested_function function, int argument);     /* with an array of that size on the stack */
void with_alignment(nested_function function, int argument); /* with a variable that realigns the stack */

#ifdef __cplusplus
}
#endif

#endif
