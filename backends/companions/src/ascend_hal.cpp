// SPDX-License-Identifier: Apache-2.0
// Functions of the driver, over functions of the runtime.
#include "ascend_hal.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "machine.h"
#include "refusal.h"

using companions::Afterwards;
using companions::Machine;
using companions::machine;
using companions::on_device;
using companions::refuse;

namespace {

template <class Body>
drvError_t answer(const char *function, Body body) {
    return static_cast<drvError_t>(companions::checked(function, body));
}

void require(const void *argument, const char *name) {
    if (argument == nullptr) {
        refuse(DRV_ERROR_INVALID_VALUE, std::string(name) + " is NULL");
    }
}

void require_device(const Machine &machine, std::uint32_t device) {
    if (device >= machine.devices) {
        refuse(DRV_ERROR_INVALID_DEVICE,
               "there is no device " + std::to_string(device) + ", the machine has " + std::to_string(machine.devices));
    }
}

// Returns the number for functions of the runtime.
std::int32_t usable(std::uint32_t device) {
    require_device(machine(), device);
    const std::int32_t user = companions::user_number(device);
    if (user < 0) {
        refuse(DRV_ERROR_INVALID_DEVICE,
               "the process may not use device " + std::to_string(device) + " (ASCEND_RT_VISIBLE_DEVICES)");
    }
    return user;
}

// Refuses with the text of the runtime if its call failed.
void demand(const companions::Refusal &result, drvError_t code) {
    if (result.code != ACL_SUCCESS) {
        refuse(code, result.text);
    }
}

struct Fact {
    std::int32_t module;
    std::int32_t info;
    aclrtDevAttr attribute;
};
constexpr Fact kFacts[] = {
    {MODULE_TYPE_AICPU, INFO_TYPE_CORE_NUM, ACL_DEV_ATTR_AICPU_CORE_NUM},
    {MODULE_TYPE_AICORE, INFO_TYPE_CORE_NUM, ACL_DEV_ATTR_AICORE_CORE_NUM},
    {MODULE_TYPE_VECTOR_CORE, INFO_TYPE_CORE_NUM, ACL_DEV_ATTR_VECTOR_CORE_NUM},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_SDID, ACL_DEV_ATTR_SUPER_POD_DEVICE_ID},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_SERVER_ID, ACL_DEV_ATTR_SUPER_POD_SERVER_ID},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_SUPER_POD_ID, ACL_DEV_ATTR_SUPER_POD_ID},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_MAINBOARD_ID, ACL_DEV_ATTR_MAINBOARD_ID},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_HD_CONNECT_TYPE, ACL_DEV_ATTR_HD_CONNECT_TYPE},
};

// Calls the body, which ends the reason for which on_device let the process keep the device.
companions::Refusal on_device_for_the_last_time(std::int32_t user, const std::function<aclError()> &body) {
    return on_device(user, Afterwards::kReset, [&] {
        const aclError code = body();
        return code == ACL_SUCCESS ? aclrtResetDevice(user) : code;
    });
}

struct Allocation {
    std::int32_t user;  // the device of the call, by its number for functions of the runtime
    bool is_host;
};

// Memory of halMemAlloc that is in use.
class Allocations {
  public:
    void add(void *address, Allocation allocation) {
        const std::lock_guard<std::mutex> guard(mutex_);
        all_[address] = allocation;
    }

    Allocation remove(void *address) {
        const std::lock_guard<std::mutex> guard(mutex_);
        const auto found = all_.find(address);
        if (found == all_.end()) {
            refuse(DRV_ERROR_INVALID_VALUE, "the address is not one of halMemAlloc that is in use");
        }
        const Allocation allocation = found->second;
        all_.erase(found);
        return allocation;
    }

  private:
    std::mutex mutex_;
    std::map<void *, Allocation> all_;
};

Allocations &allocations() {
    // Never destroyed, because threads may use it until the process ends.
    static auto *const all = new Allocations;
    return *all;
}

}  // namespace

