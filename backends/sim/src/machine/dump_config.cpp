// SPDX-License-Identifier: Apache-2.0
#include "machine/dump_config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "abi/acl.h"
#include "support/error.h"

namespace aclsim {
namespace {

using Texts = std::initializer_list<const char *>;

constexpr std::size_t kLongestDumpPath = 512;
constexpr std::size_t kMostSteps = 100;
constexpr std::size_t kLongestBlackList = 100;

// Keys whose value is one of a few strings.
struct Choice {
    const char *key;
    Texts values;
};
constexpr Texts kSwitch = {"on", "off"};
constexpr Choice kChoices[] = {
    {"dump_mode", {"input", "output", "all"}},
    {"dump_data", {"tensor", "stats"}},
    {"dump_op_switch", kSwitch},
    {"dump_level", {"op", "kernel", "all"}},
    {"dump_debug", kSwitch},
    {"dump_scene", {"lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump", "watcher"}},
};
constexpr Texts kKernelData = {"all", "printf", "tensor", "assert", "timestamp"};
constexpr Texts kStatistics = {"Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"};

template <class... Values>
[[noreturn]] void refuse(const char *format, Values... values) {
    char text[512];
    std::snprintf(text, sizeof text, format, values...);
    fail_unremembered(ACL_ERROR_INVALID_DUMP_CONFIG, "the dump configuration: %s", text);
}
[[noreturn]] void refuse(const char *text) { refuse("%s", text); }

bool is_one_of(std::string_view text, Texts values) {
    return std::find(values.begin(), values.end(), text) != values.end();
}

void require_type(const Json &value, Json::Type type, const char *key) {
    if (value.type != type) {
        refuse("%s is %s, and must be %s", key, written(value).c_str(),
               type == Json::Type::String   ? "a string"
               : type == Json::Type::Object ? "an object"
                                            : "an array");
    }
}

// Returns the value of a key that must be a string; nullptr without the key.
const std::string *string_of(const Json &object, const char *key) {
    const Json *const found = object.find(key);
    if (found == nullptr) {
        return nullptr;
    }
    require_type(*found, Json::Type::String, key);
    return &found->text;
}

std::string text_of_key(const Json &object, const char *key, const char *usual) {
    const std::string *const found = string_of(object, key);
    return found == nullptr ? usual : *found;
}

bool is_on(const Json &dump, const char *key) { return text_of_key(dump, key, "off") == "on"; }

// Returns the items of a key that must be an array of one type; none without the key.
const std::vector<Json> &items_of(const Json &object, const char *key, Json::Type type) {
    static const std::vector<Json> kNone;
    const Json *const found = object.find(key);
    if (found == nullptr) {
        return kNone;
    }
    require_type(*found, Json::Type::Array, key);
    for (const Json &item : found->items) {
        require_type(item, type, key);
    }
    return found->items;
}

std::vector<std::string> split(const std::string &text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0;;) {
        const std::size_t end = text.find(separator, begin);
        parts.push_back(text.substr(begin, end - begin));
        if (end == std::string::npos) {
            return parts;
        }
        begin = end + 1;
    }
}

void require_choice(const std::string &value, Texts values, const char *key) {
    if (!is_one_of(value, values)) {
        refuse("%s cannot be \"%s\"", key, value.c_str());
    }
}

void check_black_list(const Json &item, const char *key, const std::string &level) {
    const auto &list = items_of(item, key, Json::Type::Object);
    for (const Json &entry : list) {
        string_of(entry, "name");
        items_of(entry, "pos", Json::Type::String);
    }
    if (list.size() > kLongestBlackList) {
        refuse("%s has %zu entries, more than %zu", key, list.size(), kLongestBlackList);
    }
    if (!list.empty() && level != "op") {
        refuse("%s needs \"dump_level\": \"op\"", key);
    }
}

void check_ranges(const Json &item, const std::string &level) {
    const auto &ranges = items_of(item, "opname_range", Json::Type::Object);
    for (const Json &range : ranges) {
        if (text_of_key(range, "begin", "").empty() || text_of_key(range, "end", "").empty()) {
            refuse("a range of opname_range needs a begin and an end");
        }
    }
    if (!ranges.empty() && (level != "op" || text_of_key(item, "model_name", "").empty())) {
        refuse("opname_range needs \"dump_level\": \"op\" and a model_name");
    }
}

void check_list_item(const Json &item, const Json &dump) {
    const std::string *const model = string_of(item, "model_name");
    const bool has_layer = item.find("layer") != nullptr;
    const bool has_no_layers = items_of(item, "layer", Json::Type::String).empty();
    const auto &watched = items_of(item, "watcher_nodes", Json::Type::String);
    if (!is_on(dump, "dump_op_switch") && ((model != nullptr && model->empty()) || (has_layer && has_no_layers))) {
        refuse("an entry of dump_list has an empty model_name or layer");
    }
    const bool is_watcher = text_of_key(dump, "dump_scene", "") == "watcher";
    if (is_watcher == watched.empty() || (is_watcher && model != nullptr)) {
        refuse("watcher_nodes, without a model_name, belong to \"dump_scene\": \"watcher\"");
    }
}

void check_list(const Json &dump) {
    const std::string level = text_of_key(dump, "dump_level", "all");
    for (const Json &item : items_of(dump, "dump_list", Json::Type::Object)) {
        check_list_item(item, dump);
        check_black_list(item, "optype_blacklist", level);
        check_black_list(item, "opname_blacklist", level);
        check_ranges(item, level);
    }
}

bool is_address(const std::string &text) {
    const auto parts = split(text, '.');
    return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](const std::string &part) {
               return !part.empty() && part.size() <= 3 && part.find_first_not_of("0123456789") == std::string::npos &&
                      std::atoi(part.c_str()) <= 255;
           });
}

