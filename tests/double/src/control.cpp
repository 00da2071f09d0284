// SPDX-License-Identifier: Apache-2.0
#include "control.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "settings.h"

namespace unforgiving {
namespace {

constexpr char kPlain[] = "ASCEND_RT_DOUBLE_PLAIN";
constexpr char kPrefix[] = "ASCEND_RT_SIM_";

}  // namespace

void require_control(const Site &site) {
    if (std::getenv(kPlain) == nullptr) {
        return;
    }
    const std::string line = std::string("double: ") + site.name +
                             ": the official library would end the process here: it has no such function; a test that "
                             "needs the function has the mark simulator\n";
    std::fputs(line.c_str(), stderr);
    if (FILE *const log = settings().log.empty() ? nullptr : std::fopen(settings().log.c_str(), "a")) {
        const char *const test = std::getenv("PYTEST_CURRENT_TEST");
        std::fprintf(log, "%s: %s", test == nullptr ? "" : test, line.c_str());
        std::fclose(log);
    }
    std::abort();
}

HiddenVariables::HiddenVariables() {
    const char *const value = std::getenv(kPlain);
    if (value == nullptr) {
        return;
    }
    const std::string visible = std::string(",") + value + ",";
    for (char **entry = environ; *entry != nullptr; ++entry) {
        const std::string variable = *entry;
        const std::string name = variable.substr(0, variable.find('='));
        if (name.rfind(kPrefix, 0) == 0 && visible.find("," + name + ",") == std::string::npos) {
            hidden_.emplace_back(name, variable.substr(name.size() + 1));
        }
    }
    for (const auto &it : hidden_) {
        unsetenv(it.first.c_str());
    }
}

HiddenVariables::~HiddenVariables() {
    for (const auto &it : hidden_) {
        setenv(it.first.c_str(), it.second.c_str(), 1);
    }
}

}  // namespace unforgiving