drvError_t drvGetPlatformInfo(uint32_t *info) {
    return answer("drvGetPlatformInfo", [&] {
        require(info, "info");
        *info = 1;
    });
}

drvError_t drvGetDevNum(uint32_t *num_dev) {
    return answer("drvGetDevNum", [&] {
        require(num_dev, "num_dev");
        *num_dev = machine().devices;
    });
}

drvError_t drvGetDevIDs(uint32_t *devices, uint32_t len) {
    return answer("drvGetDevIDs", [&] {
        require(devices, "devices");
        const std::uint32_t count = std::min(len, machine().devices);
        for (std::uint32_t i = 0; i < count; ++i) {
            devices[i] = i;
        }
    });
}

drvError_t drvDeviceGetPhyIdByIndex(uint32_t devIndex, uint32_t *phyId) {
    return answer("drvDeviceGetPhyIdByIndex", [&] {
        require(phyId, "phyId");
        require_device(machine(), devIndex);
        *phyId = devIndex;
    });
}

drvError_t drvDeviceGetIndexByPhyId(uint32_t phyId, uint32_t *devIndex) {
    return answer("drvDeviceGetIndexByPhyId", [&] {
        require(devIndex, "devIndex");
        require_device(machine(), phyId);
        *devIndex = phyId;
    });
}

drvError_t drvDeviceStatus(uint32_t devId, drvStatus_t *status) {
    return answer("drvDeviceStatus", [&] {
        require(status, "status");
        const companions::Refusal result = on_device(usable(devId), Afterwards::kReset, [] { return ACL_SUCCESS; });
        *status = result.code == ACL_SUCCESS ? DRV_STATUS_WORK : DRV_STATUS_EXCEPTION;
    });
}

drvError_t halGetChipInfo(unsigned int devId, halChipInfo *chipInfo) {
    return answer("halGetChipInfo", [&] {
        require(chipInfo, "chipInfo");
        const Machine found = machine();
        require_device(found, devId);
        constexpr std::size_t kPrefix = std::char_traits<char>::length("Ascend");
        *chipInfo = {};
        found.soc.copy(reinterpret_cast<char *>(chipInfo->type), kPrefix);
        found.soc.copy(reinterpret_cast<char *>(chipInfo->name), MAX_CHIP_NAME - 1,
                       std::min(kPrefix, found.soc.size()));
        std::strcpy(reinterpret_cast<char *>(chipInfo->version), "V1");
    });
}

drvError_t halGetDeviceInfo(uint32_t devId, int32_t moduleType, int32_t infoType, int64_t *value) {
    return answer("halGetDeviceInfo", [&] {
        require(value, "value");
        const Machine found = machine();
        require_device(found, devId);
        if (moduleType == MODULE_TYPE_SYSTEM && infoType == INFO_TYPE_PHY_CHIP_ID) {
            *value = devId / found.chips;
            return;
        }
        if (moduleType == MODULE_TYPE_SYSTEM && infoType == INFO_TYPE_PHY_DIE_ID) {
            *value = devId % found.chips;
            return;
        }
        for (const Fact &fact : kFacts) {
            if (fact.module == moduleType && fact.info == infoType) {
                const auto user = static_cast<std::uint32_t>(usable(devId));
                const aclError code = aclrtGetDeviceInfo(user, fact.attribute, value);
                demand({code, "the runtime does not have it"}, DRV_ERROR_NOT_SUPPORT);
                return;
            }
        }
        refuse(DRV_ERROR_NOT_SUPPORT, "the simulated machine has no information " + std::to_string(infoType) +
                                          " of module " + std::to_string(moduleType));
    });
}

DVresult halMemGetInfo(DVdevice device, unsigned int type, struct MemInfo *info) {
    return answer("halMemGetInfo", [&] {
        require(info, "info");
        if (type != MEM_INFO_TYPE_DDR_SIZE && type != MEM_INFO_TYPE_HBM_SIZE) {
            refuse(DRV_ERROR_NOT_SUPPORT, "there is no information of type " + std::to_string(type));
        }
        companions::Memory memory = {};
        demand(companions::read_memory(usable(device), type == MEM_INFO_TYPE_HBM_SIZE, &memory), DRV_ERROR_STATUS_FAIL);
        info->phy_info = {memory.total, memory.free, memory.total, memory.free, 0, 0};
    });
}

