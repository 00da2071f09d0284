// SPDX-License-Identifier: Apache-2.0
#include "support/config.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "support/json.h"
#include "support/shared_memory.h"

namespace aclsim {
namespace {

constexpr std::uint32_t kDay_ms = 24 * 3600 * 1000;

// Reads a whole release.
class ReleaseReader {
  public:
    explicit ReleaseReader(const std::string &text) : at_(text.c_str()) {}
    // Reads two or three numbers and up to two stages: 8.5.0, 8.1.RC1, 9.1.0-beta.1.
    bool read() {
        bool is_sound = is_digit(*at_);
        major_ = read_digits();
        is_sound = is_sound && skip_point();
        minor_ = read_digits();
        if (skip_point()) {
            read_digits();
        }
        for (int stages = 0; is_sound && *at_ != '\0'; ++stages) {
            is_sound = stages < 2 && read_stage();
        }
        return is_sound;
    }
    std::uint32_t number() const { return major_ * 100 + minor_; }  // release that was read, as in Change

  private:
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    bool skip_point() {  // requires a number after it
        const bool is_there = *at_ == '.' && is_digit(at_[1]);
        at_ += is_there ? 1 : 0;
        return is_there;
    }
    std::uint32_t read_digits() {  // reads up to three
        std::uint32_t value = 0;
        for (const char *begin = at_; is_digit(*at_) && at_ - begin < 3; ++at_) {
            value = value * 10 + static_cast<std::uint32_t>(*at_ - '0');
        }
        return value;
    }
    bool read_stage() {
        if (*at_ != '.' && *at_ != '-') {
            return false;
        }
        ++at_;
        for (const std::string name : {"alpha", "beta", "rc", "RC"}) {
            if (std::strncmp(at_, name.c_str(), name.size()) == 0) {
                at_ += name.size();
                at_ += *at_ == '.' ? 1 : 0;
                read_digits();
                return true;
            }
        }
        return false;
    }

