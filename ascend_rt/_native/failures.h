/* SPDX-License-Identifier: Apache-2.0 */
/* The types of ascend_rt._native.handles that know of failures; ascend_rt._runtime.failures explains them. */
#pragma once

#include "handles.h"

extern PyTypeObject *life_type, *failure_log_type, *error_window_type;

/* Adds the types. */
bool failures_add(PyObject *module, ascend_rt_shared *parts);

/* Find the classes of these types in Python, which are made here from then on. */
bool failures_connect(void);

/* New objects, or NULL with an exception. */
life *new_life(void *stream, PyObject *epoch);
failure_log *new_failure_log(void);
/* The first of a stream. */
error_window *first_error_window(life *of, failure_log *log);

/* Returns true if the stream was destroyed, by its owner or with its context. */
static inline bool life_is_over(const life *self) {
    return LOAD(self->is_destroyed) || LOAD(((epoch *)self->epoch)->is_over);
}
