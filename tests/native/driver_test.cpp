// SPDX-License-Identifier: Apache-2.0
// The driver's libraries describe the machine of the runtime; wrong arguments and unknown devices are refused.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "abi/acl.h"
#include "abi/aclsim.h"
#include "ascend_hal.h"
#include "check.h"
#include "dcmi_interface_api.h"

namespace {

std::uint32_t device_count() {
    aclsimInfo info;
    CHECK_OK(aclsimGetInfo(&info));
    return info.deviceCount;
}

// Fields of structures, as texts.
template <std::size_t size>
std::string text(const unsigned char (&field)[size]) {
    return reinterpret_cast<const char *>(field);
}

void cards_and_devices() {
    CHECK_OK(dcmi_init());
    int count = 0, cards[MAX_CARD_NUM] = {}, devices = 0, mcu = 0, cpu = 0;
    CHECK_OK(dcmi_get_card_list(&count, cards, MAX_CARD_NUM));
    std::uint32_t all = 0;
    for (int i = 0; i < count; ++i) {
        CHECK_OK(dcmi_get_device_num_in_card(cards[i], &devices));
        CHECK_OK(dcmi_get_device_id_in_card(cards[i], &devices, &mcu, &cpu));
        for (int device = 0; device < devices; ++device) {
            int logic = -1, card = -1, back = -1;
            unsigned int physical = 0, again = 0;
            CHECK_OK(dcmi_get_device_logic_id(&logic, cards[i], device));
            CHECK(logic == static_cast<int>(all));
            CHECK_OK(dcmi_get_card_id_device_id_from_logicid(&card, &back, all));
            CHECK(card == cards[i] && back == device);
            CHECK_OK(dcmi_get_device_phyid_from_logicid(all, &physical));
            CHECK_OK(dcmi_get_device_logicid_from_phyid(physical, &again));
            CHECK(again == all);
            ++all;
        }
    }
    CHECK(all == device_count());
    CHECK(mcu == -1 && cpu == -1);
    int one[1] = {-1};
    CHECK_OK(dcmi_get_card_list(&count, one, 1));
    CHECK(one[0] == 0);
}

void chips() {
    dcmi_chip_info_v2 chip;
    CHECK_OK(dcmi_get_device_chip_info_v2(0, 0, &chip));
    CHECK(text(chip.chip_type) == "Ascend");
    const std::string soc = aclrtGetSocName();
    CHECK(soc == (text(chip.npu_name).empty() ? text(chip.chip_type) + text(chip.chip_name)
                                              : text(chip.chip_name) + "_" + text(chip.npu_name)));
    std::int64_t cores = 0;
    CHECK_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, &cores));
    CHECK(chip.aicore_cnt == cores);
    dcmi_board_info board;
    CHECK_OK(dcmi_get_device_board_info(1, 0, &board));
    CHECK(board.slot_id == 1);
    halChipInfo info;
    CHECK_OK(halGetChipInfo(0, &info));
    CHECK(text(info.type) + text(info.name) == soc);
    std::int64_t value = -1;
    CHECK_OK(halGetDeviceInfo(0, MODULE_TYPE_AICORE, INFO_TYPE_CORE_NUM, &value));
    CHECK(value == cores);
    CHECK_OK(halGetDeviceInfo(0, MODULE_TYPE_SYSTEM, INFO_TYPE_PHY_DIE_ID, &value));
    CHECK(value == 0);
    CHECK_CODE(DRV_ERROR_NOT_SUPPORT, halGetDeviceInfo(0, MODULE_TYPE_AICORE, 999, &value));
}

