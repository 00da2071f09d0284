// Options of collective communication. They are checked and stored but have no effect.
#include "hccl.h"

#include <atomic>
#include <string>

#include "refusal.h"

using companions::checked;
using companions::refuse;

namespace {

std::atomic<std::int32_t> g_options[HCCL_CONFIG_RESERVED];

std::atomic<std::int32_t> &option(HcclConfig config) {
    if (config < HCCL_DETERMINISTIC || config >= HCCL_CONFIG_RESERVED) {
        refuse(HCCL_E_PARA, "there is no option " + std::to_string(static_cast<int>(config)));
    }
    return g_options[config];
}

}  // namespace

int32_t HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
    return checked("HcclSetConfig", [&] { option(config) = configValue.value; });
}

int32_t HcclGetConfig(HcclConfig config, HcclConfigValue *configValue) {
    return checked("HcclGetConfig", [&] {
        if (configValue == nullptr) {
            refuse(HCCL_E_PTR, "configValue is NULL");
        }
        configValue->value = option(config);
    });
}
