// Initialisation and versions (device_context_init_errors.md section 3).
#include <fstream>
#include <iterator>
#include <string>

#include "entry.h"

using namespace aclsim;

namespace {

// Guarded by the engine's lock.
std::uint64_t g_references = 0;
bool g_finalized = false;  // one aclFinalize before any aclInit succeeds [obs]

bool is_empty_configuration(std::string text) {
    std::string compact;
    for (const char c : text) {
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            compact += c;
        }
    }
    return compact.empty() || compact == "{}" || compact == "[]";
}

// Nothing that a configuration can switch on is simulated yet, so only a configuration that switches nothing on is
// accepted.
void read_configuration(const char *path) {
    std::ifstream file(path, std::ios::binary);
    std::string text;
    if (file) {
        text.assign(std::istreambuf_iterator<char>(file), {});
    }
    if (!file.is_open() || file.bad()) {
        reject(ACL_ERROR_INVALID_FILE, "cannot read the configuration file %s", path);
    }
    if (is_empty_configuration(text)) {
        return;
    }
    const char first = text[text.find_first_not_of(" \t\r\n")];
    if (first != '{' && first != '[') {
        reject(ACL_ERROR_PARSE_FILE, "%s is not JSON", path);
    }
    refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the simulator accepts only an empty configuration, and %s is not empty",
           path);
}

void drop_references() {
    g_references = 0;
    g_finalized = true;
}

}  // namespace

aclError aclInit(const char *configPath) {
    return entry(__func__, [&](Engine &, Lock &) {
        if (g_references > 0) {
            ++g_references;
            reject(ACL_ERROR_REPEAT_INITIALIZE, "already initialised; pair this call with aclFinalizeReference");
        }
        if (configPath != nullptr && *configPath != '\0') {
            read_configuration(configPath);
        }
        g_references = 1;
        g_finalized = false;
    });
}

aclError aclFinalize() {
    return entry(__func__, [&](Engine &, Lock &) {
        if (g_references == 0 && g_finalized) {
            reject(ACL_ERROR_REPEAT_FINALIZE, "already finalised");
        }
        drop_references();
    });
}

aclError aclFinalizeReference(uint64_t *refCount) {
    return entry(__func__, [&](Engine &, Lock &) {
        const bool is_repeat = g_references == 0;
        if (g_references > 0 && --g_references == 0) {
            drop_references();
        }
        if (refCount != nullptr) {
            *refCount = g_references;
        }
        if (is_repeat) {
            reject(ACL_ERROR_REPEAT_FINALIZE, "there is no aclInit left to undo");
        }
    });
}
