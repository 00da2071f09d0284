// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <cstring>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>

#include "abi/aclsim.h"

namespace companions {
namespace {

struct Board {
    const char *product;
    std::uint32_t chips;
    bool has_hbm;
};
constexpr Board kBoards[] = {
    {"910B", 1, true}, {"910C", 2, true}, {"310B", 1, false}, {"310P", 1, false}, {"910", 1, true}, {"950", 1, true},
};

}  // namespace

Machine machine() {
    aclsimInfo info;
    const aclError code = aclsimGetInfo(&info);
    const char *soc = aclrtGetSocName();
    if (code != ACL_SUCCESS || soc == nullptr) {
        const char *text = aclGetRecentErrMsg();
        refuse(ACL_ERROR_INTERNAL_ERROR, text == nullptr ? "the simulator does not describe its machine" : text);
    }
    Machine found = {info.deviceCount, 1, true, soc, soc, ""};
    for (const Board &board : kBoards) {
        if (std::strcmp(board.product, info.product) == 0) {
            found.chips = board.chips;
            found.has_hbm = board.has_hbm;
        }
    }
    const std::size_t separator = found.soc.find('_');
    if (separator != std::string::npos) {
        found.chip_name = found.soc.substr(0, separator);
        found.npu_name = found.soc.substr(separator + 1);
    } else if (found.soc.compare(0, std::strlen("Ascend"), "Ascend") == 0) {
        found.chip_name = found.soc.substr(std::strlen("Ascend"));
    }
    return found;
}

std::int32_t user_number(std::uint32_t device) {
    std::int32_t user = -1;
    return aclrtGetUserDevIdByLogicDevId(static_cast<std::int32_t>(device), &user) == ACL_SUCCESS ? user : -1;
}

Refusal on_device(std::int32_t user, Afterwards afterwards, const std::function<aclError()> &body) {
    Refusal result = {ACL_SUCCESS, ""};
    const auto call = [&] {
        result.code = aclrtSetDevice(user);
        const bool is_set = result.code == ACL_SUCCESS;
        if (is_set) {
            result.code = body();
        }
        const char *text = result.code == ACL_SUCCESS ? nullptr : aclGetRecentErrMsg();
        result.text = text == nullptr ? "" : text;
        if (is_set && (afterwards == Afterwards::kReset || result.code != ACL_SUCCESS)) {
            aclrtResetDevice(user);
        }
    };
    try {
        std::thread(call).join();
    } catch (const std::system_error &error) {
        return {ACL_ERROR_RT_INTERNAL_ERROR, std::string("a thread cannot be started: ") + error.what()};
    }
    return result;
}

Refusal read_memory(std::int32_t user, bool has_hbm, Memory *memory) {
    return on_device(user, Afterwards::kReset, [&] {
        return aclrtGetMemInfo(has_hbm ? ACL_HBM_MEM : ACL_DDR_MEM, &memory->free, &memory->total);
    });
}

}  // namespace companions
