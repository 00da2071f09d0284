// SPDX-License-Identifier: Apache-2.0
// The "dump" section of a configuration file, as aclInit and aclmdlSetDump read it (dumps.md section 2).
#pragma once

#include <cstdint>
#include <string>

#include "support/json.h"

namespace aclsim {

struct DumpConfig {
    enum class Kind : std::uint8_t {
        None,
        Operators,   // inputs and outputs of operators: libraries of operators write them
        Overflows,   // the same for operators that overflow
        Exceptions,  // arguments and memory of kernels that fail
    };
    Kind kind = Kind::None;
    bool is_detailed = false;  // dump_scene is aic_err_detail_dump
    std::string path{};        // as it is given
};

// Reads the section of a whole configuration. Fails with ACL_ERROR_INVALID_DUMP_CONFIG.
DumpConfig read_dump_config(const Json &configuration);

}  // namespace aclsim
