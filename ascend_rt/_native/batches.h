/* SPDX-License-Identifier: Apache-2.0 */
/* Batches and retentions, for the types of ascend_rt._native.handles: what they have for Python, and how they begin. */
#pragma once

#include "handles.h"

/* After Python.h. */
#include <structmember.h>

extern PyMethodDef retention_methods[];
extern PyGetSetDef retention_properties[];
extern PyMemberDef retention_members[];

/* The slot tp_new of batches. */
PyObject *batch_new(PyTypeObject *type, PyObject *args, PyObject *keywords);

/* A new retention, which Python cannot find yet, or NULL with an exception. */
retention *new_retention(void *stream, PyObject *epoch, uint64_t context);
/* Lets Python find what its stream keeps, which has just got its handle. */
void retention_begin(retention *self, void *stream);
/* The opposite, when it is discarded. */
void retention_leave(retention *self);

/* Adds functions to the module. */
bool batches_add(PyObject *module);
/* Frees the locks in a forked child. */
void batches_renew_locks(void);
/* Finds the class in Python, which retentions are of from then on. */
bool batches_connect(void);
