/* The whole API, family by family. build_ffi.py reads the families in this order too: types come before their use.
 *
 * The family headers are plain declarations: comments, #include, #define NAME NUMBER and C declarations, nothing else,
 * so that a C compiler and cffi read the same text. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#include "base.h"
#include "error.h"
#include "init.h"
#include "config.h"
#include "device.h"
#include "context.h"
#include "stream.h"
#include "event.h"
#include "memory.h"
#include "copy.h"
#include "callback.h"
#include "execution.h"
#include "exception.h"
#include "aclsim.h"

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
