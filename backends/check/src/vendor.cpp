// SPDX-License-Identifier: Apache-2.0
#include "vendor.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace aclsim::wrapped {
namespace {

std::vector<void *> open_libraries() {
    const char *const variable = std::getenv("ASCEND_RT_CHECK_WRAPS");
    const std::string paths = variable == nullptr ? "" : variable;
    std::vector<void *> opened;
    for (std::size_t begin = 0; begin < paths.size();) {
        const std::size_t end = std::min(paths.find(':', begin), paths.size());
        if (void *const library = dlopen(paths.substr(begin, end - begin).c_str(), RTLD_NOW | RTLD_LOCAL)) {
            opened.push_back(library);
        }
        begin = end + 1;
    }
    return opened;
}

}  // namespace

void *find_in_vendor(const char *function) {
    if (void *const next = dlsym(RTLD_NEXT, function)) {
        return next;
    }
    static const std::vector<void *> libraries = open_libraries();
    for (void *const library : libraries) {
        if (void *const found = dlsym(library, function)) {
            return found;
        }
    }
    return nullptr;
}

}  // namespace aclsim::wrapped
