#include "initialization.h"

#include <atomic>

#include "death.h"

namespace unforgiving {
namespace {

std::atomic<bool> has_configuration{false};  // for the life of the process, whatever is finalized

}  // namespace

void check_configuration(const Call &call, const char *path) {
    if (path == nullptr && has_configuration) {
        die(call.name(), "configPath is NULL, and the process was initialised with a configuration before");
    }
}

void note_configuration(aclError result, const char *path) {
    if (result == ACL_SUCCESS && path != nullptr && *path != '\0') {
        has_configuration = true;
    }
}

}  // namespace unforgiving
