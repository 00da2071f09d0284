#pragma once

#include "hccl.h"
