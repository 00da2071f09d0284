#include "control.h"

#include <unistd.h>

#include <cstdlib>

#include "death.h"

namespace unforgiving {
namespace {

constexpr char kPlain[] = "ASCEND_RT_DOUBLE_PLAIN";
constexpr char kPrefix[] = "ASCEND_RT_SIM_";

}  // namespace

void require_control(const Call &call) {
    if (std::getenv(kPlain) != nullptr) {
        die(call.name(), "it has no such function; a test that needs the function has the mark simulator");
    }
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
