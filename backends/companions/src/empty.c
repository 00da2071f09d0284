/* A library that has nothing of its own: it is there by its name, and what is looked for in it is found in the runtime,
 * which it needs. Without a call it would not, by the default of linkers; and unwinders of stacks want a function. */
#include "abi/acl.h"

__attribute__((visibility("hidden"), used)) const char *needs_the_runtime(void) { return aclGetRecentErrMsg(); }
