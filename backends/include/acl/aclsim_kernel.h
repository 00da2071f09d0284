#pragma once

#include "../../abi/aclsim_kernel.h"