    const char *at_;
    std::uint32_t major_ = 0;
    std::uint32_t minor_ = 0;
};

std::string environment(const char *name) {
    const char *value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool parse_number(const std::string &text, std::uint32_t &number) {
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) {
        return false;
    }
    number = static_cast<std::uint32_t>(std::stoul(text));
    return true;
}

void read_number(Config &config, const char *name, std::uint32_t low, std::uint32_t high, std::uint32_t &number) {
    const std::string text = environment(name);
    if (text.empty()) {
        return;
    }
    if (!parse_number(text, number) || number < low || number > high) {
        config.error = std::string(name) + "=" + text + " is not a whole number from " + std::to_string(low) + " to " +
                       std::to_string(high);
    }
}

void read_switch(Config &config, const char *name, bool &is_on) {
    std::uint32_t number = 0;
    read_number(config, name, 0, 1, number);
    is_on = number == 1;
}

void read_cards(Config &config) {
    const std::string cards = environment("ASCEND_RT_SIM_CARDS");
    config.shares_with_all_users = cards == "all-users";
    config.must_share_cards = cards == "shared" || config.shares_with_all_users;
    if (!cards.empty() && cards != "separate" && !config.must_share_cards) {
        config.error = "ASCEND_RT_SIM_CARDS=" + cards + " is not one of shared, all-users, separate";
    }
    if (config.must_share_cards && !SharedMemory::kHasLocks) {
        config.error = "ASCEND_RT_SIM_CARDS=" + cards + " needs Linux";
    }
    config.shares_cards = SharedMemory::kHasLocks && cards != "separate";
}

struct Check {
    const char *name;
    bool Config::*is_on;
};

constexpr Check kChecks[] = {
    {"memory", &Config::checks_memory},
    {"races", &Config::checks_races},
    {"deadlocks", &Config::checks_deadlocks},
};

// Reads names of checks, separated by commas.
void read_checks(Config &config) {
    read_switch(config, "ASCEND_RT_CHECK_HOST_THREADS", config.follows_host_threads);
    read_switch(config, "ASCEND_RT_CHECK_EVERY_USE", config.watches_every_use);
    config.check_directory = environment("ASCEND_RT_SIM_CHECK_DIRECTORY");
    const std::string checks = environment("ASCEND_RT_SIM_CHECK");
    for (std::size_t begin = 0; !checks.empty() && begin <= checks.size();) {
        const std::size_t end = std::min(checks.find(',', begin), checks.size());
        const std::string name = checks.substr(begin, end - begin);
        const auto *const found =
            std::find_if(std::begin(kChecks), std::end(kChecks), [&](const Check &it) { return it.name == name; });
        if (found == std::end(kChecks)) {
            config.error = "ASCEND_RT_SIM_CHECK=" + checks + " is not a list of memory, races, deadlocks with commas";
            return;
        }
        config.*found->is_on = true;
        begin = end + 1;
    }
}

void read_end_of_deadlocks(Config &config) {
    const std::string end = environment("ASCEND_RT_SIM_DEADLOCK");
    config.deadlocks_fail = end == "fail";
    if (!end.empty() && end != "exit" && !config.deadlocks_fail) {
        config.error = "ASCEND_RT_SIM_DEADLOCK=" + end + " is not one of exit, fail";
    }
}

void read_queues(Config &config) {
    const std::string queues = environment("ASCEND_RT_SIM_QUEUES");
    config.queues_are_on_device = queues == "device";
    if (!queues.empty() && queues != "host" && !config.queues_are_on_device) {
        config.error = "ASCEND_RT_SIM_QUEUES=" + queues + " is not one of host, device";
    }
    if (config.queues_are_on_device && !SharedMemory::kHasLocks) {
        config.error = "ASCEND_RT_SIM_QUEUES=device needs Linux";
    }
}

// Chooses the product named by the environment and the profile.
void choose_product(Config &config) {
    const std::string name = environment("ASCEND_RT_SIM_PRODUCT");
    const Product *const chosen = find_product(name);
    config.product = chosen != nullptr ? chosen : find_product("910B");
    if (chosen == nullptr && !name.empty()) {
        config.error = "ASCEND_RT_SIM_PRODUCT=" + name + " is not one of " + product_names();
        return;
    }
    const std::string path = environment("ASCEND_RT_SIM_PROFILE");
    if (path.empty()) {
        return;
    }
    try {
        auto profile = std::make_shared<CardProfile>();
        read_profile(path, chosen, *profile);
        config.product = &profile->product;
        config.profile = std::move(profile);
    } catch (const ProfileError &error) {
        config.error = error.text;
    }
}

// Chooses the release named by the environment, else by the profile.
void choose_release(Config &config) {
    const std::string named = environment("ASCEND_RT_SIM_CANN_VERSION");
    const bool is_from_profile = named.empty() && config.profile != nullptr;
    const std::string release = is_from_profile ? config.profile->cann_version : named;
    if (release.empty()) {
        return;
    }
    config.cann_release = release;
    ReleaseReader reader(release);
    if (reader.read()) {
        config.release = reader.number();
        return;
    }
    const std::string where = is_from_profile
                                  ? "ASCEND_RT_SIM_PROFILE=" + config.profile->path + ": profile.cann_version "
                                  : "ASCEND_RT_SIM_CANN_VERSION=";
    config.error = where + release + " is not a release like 8.1.RC1, 8.5.0 or 9.1.0-beta.1";
}

constexpr std::size_t kLongestPart = 80;  // part of a value in a text

Config config_of_environment() {
    Config config;
    const std::uint32_t processors = std::max(1U, std::thread::hardware_concurrency());
    config.workers = std::max(2U, processors);
    if (processors == 1) {
        config.spin = std::chrono::nanoseconds(0);  // spinning would only keep the other thread from running
    }
    choose_product(config);
    read_number(config, "ASCEND_RT_SIM_DEVICES", 1, 64, config.devices);
    read_number(config, "ASCEND_RT_SIM_WORKERS", 1, 256, config.workers);
    config.faults = environment("ASCEND_RT_SIM_FAULTS");
    read_checks(config);
    read_end_of_deadlocks(config);
    read_cards(config);
    read_queues(config);
    read_number(config, "ASCEND_RT_SIM_GROUPS", 1, 8, config.groups);
    read_switch(config, "ASCEND_RT_SIM_SOFTWARE_QUEUES", config.has_software_queues);
    read_switch(config, "ASCEND_RT_SIM_STRICT", config.is_strict);
    config.strict_log = environment("ASCEND_RT_SIM_STRICT_LOG");
    config.checks_memory |= config.is_strict;  // it knows the blocks that queued tasks use
    choose_release(config);
    auto stall_ms = static_cast<std::uint32_t>(config.stall.count());
    read_number(config, "ASCEND_RT_SIM_STALL_MS", 0, kDay_ms, stall_ms);
    config.stall = std::chrono::milliseconds(stall_ms);
    const char *visible = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
    config.visible_is_set = visible != nullptr;
    if (visible != nullptr) {
        config.visible_is_valid =
            parse_visible_devices(visible, config.devices, config.visible, config.visible_problem);
        config.visible_text = visible;
    } else {
        for (std::uint32_t device = 0; device < config.devices; ++device) {
            config.visible.push_back(device);
        }
    }
    return config;
}

}  // namespace

std::vector<std::string> names_of_checks(const Config &config) {
    std::vector<std::string> names;
    for (const Check &check : kChecks) {
        if (config.*check.is_on) {
            names.emplace_back(check.name);
        }
    }
    return names;
}

bool parse_visible_devices(const std::string &text, std::uint32_t devices, std::vector<std::uint32_t> &visible,
                           std::string &problem) {
    visible.clear();
    problem.clear();
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string part = text.substr(begin, end - begin);
        std::uint32_t device = 0;
        if (!parse_number(part, device) || device >= devices) {
            problem = quoted(part.substr(0, kLongestPart)) + " is not a device from 0 to " +
                      std::to_string(devices - 1) + ", and ends the list";
            break;
        }
        if (!visible.empty() && device <= visible.back()) {
            problem =
                std::to_string(device) + " follows " + std::to_string(visible.back()) + ", and the numbers must ascend";
            visible.clear();
            return false;
        }
        visible.push_back(device);
        begin = end + 1;
    }
    return !visible.empty();
}

std::string visible_devices_text() {
    const Config &known = config();
    const std::size_t count = known.visible.size();
    const std::string selected = count == 0   ? "no device"
                                 : count == 1 ? "1 device"
                                              : std::to_string(count) + " devices";
    return "ASCEND_RT_VISIBLE_DEVICES=" + known.visible_text.substr(0, kLongestPart) + " selects " + selected +
           (known.visible_problem.empty() ? "" : ": " + known.visible_problem);
}

const Config &read_config() {
    static const Config *const instance = new Config(config_of_environment());  // never destroyed, like the simulator
    g_config.store(instance, std::memory_order_release);
    return *instance;
}

}  // namespace aclsim
