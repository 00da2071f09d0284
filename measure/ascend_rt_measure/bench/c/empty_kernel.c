/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that the launches are measured with: a function of this host, which does nothing. */
#include "aclsim_kernel.h"

ACLSIM_KERNEL(empty) {}
ACLSIM_PARAMETERS(empty, 8)
