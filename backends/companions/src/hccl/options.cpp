// SPDX-License-Identifier: Apache-2.0
// Options of collective communication, which are checked and stored but have no effect, and texts.
#include <atomic>
#include <iterator>
#include <string>

#include "hccl/entry.h"

using namespace hccl;

namespace {

constexpr std::int32_t kStrict = 2;  // HCCL_DETERMINISTIC of newer releases: keeps the order of the operands, too

std::atomic<std::int32_t> g_options[HCCL_CONFIG_RESERVED];

std::atomic<std::int32_t> &option(HcclConfig config) {
    if (config < HCCL_DETERMINISTIC || config >= HCCL_CONFIG_RESERVED) {
        refuse(HCCL_E_PARA, "there is no option " + std::to_string(static_cast<int>(config)));
    }
    return g_options[config];
}

}  // namespace

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
    return checked("HcclSetConfig", [&] {
        std::atomic<std::int32_t> &value = option(config);
        if (config == HCCL_DETERMINISTIC && (configValue.value < 0 || configValue.value > kStrict)) {
            refuse(HCCL_E_PARA, "HCCL_DETERMINISTIC is 0, 1 or 2, not " + std::to_string(configValue.value));
        }
        value = configValue.value;
    });
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue) {
    return checked("HcclGetConfig", [&] {
        require(configValue, "configValue");
        configValue->value = option(config);
    });
}

// All of HcclCommConfig is accepted.
uint32_t HcclGetCommConfigCapability(void) { return HCCL_COMM_CONFIG_RESERVED; }

const char *HcclGetErrorString(HcclResult code) {
    constexpr const char *kNames[] = {
        "HCCL_SUCCESS",
        "HCCL_E_PARA",
        "HCCL_E_PTR",
        "HCCL_E_MEMORY",
        "HCCL_E_INTERNAL",
        "HCCL_E_NOT_SUPPORT",
        "HCCL_E_NOT_FOUND",
        "HCCL_E_UNAVAIL",
        "HCCL_E_SYSCALL",
        "HCCL_E_TIMEOUT",
        "HCCL_E_OPEN_FILE_FAILURE",
        "HCCL_E_TCP_CONNECT",
        "HCCL_E_ROCE_CONNECT",
        "HCCL_E_TCP_TRANSFER",
        "HCCL_E_ROCE_TRANSFER",
        "HCCL_E_RUNTIME",
        "HCCL_E_DRV",
        "HCCL_E_PROFILING",
        "HCCL_E_CCE",
        "HCCL_E_NETWORK",
        "HCCL_E_AGAIN",
        "HCCL_E_REMOTE",
        "HCCL_E_SUSPENDING",
        "HCCL_E_OPRETRY_FAIL",
        "HCCL_E_OOM",
    };
    static_assert(std::size(kNames) == HCCL_E_RESERVED);
    const auto index = static_cast<std::size_t>(code);
    return index < std::size(kNames) ? kNames[index] : "an unknown code";
}
