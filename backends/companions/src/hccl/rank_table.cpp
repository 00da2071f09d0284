// SPDX-License-Identifier: Apache-2.0
#include "hccl/rank_table.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <set>

#include "refusal.h"
#include "support/json.h"

using aclsim::Json;
using companions::refuse;

namespace hccl {
namespace {

constexpr std::size_t kDepth = 16;
constexpr long kUsualPort = 60000;

std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::string text;
    std::array<char, 4096> block{};
    do {
        file.read(block.data(), block.size());  // fails for a directory, without an exception
        text.append(block.data(), static_cast<std::size_t>(file.gcount()));
    } while (file.good() && text.size() <= aclsim::kLongestJson);
    if (!file.is_open() || file.bad() || text.size() > aclsim::kLongestJson) {
        refuse(HCCL_E_OPEN_FILE_FAILURE, "the rank table " + path + " cannot be read");
    }
    return text;
}

const Json &member(const Json &object, const char *name, const std::string &path) {
    const Json *const found = object.find(name);
    if (found == nullptr) {
        refuse(HCCL_E_PARA, "the rank table " + path + " has no " + name);
    }
    return *found;
}

std::uint16_t base_port() {
    const char *const text = std::getenv("HCCL_IF_BASE_PORT");
    const long port = text != nullptr && *text != '\0' ? std::strtol(text, nullptr, 10) : kUsualPort;
    if (port < 1024 || port > UINT16_MAX) {
        refuse(HCCL_E_PARA, std::string("HCCL_IF_BASE_PORT is ") + text + "; ports are 1024 to 65535");
    }
    return static_cast<std::uint16_t>(port);
}

}  // namespace

RankTable read_rank_table(const std::string &path) {
    const std::string text = read(path);
    Json table;
    try {
        table = aclsim::parse_json(text, kDepth);
    } catch (const aclsim::JsonError &error) {
        refuse(HCCL_E_PARA, "the rank table " + path + " is not JSON: " + error.text());
    }
    RankTable ranks{0, {"", base_port(), digest_of(text), "", Origin::RankTable}};
    std::set<std::string> ids;
    const Json &servers = member(table, "server_list", path);
    for (const Json &server : servers.items) {
        for (const Json &device : member(server, "device", path).items) {
            ++ranks.size;
            const std::string &id = member(device, "rank_id", path).text;
            if (!ids.insert(id).second) {
                refuse(HCCL_E_PARA, "the rank table " + path + " has two devices with rank_id " + id);
            }
            if (id == "0") {
                const Json *const address = server.find("host_ip");
                ranks.root.address = (address != nullptr ? *address : member(server, "server_id", path)).text;
            }
        }
    }
    if (ranks.size == 0 || ranks.root.address.empty()) {
        refuse(HCCL_E_PARA, "the rank table " + path + " has no device with rank_id 0");
    }
    for (std::uint32_t rank = 0; rank < ranks.size; ++rank) {
        if (ids.count(std::to_string(rank)) == 0) {
            refuse(HCCL_E_PARA, "the rank table " + path + " has " + std::to_string(ranks.size) +
                                    " devices, but none with rank_id " + std::to_string(rank));
        }
    }
    if (servers.items.size() == 1) {  // whatever its name is
        ranks.root.network = network_identity();
    }
    return ranks;
}

}  // namespace hccl
