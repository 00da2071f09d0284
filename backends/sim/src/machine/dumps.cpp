// SPDX-License-Identifier: Apache-2.0
#include "machine/dumps.h"

#include <cstdlib>

#include "support/file.h"

namespace aclsim {
namespace {

std::string variable(const char *name) {
    const char *const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

Dumps::Dumps() {
    const std::string scene = variable("ASCEND_DUMP_SCENE");
    const std::string collected = variable("NPU_COLLECT_PATH");
    dumps_exceptions_ = scene == "aic_err_brief_dump" || scene == "aic_err_norm_dump" ||
                        scene == "aic_err_detail_dump" || !collected.empty();
    stays_on_ = dumps_exceptions_;
    exception_path_ = scene.empty() ? collected : "";
}

void Dumps::apply(const DumpConfig &config) {
    if (config.kind == DumpConfig::Kind::Exceptions && !dumps_exceptions_) {
        exception_path_ = config.path;
        stays_on_ = config.is_detailed;
        dumps_exceptions_ = true;
    } else if (config.kind == DumpConfig::Kind::Operators || config.kind == DumpConfig::Kind::Overflows) {
        data_directory_ = config.path + (config.path.back() == '/' ? "" : "/") + time_stamp();
    }
}

void Dumps::turn_off() {
    dumps_exceptions_ = dumps_exceptions_ && stays_on_;
    data_directory_.clear();
}

std::string Dumps::exception_directory() const {
    for (const std::string &path : {variable("ASCEND_DUMP_PATH"), variable("ASCEND_WORK_PATH"), exception_path_}) {
        if (!path.empty()) {
            return absolute_path(path) + "/extra-info/data-dump";
        }
    }
    return absolute_path("extra-info/data-dump");
}

}  // namespace aclsim
