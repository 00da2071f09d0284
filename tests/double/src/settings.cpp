// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace unforgiving {
namespace {

std::string variable(const char *name) {
    const char *const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

[[noreturn]] void refuse(const char *name, const std::string &value) {
    std::fprintf(stderr, "double: %s=%s is not understood\n", name, value.c_str());
    std::abort();
}

std::vector<Rule> read_rules(const char *name) {
    std::vector<Rule> found;
    std::istringstream entries(variable(name));
    for (std::string entry; std::getline(entries, entry, ';');) {
        char function[128];
        unsigned long long nth = 0;
        int value = 0;
        int length = 0;
        const int count = std::sscanf(entry.c_str(), "%127[^:]:%llu=%d%n", function, &nth, &value, &length);
        if (count != 3 || static_cast<std::size_t>(length) != entry.size()) {
            refuse(name, entry);
        }
        found.push_back({function, nth, value});
    }
    return found;
}

std::chrono::milliseconds read_delay(const char *name) {
    const std::string text = variable(name);
    char *end = nullptr;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (*end != '\0' || value < 0) {
        refuse(name, text);
    }
    return std::chrono::milliseconds(value);
}

}  // namespace

// Never destroyed: calls are made while the process ends.
const Settings &settings() {
    static const Settings *const read =
        new Settings{read_rules("ASCEND_RT_DOUBLE_FAIL"), read_rules("ASCEND_RT_DOUBLE_SLOW"),
                     read_delay("ASCEND_RT_DOUBLE_EXCEPTION_DELAY"), variable("ASCEND_RT_DOUBLE_LOG")};
    return *read;
}

}  // namespace unforgiving
