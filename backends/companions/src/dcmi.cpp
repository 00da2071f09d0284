// SPDX-License-Identifier: Apache-2.0
// Management interface: a card is an NPU, a device of it a chip.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "dcmi_interface_api.h"
#include "machine.h"
#include "refusal.h"

using companions::Machine;
using companions::machine;
using companions::refuse;

namespace {

constexpr unsigned int kHealthy = 0;
constexpr unsigned int kCritical = 3;
constexpr int kMiB = 20;                   // bits
constexpr unsigned long kHugePage = 2048;  // KiB

void require(const void *argument, const char *name) {
    if (argument == nullptr) {
        refuse(DCMI_ERR_CODE_INVALID_PARAMETER, std::string(name) + " is NULL");
    }
}

unsigned int cards(const Machine &machine) { return (machine.devices + machine.chips - 1) / machine.chips; }

// Returns the number of the devices of a card.
unsigned int devices_of(const Machine &machine, int card) {
    if (card < 0 || static_cast<unsigned int>(card) >= cards(machine)) {
        refuse(DCMI_ERR_CODE_DEVICE_NOT_EXIST, "there is no card " + std::to_string(card));
    }
    return std::min(machine.chips, machine.devices - static_cast<unsigned int>(card) * machine.chips);
}

unsigned int number(const Machine &machine, int card, int device) {
    if (device < 0 || static_cast<unsigned int>(device) >= devices_of(machine, card)) {
        refuse(DCMI_ERR_CODE_DEVICE_NOT_EXIST,
               "card " + std::to_string(card) + " has no device " + std::to_string(device));
    }
    return static_cast<unsigned int>(card) * machine.chips + static_cast<unsigned int>(device);
}

void require_device(const Machine &machine, unsigned int device) {
    if (device >= machine.devices) {
        refuse(DCMI_ERR_CODE_DEVICE_NOT_EXIST, "there is no device " + std::to_string(device));
    }
}

std::int32_t usable(unsigned int device) {
    const std::int32_t user = companions::user_number(device);
    if (user < 0) {
        refuse(DCMI_ERR_CODE_NOT_SUPPORT,
               "the process may not use device " + std::to_string(device) + " (ASCEND_RT_VISIBLE_DEVICES)");
    }
    return user;
}

companions::Memory memory_of(const Machine &machine, unsigned int device) {
    companions::Memory memory = {};
    const companions::Refusal result = companions::read_memory(usable(device), machine.has_hbm, &memory);
    if (result.code != ACL_SUCCESS) {
        refuse(DCMI_ERR_CODE_NOT_REDAY, result.text);
    }
    return memory;
}

unsigned int percent(const companions::Memory &memory) {
    return static_cast<unsigned int>((memory.total - memory.free) * 100 / memory.total);
}

// Calls the body with the machine and the number of the device.
template <class Body>
int about_device(const char *function, int card, int device, const void *result, Body body) {
    return companions::checked(function, [&] {
        require(result, "the address of the result");
        const Machine found = machine();
        body(found, number(found, card, device));
    });
}

template <std::size_t size>
void write(unsigned char (&text)[size], const std::string &value) {
    std::memset(text, 0, size);
    value.copy(reinterpret_cast<char *>(text), size - 1);
}

template <class Info>
void write_chip(const Machine &machine, unsigned int device, Info &info) {
    const std::int32_t user = companions::user_number(device);
    std::int64_t cores = 0;
    if (user >= 0) {
        aclrtGetDeviceInfo(static_cast<uint32_t>(user), ACL_DEV_ATTR_AICORE_CORE_NUM, &cores);
    }
    write(info.chip_type, "Ascend");
    write(info.chip_name, machine.chip_name);
    write(info.chip_ver, "V1");
    info.aicore_cnt = static_cast<unsigned int>(cores);
}

int write_release(const char *function, char *text, unsigned int length) {
    return companions::checked(function, [&] {
        require(text, "the text");
        std::int32_t major = 0, minor = 0, patch = 0;
        aclrtGetVersion(&major, &minor, &patch);
        const std::string release = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
        if (release.size() >= length) {
            refuse(DCMI_ERR_CODE_INVALID_PARAMETER, "the text has no room for " + release);
        }
        std::strcpy(text, release.c_str());
    });
}

}  // namespace

int dcmi_init(void) {
    return companions::checked("dcmi_init", [] { machine(); });
}

