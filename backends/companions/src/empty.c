/* Source of libraries without public functions. Programs load them by name; symbols looked up in them are found in the
 * runtime, on which they depend. The function below is needed for two reasons: by default, linkers drop a dependency
 * that is never called, and stack unwinders expect a library to contain a function. */
#include "abi/acl.h"

__attribute__((visibility("hidden"), used)) const char *needs_the_runtime(void) { return aclGetRecentErrMsg(); }
