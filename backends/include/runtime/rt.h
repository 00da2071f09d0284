/* SPDX-License-Identifier: Apache-2.0 */
/* The inner functions of the runtime (rt*), in libruntime.so. Programs include this header or those that it names. */
#pragma once

#include "base.h"
#include "config.h"
#include "context.h"
#include "dev.h"
#include "event.h"
#include "kernel.h"
#include "mem.h"
#include "rt_model.h"
#include "stream.h"
