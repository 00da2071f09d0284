// What the environment says about the simulated machine; read once, at the first call.
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

// What changed with a release: major * 100 + minor of the first one that does it.
enum class Change : std::uint32_t {
    AnswersForPlainMemory = 804,     // aclrtPointerGetAttributes (hardware_seen.md sections 4.9 and 4.10)
    RetainsAllocationHandles = 901,  // aclrtMemRetainAllocationHandle (hardware_seen.md section 4.15)
    NamesMissingStreams = 901,       // 207008 at the begin of a capture (hardware_seen.md sections 2.3 and 2.5)
};

struct Config {
    const Product *product = nullptr;            // ASCEND_RT_SIM_PRODUCT, or what the profile says, default 910B
    std::shared_ptr<const CardProfile> profile;  // ASCEND_RT_SIM_PROFILE; nullptr: none
    std::uint32_t devices = 8;                   // ASCEND_RT_SIM_DEVICES, 1 to 64
    std::uint32_t workers = 2;  // of each device: ASCEND_RT_SIM_WORKERS, 1 to 256; default: as processors, at least 2
    std::uint32_t groups = 1;   // ASCEND_RT_SIM_GROUPS, 1 to 8: compute groups of a device of 310P
    // ASCEND_RT_SIM_CANN_VERSION, or what the profile says: the release of the installation that is simulated. Without
    // it that is the newest known one, where there is no installation to ask.
    std::optional<std::string> cann_release;
    std::uint32_t release = UINT32_MAX;  // the same for comparisons, as in Change; the newest if none is named
    bool has(Change change) const { return release >= static_cast<std::uint32_t>(change); }
    // How long a thread looks for work before it sleeps; 0 on one processor. Longer than a wake-up takes: else two
    // threads that wait for each other in turn both sleep each time.
    std::chrono::nanoseconds spin{100'000};
    // ASCEND_RT_SIM_STALL_MS, up to a day: after how long a wait without a time limit is explained; 0: never.
    std::chrono::milliseconds stall{30'000};
    std::vector<std::uint32_t> visible;  // user device id -> simulated device (ASCEND_RT_VISIBLE_DEVICES)
    bool visible_is_set = false;
    bool visible_is_valid = true;
    std::string visible_text;     // what it is
    std::string visible_problem;  // where its reading ended, and why; empty: at its end
    // ASCEND_RT_SIM_SOFTWARE_QUEUES=1: the driver keeps the queues of streams in software, as the usual one does not;
    // changes of a graph's tasks, external events and conditional tasks need it (graphs_kernels.md).
    bool has_software_queues = false;
    // ASCEND_RT_SIM_CARDS: shared by the user's processes, which is the default on Linux, by those of all users, or
    // separate.
    bool shares_cards = false;
    bool shares_with_all_users = false;
    bool must_share_cards = false;  // it is not only the default
    bool checks_memory = false;     // ASCEND_RT_SIM_CHECK=memory
    std::string faults;             // ASCEND_RT_SIM_FAULTS
    std::string error;              // what is wrong with the environment: every call fails with this text
};

// The configuration, once it has been read; the first call reads it.
inline std::atomic<const Config *> g_config{nullptr};
const Config &read_config();
inline const Config &config() {
    const Config *known = g_config.load(std::memory_order_acquire);
    return known != nullptr ? *known : read_config();
}

// The rules of ASCEND_RT_VISIBLE_DEVICES (device_context_init_errors.md section 5.1): parsing stops at the first token
// that is no device; what was accepted must be strictly ascending and not empty.
bool parse_visible_devices(const std::string &text, std::uint32_t devices, std::vector<std::uint32_t> &visible,
                           std::string &problem);
// Its value, how many devices that selects, and where the reading ended.
std::string visible_devices_text();

}  // namespace aclsim
