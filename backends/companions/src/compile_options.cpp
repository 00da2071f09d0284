// SPDX-License-Identifier: Apache-2.0
// Options of the operator compiler. They are checked and stored but have no effect, because the simulator has no such
// compiler.
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "acl/acl_op_compiler.h"
#include "refusal.h"

using companions::checked;
using companions::refuse;
using companions::require;

namespace {

constexpr std::size_t kJitCompileSize = 256;

// Prefixes of the names of products whose operators are precompiled.
constexpr const char *kPrecompiled[] = {"Ascend910B", "Ascend910_9"};

struct Options {
    std::mutex mutex;
    std::map<aclCompileOpt, std::string> values;
};

Options &options() {
    // Never destroyed, because threads may use it until the process ends.
    static auto *const kept = new Options();
    return *kept;
}

void require_known(aclCompileOpt option) {
    if (option == ACL_AUTO_TUNE_MODE) {
        refuse(ACL_ERROR_FEATURE_UNSUPPORTED, "ACL_AUTO_TUNE_MODE is no more: operators are tuned by a tool");
    }
    if (option < ACL_PRECISION_MODE || option > ACL_OP_DEBUG_OPTION) {
        refuse(ACL_ERROR_INTERNAL_ERROR, "there is no option " + std::to_string(static_cast<int>(option)));
    }
}

std::string kept(aclCompileOpt option) {
    const std::lock_guard<std::mutex> guard(options().mutex);
    const auto found = options().values.find(option);
    return found == options().values.end() ? "" : found->second;
}

// Returns the product's default, regardless of the value that was set.
std::string jit_compile() {
    const char *const product = aclrtGetSocName();
    for (const char *const beginning : kPrecompiled) {
        if (product != nullptr && std::strncmp(product, beginning, std::strlen(beginning)) == 0) {
            return "disable";
        }
    }
    return "enable";
}

std::string readable(aclCompileOpt option) {
    if (option == ACL_OP_JIT_COMPILE) {
        return jit_compile();
    }
    if (option != ACL_OP_DEBUG_OPTION) {
        refuse(ACL_ERROR_API_NOT_SUPPORT, "only ACL_OP_JIT_COMPILE and ACL_OP_DEBUG_OPTION can be read");
    }
    return kept(option);
}

}  // namespace

aclError aclSetCompileopt(aclCompileOpt opt, const char *value) {
    return checked("aclSetCompileopt", [&] {
        require(value, "value");
        require_known(opt);
        const std::lock_guard<std::mutex> guard(options().mutex);
        options().values[opt] = value;
    });
}

size_t aclGetCompileoptSize(aclCompileOpt opt) {
    if (opt == ACL_OP_JIT_COMPILE) {
        return kJitCompileSize;
    }
    const std::string value = kept(opt);
    return value.empty() ? 0 : value.size() + 1;
}

aclError aclGetCompileopt(aclCompileOpt opt, char *value, size_t length) {
    return checked("aclGetCompileopt", [&] {
        require(value, "value");
        const std::string text = readable(opt);
        if (length <= text.size()) {
            refuse(ACL_ERROR_FAILURE, std::to_string(length) + " bytes are too few for the value");
        }
        std::memcpy(value, text.c_str(), text.size() + 1);
    });
}

aclError aclopSetCompileFlag(aclOpCompileFlag flag) {
    return checked("aclopSetCompileFlag", [&] {
        if (flag != ACL_OP_COMPILE_DEFAULT && flag != ACL_OP_COMPILE_FUZZ) {
            refuse(ACL_ERROR_INVALID_PARAM, "there is no flag " + std::to_string(static_cast<int>(flag)));
        }
    });
}
