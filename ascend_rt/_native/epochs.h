/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs: what ascend_rt._native.handles and ascend_rt.pyacl._pyacl know of the life of a device. */
#pragma once

#include "python_api.h"

struct handle;

/* The time from the first of our references to a device to the last. Its end is that of the objects that live in it. */
typedef struct epoch {
    PyObject ob_base;
    struct handle *first; /* first of the objects that are open, or have ended with it */
    long device_id;       /* negative: of no device */
    bool is_over;
} epoch;

/* The epoch of an owner, which is an object of ascend_rt._runtime.lifecycle.Owner. */
static inline epoch *epoch_of(PyObject *owner) { return (epoch *)PyTuple_GetItem(owner, 0); }