void check_path(const Json &dump) {
    const std::string path = text_of_key(dump, "dump_path", "");
    if (path.empty() || path.size() > kLongestDumpPath) {
        refuse("dump_path is missing, empty, or longer than %zu bytes", kLongestDumpPath);
    }
    if (const std::size_t colon = path.find(':');
        colon != std::string::npos && colon + 1 < path.size() && is_address(path.substr(0, colon))) {
        return;  // a directory of another host
    }
    struct stat status{};
    if (stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || access(path.c_str(), R_OK | W_OK) != 0) {
        refuse("dump_path %s is not a directory that can be read and written", path.c_str());
    }
}

void check_steps(const Json &dump) {
    const std::string steps = text_of_key(dump, "dump_step", "");
    if (steps.empty()) {
        return;
    }
    const auto ranges = split(steps, '|');
    if (ranges.size() > kMostSteps) {
        refuse("dump_step has more than %zu ranges", kMostSteps);
    }
    for (const std::string &range : ranges) {
        const auto ends = split(range, '-');
        const auto is_number = [](const std::string &end) {
            return !end.empty() && end.find_first_not_of("0123456789") == std::string::npos;
        };
        if (ends.size() > 2 || !std::all_of(ends.begin(), ends.end(), is_number) ||
            std::strtol(ends.front().c_str(), nullptr, 10) > std::strtol(ends.back().c_str(), nullptr, 10)) {
            refuse("\"%s\" of dump_step is not a number or a range, as in \"0|3-5\"", range.c_str());
        }
    }
}

void check_values(const Json &dump) {
    for (const char *key : {"dump_path", "dump_step"}) {
        string_of(dump, key);
    }
    for (const Choice &choice : kChoices) {
        if (const std::string *const value = string_of(dump, choice.key)) {
            require_choice(*value, choice.values, choice.key);
        }
    }
    if (const std::string *const kinds = string_of(dump, "dump_kernel_data")) {
        for (const std::string &kind : split(*kinds, ',')) {
            require_choice(kind, kKernelData, "dump_kernel_data");
        }
    }
    for (const Json &item : items_of(dump, "dump_stats", Json::Type::String)) {
        require_choice(item.text, kStatistics, "dump_stats");
    }
    items_of(dump, "dump_list", Json::Type::Object);
}

void check_scene(const Json &dump, const std::string &scene) {
    if (!scene.empty() && (is_on(dump, "dump_debug") || is_on(dump, "dump_op_switch"))) {
        refuse("\"dump_scene\": \"%s\" excludes dump_debug and dump_op_switch", scene.c_str());
    }
    if (scene == "watcher" && text_of_key(dump, "dump_mode", "output") != "output") {
        refuse("\"dump_scene\": \"watcher\" needs \"dump_mode\": \"output\"");
    }
}

void check_operators(const Json &dump) {
    check_path(dump);
    if (is_on(dump, "dump_debug")) {
        if (is_on(dump, "dump_op_switch")) {
            refuse("dump_debug excludes dump_op_switch");
        }
        return;
    }
    check_steps(dump);
    check_list(dump);
    const Json *const statistics = dump.find("dump_stats");
    if (statistics != nullptr && (statistics->items.empty() || text_of_key(dump, "dump_data", "tensor") == "tensor")) {
        refuse("dump_stats needs entries, and \"dump_data\": \"stats\"");
    }
}

}  // namespace

DumpConfig read_dump_config(const Json &configuration) {
    const Json *const dump = configuration.find("dump");
    if (dump == nullptr) {
        return {};
    }
    require_type(*dump, Json::Type::Object, "dump");
    if (dump->members.empty()) {
        return {};
    }
    check_values(*dump);
    const std::string scene = text_of_key(*dump, "dump_scene", "");
    check_scene(*dump, scene);
    const bool is_exception = !scene.empty() && scene != "watcher";
    if (!is_exception) {
        check_operators(*dump);
    }
    DumpConfig config{DumpConfig::Kind::None, scene == "aic_err_detail_dump", text_of_key(*dump, "dump_path", "")};
    if (is_exception) {
        config.kind = DumpConfig::Kind::Exceptions;
    } else if (is_on(*dump, "dump_debug")) {
        config.kind = DumpConfig::Kind::Overflows;
    } else if (!items_of(*dump, "dump_list", Json::Type::Object).empty() || is_on(*dump, "dump_op_switch") ||
               !scene.empty()) {
        config.kind = DumpConfig::Kind::Operators;
    }
    return config;
}

}  // namespace aclsim
