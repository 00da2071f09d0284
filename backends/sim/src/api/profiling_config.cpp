// SPDX-License-Identifier: Apache-2.0
// Settings of the profiler (profiling.md section 4). The simulator checks them as a 910B does; apart from the directory
// they concern hardware that it does not have.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "api/entry.h"
#include "observe/profiler.h"
#include "support/file.h"

using namespace aclsim;

namespace {

constexpr std::size_t kLongestSetting = 256;

bool is_number(const std::string &text, std::uint64_t least, std::uint64_t most) {
    constexpr std::size_t kMostDigits = 18;
    if (text.empty() || text.size() > kMostDigits || text.find_first_not_of("0123456789") != std::string::npos) {
        return false;
    }
    const std::uint64_t value = std::stoull(text);
    return value >= least && value <= most;
}

// Accepts a list with commas of some of the words, which may be empty.
bool is_list_of(const std::string &text, std::initializer_list<const char *> words) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        if (std::find(words.begin(), words.end(), text.substr(begin, end - begin)) == words.end()) {
            return false;
        }
        begin = end + 1;
    }
    return true;
}

bool is_frequency_to_100(const std::string &text) { return is_number(text, 1, 100); }
bool is_frequency_to_50(const std::string &text) { return is_number(text, 1, 50); }
bool is_limit(const std::string &text) {
    constexpr std::size_t kUnit = 2;
    return text.size() > kUnit && text.substr(text.size() - kUnit) == "MB" &&
           is_number(text.substr(0, text.size() - kUnit), 200, UINT32_MAX);
}
bool is_cache_mode(const std::string &text) { return text == "read" || text == "write"; }
bool is_host_part(const std::string &text) { return is_list_of(text, {"cpu", "mem", "disk", "network", "osrt"}); }
bool is_host_usage(const std::string &text) { return is_list_of(text, {"cpu", "mem"}); }
bool is_anything(const std::string &) { return true; }

// Settings of the product; it refuses the others.
struct Setting {
    aclprofConfigType type;
    bool (*accepts)(const std::string &);
};
constexpr Setting kSettings[] = {
    {ACL_PROF_STORAGE_LIMIT, is_limit},
    {ACL_PROF_SYS_HARDWARE_MEM_FREQ, is_frequency_to_100},
    {ACL_PROF_LLC_MODE, is_cache_mode},
    {ACL_PROF_SYS_IO_FREQ, is_frequency_to_100},
    {ACL_PROF_SYS_INTERCONNECTION_FREQ, is_frequency_to_50},
    {ACL_PROF_DVPP_FREQ, is_frequency_to_100},
    {ACL_PROF_HOST_SYS, is_host_part},
    {ACL_PROF_HOST_SYS_USAGE, is_host_usage},
    {ACL_PROF_HOST_SYS_USAGE_FREQ, is_frequency_to_50},
    {ACL_PROF_SYS_MEM_SERVICEFLOW, is_anything},
    {ACL_PROF_PATH, is_anything},
};

void require_setting(aclprofConfigType type, const std::string &value) {
    const auto *const found =
        std::find_if(std::begin(kSettings), std::end(kSettings), [&](const Setting &it) { return it.type == type; });
    if (found == std::end(kSettings)) {
        fail_unremembered(type == ACL_PROF_NTS_METRICS ? ACL_ERROR_INVALID_PARAM : ACL_ERROR_INVALID_PROFILING_CONFIG,
                          "the product does not have setting %d", static_cast<int>(type));
    }
    if (!found->accepts(value)) {
        fail_unremembered(ACL_ERROR_INVALID_PROFILING_CONFIG, "setting %d cannot be \"%s\"", static_cast<int>(type),
                          value.c_str());
    }
}

}  // namespace

aclError aclprofSetConfig(aclprofConfigType configType, const char *config, size_t configLength) {
    return entry(Function::aclprofSetConfig, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (configType <= ACL_PROF_ARGS_MIN || configType >= ACL_PROF_ARGS_MAX) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no setting %d", static_cast<int>(configType));
        }
        if (configLength > kLongestSetting) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "configLength is %zu, and at most %zu", configLength,
                              kLongestSetting);
        }
        require(config, "config");
        if (strnlen(config, configLength + 1) != configLength) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu is not the length of config", configLength);
        }
        require_setting(configType, config);
        if (configType == ACL_PROF_PATH && *config != '\0' && sim.profiler.is_initialized()) {
            sim.profiler.set_path(absolute_path(config));
        }
    });
}
