#pragma once

#include "rt.h"
