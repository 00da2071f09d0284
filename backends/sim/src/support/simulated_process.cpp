// SPDX-License-Identifier: Apache-2.0
#include "support/config.h"
#include "support/findings.h"
#include "support/json.h"

namespace aclsim {

CheckedProcess checked_process() {
    return {
        "ascend_rt simulator", config().check_directory,
        R"("product":)" + quoted(config().product->name) + R"(,"checks":)" + json_strings(names_of_checks(config()))};
}

}  // namespace aclsim