void memory_of_the_device() {
    CHECK_OK(aclrtSetDevice(0));
    std::size_t free = 0, total = 0;
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    dcmi_hbm_info hbm;
    CHECK_OK(dcmi_get_device_hbm_info(0, 0, &hbm));
    CHECK(hbm.memory_size == total >> 20 && hbm.memory_usage == (total - free) >> 20);
    MemInfo info = {};
    CHECK_OK(halMemGetInfo(0, MEM_INFO_TYPE_HBM_SIZE, &info));
    CHECK(info.phy_info.total == total && info.phy_info.free == free);
    dcmi_get_memory_info_stru ddr;
    CHECK_CODE(DCMI_ERR_CODE_NOT_SUPPORT, dcmi_get_device_memory_info_v3(0, 0, &ddr));
    unsigned int rate = 101;
    CHECK_OK(dcmi_get_device_utilization_rate(0, 0, DCMI_UTILIZATION_RATE_HBM, &rate));
    CHECK(rate <= 100);
    CHECK_OK(dcmi_get_device_utilization_rate(0, 0, DCMI_UTILIZATION_RATE_AICORE, &rate));
    CHECK(rate == 0);
    CHECK_CODE(DCMI_ERR_CODE_NOT_SUPPORT, dcmi_get_device_utilization_rate(0, 0, 99, &rate));
    // A question leaves the program's device and memory alone.
    std::int32_t current = -1;
    CHECK_OK(aclrtGetDevice(&current));
    CHECK(current == 0);
    CHECK_OK(aclrtMemset(memory, 64 << 20, 1, 64 << 20));
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtResetDevice(0));
}