// The releases of the interface and of the driver are not simulated; they are that of the runtime.
int dcmi_get_dcmi_version(char *dcmi_ver, unsigned int len) {
    return write_release("dcmi_get_dcmi_version", dcmi_ver, len);
}

int dcmi_get_driver_version(char *driver_ver, unsigned int len) {
    return write_release("dcmi_get_driver_version", driver_ver, len);
}

int dcmi_get_driver_health(unsigned int *health) {
    return companions::checked("dcmi_get_driver_health", [&] {
        require(health, "health");
        *health = kHealthy;
    });
}

int dcmi_get_card_list(int *card_num, int *card_list, int list_len) {
    return companions::checked("dcmi_get_card_list", [&] {
        require(card_num, "card_num");
        require(card_list, "card_list");
        const auto count = static_cast<int>(cards(machine()));
        if (list_len <= 0) {
            refuse(DCMI_ERR_CODE_INVALID_PARAMETER, "list_len is " + std::to_string(list_len));
        }
        *card_num = count;
        for (int card = 0; card < std::min(count, list_len); ++card) {
            card_list[card] = card;
        }
    });
}

int dcmi_get_card_num_list(int *card_num, int *card_list, int list_length) {
    return dcmi_get_card_list(card_num, card_list, list_length);
}

int dcmi_get_device_num_in_card(int card_id, int *device_num) {
    return companions::checked("dcmi_get_device_num_in_card", [&] {
        require(device_num, "device_num");
        *device_num = static_cast<int>(devices_of(machine(), card_id));
    });
}

int dcmi_get_device_id_in_card(int card_id, int *device_id_max, int *mcu_id, int *cpu_id) {
    return companions::checked("dcmi_get_device_id_in_card", [&] {
        require(device_id_max, "device_id_max");
        require(mcu_id, "mcu_id");
        require(cpu_id, "cpu_id");
        *device_id_max = static_cast<int>(devices_of(machine(), card_id));
        *mcu_id = *cpu_id = -1;
    });
}

int dcmi_get_device_type(int card_id, int device_id, enum dcmi_unit_type *device_type) {
    return about_device("dcmi_get_device_type", card_id, device_id, device_type,
                        [&](const Machine &, unsigned int) { *device_type = NPU_TYPE; });
}

int dcmi_get_device_logic_id(int *device_logic_id, int card_id, int device_id) {
    return about_device("dcmi_get_device_logic_id", card_id, device_id, device_logic_id,
                        [&](const Machine &, unsigned int device) { *device_logic_id = static_cast<int>(device); });
}

int dcmi_get_device_phyid_from_logicid(unsigned int logicid, unsigned int *phyid) {
    return companions::checked("dcmi_get_device_phyid_from_logicid", [&] {
        require(phyid, "phyid");
        require_device(machine(), logicid);
        *phyid = logicid;
    });
}

int dcmi_get_device_logicid_from_phyid(unsigned int phyid, unsigned int *logicid) {
    return companions::checked("dcmi_get_device_logicid_from_phyid", [&] {
        require(logicid, "logicid");
        require_device(machine(), phyid);
        *logicid = phyid;
    });
}

int dcmi_get_card_id_device_id_from_logicid(int *card_id, int *device_id, unsigned int device_logic_id) {
    return companions::checked("dcmi_get_card_id_device_id_from_logicid", [&] {
        require(card_id, "card_id");
        require(device_id, "device_id");
        const Machine found = machine();
        require_device(found, device_logic_id);
        *card_id = static_cast<int>(device_logic_id / found.chips);
        *device_id = static_cast<int>(device_logic_id % found.chips);
    });
}

int dcmi_get_card_id_device_id_from_phyid(int *card_id, int *device_id, unsigned int device_phy_id) {
    return dcmi_get_card_id_device_id_from_logicid(card_id, device_id, device_phy_id);
}

int dcmi_get_device_chip_info(int card_id, int device_id, struct dcmi_chip_info *chip_info) {
    return about_device("dcmi_get_device_chip_info", card_id, device_id, chip_info,
                        [&](const Machine &machine, unsigned int device) { write_chip(machine, device, *chip_info); });
}

int dcmi_get_device_chip_info_v2(int card_id, int device_id, struct dcmi_chip_info_v2 *chip_info) {
    return about_device("dcmi_get_device_chip_info_v2", card_id, device_id, chip_info,
                        [&](const Machine &machine, unsigned int device) {
                            write_chip(machine, device, *chip_info);
                            write(chip_info->npu_name, machine.npu_name);
                        });
}

