// SPDX-License-Identifier: Apache-2.0
// Configuration of the simulated machine from the environment; read once, at the first call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/product.h"
#include "support/profile.h"

namespace aclsim {

// Behaviour changed by a release: major * 100 + minor of the first release with the change.
enum class Change : std::uint32_t {
    CorrectsCopyKinds = 802,         // aclrtMemcpyAsync (hardware_seen.md section 1.36)
    AnswersForPlainMemory = 804,     // aclrtPointerGetAttributes (hardware_seen.md sections 4.9 and 4.10)
    RetainsAllocationHandles = 901,  // aclrtMemRetainAllocationHandle (hardware_seen.md section 4.15)
    NamesMissingStreams = 901,       // 207008 at the begin of a capture (hardware_seen.md sections 2.3 and 2.5)
};

struct Config {
    const Product *product = nullptr;            // ASCEND_RT_SIM_PRODUCT, else from the profile, else 910B
    std::shared_ptr<const CardProfile> profile;  // ASCEND_RT_SIM_PROFILE; nullptr if none
    std::uint32_t devices = 8;                   // ASCEND_RT_SIM_DEVICES, 1 to 64
    std::uint32_t workers = 2;  // per device: ASCEND_RT_SIM_WORKERS, 1 to 256; default: as processors, at least 2
    std::uint32_t groups = 1;   // ASCEND_RT_SIM_GROUPS, 1 to 8: compute groups of a 310P device
    // ASCEND_RT_SIM_CANN_VERSION, or the release in the profile: release of the simulated installation. Without either,
    // the newest known release applies if there is no installation to ask.
    std::optional<std::string> cann_release;
    std::uint32_t release = UINT32_MAX;  // release for comparisons, as in Change; the newest if none is named
    bool has(Change change) const { return release >= static_cast<std::uint32_t>(change); }
    // Time that a thread looks for work before it sleeps; 0 on one processor. It must exceed the time of a wake-up:
    // otherwise two threads that wait for each other in turn both sleep each time.
    std::chrono::nanoseconds spin{100'000};
    // ASCEND_RT_SIM_STALL_MS, up to a day: time after which a wait without a time limit is explained; 0 means never.
    std::chrono::milliseconds stall{30'000};
    std::vector<std::uint32_t> visible;  // user device id -> simulated device (ASCEND_RT_VISIBLE_DEVICES)
    bool visible_is_set = false;
    bool visible_is_valid = true;
    std::string visible_text;     // value of ASCEND_RT_VISIBLE_DEVICES
    std::string visible_problem;  // token that ended parsing, and the reason; empty if all was read
    // ASCEND_RT_SIM_SOFTWARE_QUEUES=1: the driver keeps the queues of streams in software, unlike the usual driver.
    // Changes of a graph's tasks, external events and conditional tasks need it (graphs_kernels.md).
    bool has_software_queues = false;
    // ASCEND_RT_SIM_QUEUES=device: shared queues and buffers work as in a program that runs on a device. By default, or
    // with host, most of their functions answer as on a host: 200006.
    bool queues_are_on_device = false;
    // ASCEND_RT_SIM_CARDS: cards are shared by the user's processes, which is the default on Linux, shared by the
    // processes of all users, or separate.
    bool shares_cards = false;
    bool shares_with_all_users = false;
    bool must_share_cards = false;      // set explicitly, not by default
    bool is_strict = false;             // ASCEND_RT_SIM_STRICT=1
    std::string strict_log;             // ASCEND_RT_SIM_STRICT_LOG: file for a line about the end of each process
    bool checks_memory = false;         // ASCEND_RT_SIM_CHECK with memory, and in strict mode
    bool checks_races = false;          // ASCEND_RT_SIM_CHECK with races
    bool checks_deadlocks = false;      // ASCEND_RT_SIM_CHECK with deadlocks
    bool follows_host_threads = false;  // ASCEND_RT_CHECK_HOST_THREADS=1: each thread of the program is known apart
    bool watches_every_use = false;     // ASCEND_RT_CHECK_EVERY_USE=1: of pinned memory, by tasks
    bool deadlocks_fail = false;        // ASCEND_RT_SIM_DEADLOCK=fail: waits fail, instead of the end of the process
    std::string check_directory;        // ASCEND_RT_SIM_CHECK_DIRECTORY: directory for findings; empty: standard error
    std::string faults;                 // ASCEND_RT_SIM_FAULTS
    std::string error;                  // problem of the environment: every call fails with this text
};

// Configuration; read by the first call.
inline std::atomic<const Config *> g_config{nullptr};
const Config &read_config();
inline const Config &config() {
    const Config *known = g_config.load(std::memory_order_acquire);
    return known != nullptr ? *known : read_config();
}

// Returns the names of the checks that are on, as ASCEND_RT_SIM_CHECK names them.
std::vector<std::string> names_of_checks(const Config &config);

// Rules of ASCEND_RT_VISIBLE_DEVICES (device_context_init_errors.md section 5.1): parsing stops at the first token that
// is not a device; the accepted numbers must be strictly ascending and not empty.
bool parse_visible_devices(const std::string &text, std::uint32_t devices, std::vector<std::uint32_t> &visible,
                           std::string &problem);
// Returns the value of the variable, the number of devices that it selects, and the token that ended parsing.
std::string visible_devices_text();

}  // namespace aclsim