void memory_of_the_driver() {
    void *device = nullptr, *host = nullptr;
    CHECK_OK(halMemAlloc(&device, 4096, MEM_DEV | 1));
    CHECK_OK(halMemAlloc(&host, 4096, MEM_HOST));
    std::memset(host, 7, 4096);
    CHECK_OK(aclrtSetDevice(1));
    CHECK_OK(aclrtMemcpy(device, 4096, host, 4096, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK_OK(halMemFree(device));
    CHECK_CODE(DRV_ERROR_INVALID_VALUE, halMemFree(device));
    CHECK(recent_text() == "halMemFree: the address is not one of halMemAlloc that is in use");
    CHECK_OK(halMemFree(host));
    CHECK_CODE(DRV_ERROR_INVALID_VALUE, halMemFree(nullptr));
    CHECK_CODE(DRV_ERROR_INVALID_VALUE, halMemAlloc(nullptr, 4096, MEM_DEV));
    CHECK_CODE(DRV_ERROR_OUT_OF_MEMORY, halMemAlloc(&device, std::uint64_t{1} << 60, MEM_DEV));
    CHECK_CODE(DRV_ERROR_INVALID_DEVICE, halMemAlloc(&device, 4096, MEM_DEV | 1000));
    CHECK_CODE(DRV_ERROR_NOT_SUPPORT, halMemAlloc(&device, 4096, 0x9 << MEM_VIRT_BIT));
    void *pages = std::aligned_alloc(4096, 8192), *mapped = nullptr;
    CHECK_OK(halHostRegister(pages, 8192, HOST_MEM_MAP_DEV, 1, &mapped));
    CHECK(mapped != nullptr);
    CHECK_OK(halHostUnregister(pages, 1));
    CHECK_CODE(DRV_ERROR_INVALID_VALUE, halHostUnregister(pages, 1));
    CHECK_CODE(DRV_ERROR_NOT_SUPPORT, halHostRegister(pages, 8192, DEV_SVM_MAP_HOST, 1, &mapped));
    CHECK_CODE(DRV_ERROR_INVALID_VALUE, halHostRegister(nullptr, 8192, HOST_MEM_MAP_DEV, 1, &mapped));
    std::free(pages);
    CHECK_OK(aclrtResetDevice(1));
}

void questions_of_the_driver() {
    std::uint32_t number = 0, ids[64] = {};
    CHECK_OK(drvGetPlatformInfo(&number));
    CHECK(number == 1);
    CHECK_OK(drvGetDevNum(&number));
    CHECK(number == device_count());
    CHECK_OK(drvGetDevIDs(ids, 64));
    CHECK(ids[1] == 1);
    CHECK_OK(drvDeviceGetPhyIdByIndex(1, &number));
    CHECK(number == 1);
    drvStatus_t status = DRV_STATUS_RESERVED;
    CHECK_OK(drvDeviceStatus(0, &status));
    CHECK(status == DRV_STATUS_WORK);
    supportFeaturePara asked = {~0ULL, 0}, answered = {1, 9};
    std::size_t size = 0;
    CHECK_OK(halMemCtl(CTRL_TYPE_SUPPORT_FEATURE, &asked, sizeof asked, &answered, &size));
    CHECK(answered.support_feature == 0 && answered.devid == 0 && size == sizeof answered);
    CHECK_CODE(DRV_ERROR_INVALID_VALUE, halMemCtl(CTRL_TYPE_SUPPORT_FEATURE, &asked, 1, &answered, &size));
    CHECK_CODE(DRV_ERROR_INVALID_VALUE, halMemCtl(CTRL_TYPE_SUPPORT_FEATURE, nullptr, 16, &answered, &size));
    CHECK_CODE(DRV_ERROR_NOT_SUPPORT, halMemCtl(CTRL_TYPE_ADDR_MAP, nullptr, 0, nullptr, nullptr));
    CHECK_CODE(DRV_ERROR_NOT_SUPPORT, halMemRegUbSegment(0, 0, 0));
}

void wrong_arguments() {
    int number = 0;
    unsigned int positive = 0;
    CHECK_CODE(DCMI_ERR_CODE_INVALID_PARAMETER, dcmi_get_card_list(nullptr, &number, 1));
    CHECK_CODE(DCMI_ERR_CODE_INVALID_PARAMETER, dcmi_get_card_list(&number, &number, 0));
    CHECK_CODE(DCMI_ERR_CODE_INVALID_PARAMETER, dcmi_get_device_health(0, 0, nullptr));
    CHECK_CODE(DCMI_ERR_CODE_DEVICE_NOT_EXIST, dcmi_get_device_health(-1, 0, &positive));
    CHECK_CODE(DCMI_ERR_CODE_DEVICE_NOT_EXIST, dcmi_get_device_health(0, 7, &positive));
    CHECK(recent_text() == "dcmi_get_device_health: card 0 has no device 7");
    CHECK_CODE(DCMI_ERR_CODE_DEVICE_NOT_EXIST, dcmi_get_device_phyid_from_logicid(64, &positive));
    CHECK_CODE(DCMI_ERR_CODE_NOT_SUPPORT, dcmi_get_device_temperature(0, 0, &number));
    char version[4];
    CHECK_CODE(DCMI_ERR_CODE_INVALID_PARAMETER, dcmi_get_driver_version(version, 4));
    CHECK_CODE(DRV_ERROR_INVALID_DEVICE, drvDeviceGetPhyIdByIndex(64, &positive));
    CHECK_CODE(DRV_ERROR_INVALID_VALUE, drvGetDevNum(nullptr));
}

// A device that is lost is not healthy; without the fault it is again.
void health() {
    unsigned int health = 9;
    CHECK_OK(dcmi_get_device_health(1, 0, &health));
    CHECK(health == 0);
    CHECK_OK(aclsimLoseDevice(1, ACL_ERROR_RT_DEV_SETUP_ERROR));
    CHECK_OK(dcmi_get_device_health(1, 0, &health));
    CHECK(health == 3);
    drvStatus_t status = DRV_STATUS_RESERVED;
    CHECK_OK(drvDeviceStatus(1, &status));
    CHECK(status == DRV_STATUS_EXCEPTION);
    dcmi_hbm_info hbm;
    CHECK_CODE(DCMI_ERR_CODE_NOT_REDAY, dcmi_get_device_hbm_info(1, 0, &hbm));
    CHECK_OK(aclsimClearFaults());
    CHECK_OK(dcmi_get_device_health(1, 0, &health));
    CHECK(health == 0);
}

void threads_that_ask_at_the_same_time() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([] {
            for (int time = 0; time < 5; ++time) {
                dcmi_hbm_info hbm;
                CHECK_OK(dcmi_get_device_hbm_info(0, 0, &hbm));
                void *memory = nullptr;
                CHECK_OK(halMemAlloc(&memory, 4096, MEM_DEV | 2));
                CHECK_OK(halMemFree(memory));
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

}  // namespace

int main() {
    cards_and_devices();
    chips();
    memory_of_the_device();
    memory_of_the_driver();
    questions_of_the_driver();
    wrong_arguments();
    health();
    threads_that_ask_at_the_same_time();
    return 0;
}
