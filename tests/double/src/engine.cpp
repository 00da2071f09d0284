// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "control.h"
#include "settings.h"

namespace unforgiving {
namespace {

// Has a variable of the environment while the simulator reads its settings, unless the program has set it. Programs
// that this one starts do not inherit it.
class Variable {
  public:
    Variable(const char *name, const char *value)
        : name_(name), is_ours_(*value != '\0' && std::getenv(name) == nullptr) {
        if (is_ours_) {
            setenv(name_, value, 1);
        }
    }
    ~Variable() {
        if (is_ours_) {
            unsetenv(name_);
        }
    }
    Variable(const Variable &) = delete;
    Variable &operator=(const Variable &) = delete;

  private:
    const char *const name_;
    const bool is_ours_;
};

// The simulator reads its settings once, at the first call. It is to be strict, and of the double's release.
void settle(const Engine &opened) {
    const HiddenVariables hidden;
    const Variable strict("ASCEND_RT_SIM_STRICT", "1");
    const Variable log("ASCEND_RT_SIM_STRICT_LOG", settings().log.c_str());
    const Variable release("ASCEND_RT_SIM_CANN_VERSION", RELEASE);
    aclsimInfo info;
    opened.aclsimGetInfo(&info);
}

Engine open() {
    void *const library = dlopen(SIMULATOR, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "double: %s\n", dlerror());
        std::abort();
    }
    Engine opened;
    for (std::size_t i = 0; i < kEngineSize; ++i) {
        void *const symbol = dlsym(library, kEngineNames[i]);
        std::memcpy(reinterpret_cast<char *>(&opened) + i * sizeof symbol, &symbol, sizeof symbol);
    }
    settle(opened);
    return opened;
}

}  // namespace

const Engine &engine() {
    static const Engine opened = open();
    return opened;
}

}  // namespace unforgiving