drvError_t halMemCtl(int type, void *param_value, size_t param_value_size, void *out_value, size_t *out_size_ret) {
    return answer("halMemCtl", [&] {
        if (type != CTRL_TYPE_SUPPORT_FEATURE) {
            refuse(DRV_ERROR_NOT_SUPPORT, "the simulated driver has no control of type " + std::to_string(type));
        }
        require(param_value, "param_value");
        require(out_value, "out_value");
        if (param_value_size < sizeof(supportFeaturePara)) {
            refuse(DRV_ERROR_INVALID_VALUE, "param_value_size is " + std::to_string(param_value_size) + ", less than " +
                                                std::to_string(sizeof(supportFeaturePara)));
        }
        const auto *asked = static_cast<const supportFeaturePara *>(param_value);
        require_device(machine(), asked->devid);
        *static_cast<supportFeaturePara *>(out_value) = {0, asked->devid};
        if (out_size_ret != nullptr) {
            *out_size_ret = sizeof(supportFeaturePara);
        }
    });
}

drvError_t halMemAlloc(void **pp, unsigned long long size, unsigned long long flag) {
    return answer("halMemAlloc", [&] {
        require(pp, "pp");
        const auto place = flag & (MEM_VIRT_MASK << MEM_VIRT_BIT);
        const bool is_host = place == MEM_HOST;
        if (!is_host && place != MEM_SVM && place != MEM_DEV) {
            refuse(DRV_ERROR_NOT_SUPPORT, "the simulated driver has memory of MEM_SVM, MEM_DEV and MEM_HOST only");
        }
        const std::int32_t user = usable(flag & MEM_DEVID_MASK);
        void *address = nullptr;
        const auto allocate = [&] {
            return is_host ? aclrtMallocHost(&address, size) : aclrtMalloc(&address, size, ACL_MEM_MALLOC_HUGE_FIRST);
        };
        demand(on_device(user, Afterwards::kStay, allocate), DRV_ERROR_OUT_OF_MEMORY);
        allocations().add(address, {user, is_host});
        *pp = address;
    });
}

drvError_t halMemFree(void *pp) {
    return answer("halMemFree", [&] {
        require(pp, "pp");
        const Allocation allocation = allocations().remove(pp);
        const auto free = [&] { return allocation.is_host ? aclrtFreeHost(pp) : aclrtFree(pp); };
        demand(on_device_for_the_last_time(allocation.user, free), DRV_ERROR_INNER_ERR);
    });
}

drvError_t halHostRegister(void *src_ptr, uint64_t size, uint32_t flag, uint32_t devid, void **dst_ptr) {
    return answer("halHostRegister", [&] {
        require(src_ptr, "src_ptr");
        require(dst_ptr, "dst_ptr");
        if (flag != HOST_MEM_MAP_DEV && flag != HOST_MEM_MAP_DEV_PCIE_TH) {
            refuse(DRV_ERROR_NOT_SUPPORT, "the simulated driver has no mapping of type " + std::to_string(flag));
        }
        demand(on_device(usable(devid), Afterwards::kStay,
                         [&] { return aclrtHostRegister(src_ptr, size, ACL_HOST_REGISTER_MAPPED, dst_ptr); }),
               DRV_ERROR_INVALID_VALUE);
    });
}

drvError_t halHostUnregister(void *src_ptr, uint32_t devid) {
    return answer("halHostUnregister", [&] {
        require(src_ptr, "src_ptr");
        demand(on_device_for_the_last_time(usable(devid), [&] { return aclrtHostUnregister(src_ptr); }),
               DRV_ERROR_INVALID_VALUE);
    });
}

drvError_t halHostUnregisterEx(void *src_ptr, uint32_t devid, uint32_t) { return halHostUnregister(src_ptr, devid); }
