/* SPDX-License-Identifier: Apache-2.0 */
/* Types shared by all families. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int aclError;

typedef void *aclrtContext;

typedef void *aclrtStream;

typedef void *aclrtEvent;
