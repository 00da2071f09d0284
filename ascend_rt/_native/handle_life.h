/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a handle, for the types of ascend_rt._native.handles: what they have for Python. */
#pragma once

#include "handles.h"

extern PyTypeObject *epoch_type;

extern PyMethodDef epoch_methods[], handle_methods[];
extern PyGetSetDef handle_properties[];

/* A property: whether anything lives in an epoch. */
PyObject *epoch_has_objects(PyObject *self, void *unused);

/* The slot tp_finalize. */
void handle_finalize(PyObject *object);
/* Takes the object out of its epoch. */
void handle_leave_epoch(handle *self);
/* Takes a view out of the list of its buffer. */
void handle_leave_views(buffer *view);

/* Adds the functions of the module, and finds what they need of the table. */
bool handle_life_add(PyObject *module, ascend_rt_shared *parts);
/* Frees the locks in a forked child. */
void handle_life_renew_locks(void);
