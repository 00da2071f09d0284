/* A library that has nothing of its own: it is there by its name, and what is looked for in it is found in the runtime,
 * which it needs. Without a reference it would not, by the default of linkers. */
#include "abi/acl.h"

extern const char *(*const needs_the_runtime)(void);
const char *(*const needs_the_runtime)(void) = aclGetRecentErrMsg;
