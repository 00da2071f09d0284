/* SPDX-License-Identifier: Apache-2.0 */
/* For Python, whose calls callgrind cannot distinguish: it writes down its counts whenever this is called. */
#include <valgrind/callgrind.h>

void sampled(void);

void sampled(void) { CALLGRIND_DUMP_STATS; }
