/* SPDX-License-Identifier: Apache-2.0 */
/* The whole API under the name that programs include. Which of the headers beside it a program names does not matter:
 * each declares everything. */
#pragma once

#include "../../abi/acl.h"
#include "acl_mdl.h"
#include "acl_op_compiler.h"
