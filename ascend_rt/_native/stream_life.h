/* SPDX-License-Identifier: Apache-2.0 */
/* Creation and end of streams. */
#pragma once

#include "python_api.h"

/* Lets a new object own a new stream; the arguments are numbers, or NULL. Returns false with an exception. */
bool stream_create(PyObject *object, PyObject *priority, PyObject *flags);

/* Closes a stream; None, or NULL with an exception, after which it may be open still. */
PyObject *stream_end(PyObject *object, bool is_forced);

/* Finds what they need of modules in Python. */
bool stream_life_connect(void);
