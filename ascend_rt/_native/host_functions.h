/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of Python functions in a stream; see ascend_rt/callback.py. */
#pragma once

#include "aclrt_support.h"
#include "python_api.h"

/* Adds the type of calls, and what is known of them, to ascend_rt._native.handles; returns whether that worked. */
bool host_functions_add(PyObject *module, const ascend_rt_shared *parts);

/* Returns a call that is not launched yet. Takes the arguments, a tuple, and the keywords, a dictionary or NULL. */
PyObject *host_function_call(uint64_t stream, PyObject *function, PyObject *arguments, PyObject *keywords);
/* Keeps a call until it has run, or forgets it. */
bool host_function_keep(PyObject *call);
void host_function_forget(PyObject *call);
void host_function_launched(PyObject *call);

/* Returns true if any call is kept; and if the calling thread runs one. */
bool host_functions_are_pending(void);
bool host_function_is_inside(void);

/* The function that the runtime calls, with the call; it enters Python while the gate is open. */
void host_function_run(void *call);
