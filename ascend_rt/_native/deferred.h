/* SPDX-License-Identifier: Apache-2.0 */
/* Discarded objects that could not be closed at once. They are closed before the next stream or pool
 * allocation, and when a device is synchronized (close_deferred in ascend_rt._runtime.lifecycle). */
#pragma once

#include "handles.h"

void defer_closing(PyObject *object);
/* Returns true if objects wait for a call that closes them. */
bool has_deferred(void);

/* Adds the objects to the module. */
bool deferred_add(PyObject *module);
/* Frees the lock in a forked child. */
void deferred_renew_locks(void);