int dcmi_get_device_board_info(int card_id, int device_id, struct dcmi_board_info *board_info) {
    return about_device(
        "dcmi_get_device_board_info", card_id, device_id, board_info,
        [&](const Machine &, unsigned int) { *board_info = {0, 0, 0, static_cast<unsigned int>(card_id)}; });
}

int dcmi_get_device_die_v2(int card_id, int device_id, enum dcmi_die_type input_type, struct dcmi_die_id *die_id) {
    return about_device(
        "dcmi_get_device_die_v2", card_id, device_id, die_id, [&](const Machine &, unsigned int device) {
            if (input_type != NDIE && input_type != VDIE) {
                refuse(DCMI_ERR_CODE_INVALID_PARAMETER, "there is no die of type " + std::to_string(input_type));
            }
            aclrtUuid uuid;
            if (aclrtDeviceGetUuid(usable(device), &uuid) != ACL_SUCCESS) {
                refuse(DCMI_ERR_CODE_NOT_SUPPORT, "devices of this product have no UUID");
            }
            *die_id = {};
            std::memcpy(die_id->soc_die, uuid.bytes, sizeof uuid.bytes);
        });
}

int dcmi_get_device_health(int card_id, int device_id, unsigned int *health) {
    return about_device(
        "dcmi_get_device_health", card_id, device_id, health, [&](const Machine &machine, unsigned int device) {
            companions::Memory memory;
            const aclError code = companions::read_memory(usable(device), machine.has_hbm, &memory).code;
            *health = code == ACL_SUCCESS ? kHealthy : kCritical;
        });
}

int dcmi_get_device_hbm_info(int card_id, int device_id, struct dcmi_hbm_info *hbm_info) {
    return about_device("dcmi_get_device_hbm_info", card_id, device_id, hbm_info,
                        [&](const Machine &machine, unsigned int device) {
                            if (!machine.has_hbm) {
                                refuse(DCMI_ERR_CODE_NOT_SUPPORT, "devices of this product have no HBM");
                            }
                            const companions::Memory memory = memory_of(machine, device);
                            *hbm_info = {};
                            hbm_info->memory_size = memory.total >> kMiB;
                            hbm_info->memory_usage = (memory.total - memory.free) >> kMiB;
                        });
}

int dcmi_get_device_memory_info_v3(int card_id, int device_id, struct dcmi_get_memory_info_stru *memory_info) {
    return about_device("dcmi_get_device_memory_info_v3", card_id, device_id, memory_info,
                        [&](const Machine &machine, unsigned int device) {
                            if (machine.has_hbm) {
                                refuse(DCMI_ERR_CODE_NOT_SUPPORT, "devices of this product have HBM instead of DDR");
                            }
                            const companions::Memory memory = memory_of(machine, device);
                            *memory_info = {};
                            memory_info->memory_size = memory.total >> kMiB;
                            memory_info->memory_available = memory.free >> kMiB;
                            memory_info->hugepagesize = kHugePage;
                            memory_info->hugepages_total = memory.total / 1024 / kHugePage;
                            memory_info->hugepages_free = memory.free / 1024 / kHugePage;
                            memory_info->utiliza = percent(memory);
                        });
}

int dcmi_get_device_utilization_rate(int card_id, int device_id, int input_type, unsigned int *utilization_rate) {
    return about_device(
        "dcmi_get_device_utilization_rate", card_id, device_id, utilization_rate,
        [&](const Machine &machine, unsigned int device) {
            if (input_type == (machine.has_hbm ? DCMI_UTILIZATION_RATE_HBM : DCMI_UTILIZATION_RATE_DDR)) {
                *utilization_rate = percent(memory_of(machine, device));
                return;
            }
            aclrtUtilizationInfo rates = {};
            aclrtGetDeviceUtilizationRate(usable(device), &rates);
            const int rate = input_type == DCMI_UTILIZATION_RATE_AICORE       ? rates.cubeUtilization
                             : input_type == DCMI_UTILIZATION_RATE_VECTORCORE ? rates.vectorUtilization
                             : input_type == DCMI_UTILIZATION_RATE_AICPU      ? rates.aicpuUtilization
                                                                              : -1;
            if (rate < 0) {
                refuse(DCMI_ERR_CODE_NOT_SUPPORT, "there is no utilization of type " + std::to_string(input_type));
            }
            *utilization_rate = static_cast<unsigned int>(rate);
        });
}
