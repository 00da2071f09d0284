// SPDX-License-Identifier: Apache-2.0
// Functions that create communicators, describe them, and destroy them.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hccl/entry.h"
#include "hccl/rank_table.h"

namespace hccl {
namespace {

std::mutex g_mutex;
std::unordered_map<HcclComm, std::shared_ptr<Communicator>> *g_communicators =
    new std::unordered_map<HcclComm, std::shared_ptr<Communicator>>;  // calls may come after the end of main()
std::uintptr_t g_last_handle = 0x10000;                               // guarded by g_mutex

[[noreturn]] void refuse_unknown(HcclComm handle) {
    char address[2 * sizeof(void *) + 3];
    std::snprintf(address, sizeof address, "%p", handle);
    refuse(HCCL_E_PARA, std::string(address) + " is not a live communicator");
}

}  // namespace

// Gives each communicator another handle: that of a destroyed one names nothing, although its memory may be used again.
HcclComm add(std::shared_ptr<Communicator> communicator) {
    const std::lock_guard<std::mutex> guard(g_mutex);
    g_last_handle += 16;
    const auto handle = reinterpret_cast<HcclComm>(g_last_handle);  // NOLINT: not dereferenced
    g_communicators->emplace(handle, std::move(communicator));
    return handle;
}

std::shared_ptr<Communicator> find(HcclComm handle) {
    require(handle, "comm");
    const std::lock_guard<std::mutex> guard(g_mutex);
    const auto found = g_communicators->find(handle);
    return found == g_communicators->end() ? (refuse_unknown(handle), nullptr) : found->second;
}

void for_each_communicator(const std::function<void(const Communicator &)> &function) {
    const std::lock_guard<std::mutex> guard(g_mutex);
    for (const auto &[handle, communicator] : *g_communicators) {
        function(*communicator);
    }
}

std::shared_ptr<Communicator> remove(HcclComm handle) {
    require(handle, "comm");
    const std::lock_guard<std::mutex> guard(g_mutex);
    const auto node = g_communicators->extract(handle);
    return node.empty() ? (refuse_unknown(handle), nullptr) : std::move(node.mapped());
}

}  // namespace hccl

using namespace hccl;

namespace {

constexpr std::uint32_t kMostRanks = 1U << 15;

void require_rank(std::uint32_t size, std::uint32_t rank) {
    if (size == 0 || size > kMostRanks || rank >= size) {
        refuse(HCCL_E_PARA, "there is no rank " + std::to_string(rank) + " of " + std::to_string(size));
    }
}

// A rank that fails at once would let the others wait for it.
void require_different_devices(std::vector<std::int32_t> devices) {
    std::uint32_t count = 0;
    if (aclrtGetDeviceCount(&count) != ACL_SUCCESS) {
        refuse(HCCL_E_RUNTIME, "the number of devices is unknown");
    }
    std::sort(devices.begin(), devices.end());
    if (devices.front() < 0 || static_cast<std::uint32_t>(devices.back()) >= count) {
        refuse(HCCL_E_PARA, "devices are not numbers from 0 to " + std::to_string(count - 1));
    }
    if (std::adjacent_find(devices.begin(), devices.end()) != devices.end()) {
        refuse(HCCL_E_PARA, "devices contain a device twice");
    }
}

Settings read_settings(const HcclCommConfig *config) {
    Settings settings;
    if (config == nullptr) {
        return settings;
    }
    std::size_t size = 0;
    std::uint32_t mark = 0;
    std::memcpy(&size, config->reserved, sizeof size);
    std::memcpy(&mark, config->reserved + sizeof size, sizeof mark);
    if (mark != HCCL_COMM_CONFIG_MAGIC_WORD) {
        refuse(HCCL_E_PARA, "config was not prepared by HcclCommConfigInit");
    }
    // A program that was built for an older version has a shorter structure.
    const auto has = [&](std::size_t offset, std::size_t width) { return size >= offset + width; };
    if (has(offsetof(HcclCommConfig, hcclCommName), sizeof config->hcclCommName)) {
        settings.name.assign(config->hcclCommName, strnlen(config->hcclCommName, sizeof config->hcclCommName));
    }
    if (has(offsetof(HcclCommConfig, hcclExecTimeOut), sizeof config->hcclExecTimeOut) &&
        config->hcclExecTimeOut != HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET) {
        if (config->hcclExecTimeOut < 0) {
            refuse(HCCL_E_PARA, "hcclExecTimeOut is " + std::to_string(config->hcclExecTimeOut));
        }
        settings.timeout_seconds = config->hcclExecTimeOut;
    }
    return settings;
}

// HCCL describes the ranks of a device once, from a rank table or from root information.
void require_one_origin(Origin origin) {
    std::int32_t device = 0;
    if (aclrtGetDevice(&device) != ACL_SUCCESS) {
        return;  // refused by Communicator::create()
    }
    for_each_communicator([&](const Communicator &other) {
        if (other.device() == device && other.origin() != origin) {
            const bool is_table = origin == Origin::RankTable;
            refuse(HCCL_E_NOT_SUPPORT, std::string(is_table ? "a rank table" : "root information") +
                                           " is not supported on a device whose communicator " + other.name() +
                                           " was created from " + (is_table ? "root information" : "a rank table") +
                                           "; destroy that one first, or use HcclCreateSubCommConfig");
        }
    });
}

void create(const Root &root, std::uint32_t size, std::uint32_t rank, const HcclCommConfig *config, HcclComm *comm) {
    require_rank(size, rank);
    const Settings settings = read_settings(config);
    try {
        require_one_origin(root.origin);
        *comm = add(Communicator::create(root, size, rank, settings));
    } catch (const companions::Refusal &refusal) {
        if (refusal.code != HCCL_E_PARA) {  // otherwise another process may be that rank
            release_root(root.secret);
        }
        throw;
    }
}

void create_from_root_info(std::uint32_t size, const HcclRootInfo *info, std::uint32_t rank,
                           const HcclCommConfig *config, HcclComm *comm) {
    require(info, "rootInfo");
    require(comm, "comm");
    create(Root::load(*info), size, rank, config, comm);
}

void create_from_table(const char *table, std::uint32_t rank, const HcclCommConfig *config, HcclComm *comm) {
    require(table, "clusterInfo");
    require(comm, "comm");
    const RankTable ranks = read_rank_table(table);
    require_rank(ranks.size, rank);
    const Root root = rank == 0 ? serve_for_table(ranks.root) : ranks.root;
    create(root, ranks.size, rank, config, comm);
}

}  // namespace

HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo) {
    return checked("HcclGetRootInfo", [&] {
        require(rootInfo, "rootInfo");
        serve().store(*rootInfo);
    });
}

HcclResult HcclGetRootInfoScalable(HcclRootInfo *rootInfo) { return HcclGetRootInfo(rootInfo); }

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm) {
    return checked("HcclCommInitRootInfo", [&] { create_from_root_info(nRanks, rootInfo, rank, nullptr, comm); });
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                      const HcclCommConfig *config, HcclComm *comm) {
    return checked("HcclCommInitRootInfoConfig", [&] { create_from_root_info(nRanks, rootInfo, rank, config, comm); });
}

// One root is sufficient for the ranks of a few machines.
HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot, const HcclRootInfo *rootInfoList,
                                        uint32_t rank, uint32_t nExtRoot, const HcclCommConfig *config,
                                        HcclComm *comm) {
    return checked("HcclCommInitRootInfoScalable", [&] {
        if (nRoot == 0 || nRoot > nRanks || nExtRoot != 0) {
            refuse(HCCL_E_PARA, "there are " + std::to_string(nRoot) + " roots for " + std::to_string(nRanks) +
                                    " ranks, and nExtRoot is " + std::to_string(nExtRoot));
        }
        create_from_root_info(nRanks, rootInfoList, rank, config, comm);
    });
}

namespace {

// A thread that is joined. std::async needs more of the C++ library than a wheel has (tools/wheels.py).
struct Joined {
    template <class Body>
    explicit Joined(Body body) : thread(std::move(body)) {}
    Joined(Joined &&) = default;
    Joined &operator=(Joined &&) = delete;
    ~Joined() {
        if (thread.joinable()) {
            thread.join();
        }
    }
    std::thread thread;
};

// Joins on the calling thread with a device, and returns the reason if that was refused.
companions::Refusal join_with(std::int32_t device, const Root &root, std::uint32_t size, std::uint32_t rank,
                              HcclComm *comm) {
    if (aclrtSetDevice(device) != ACL_SUCCESS) {
        const char *const text = aclGetRecentErrMsg();
        return {HCCL_E_RUNTIME, text == nullptr ? "" : text};
    }
    companions::Refusal reason{HCCL_SUCCESS, ""};
    try {
        create(root, size, rank, nullptr, comm);
    } catch (const companions::Refusal &refusal) {
        reason = refusal;
    } catch (const std::system_error &error) {
        reason = {HCCL_E_SYSCALL, text_of(error)};
    } catch (const std::bad_alloc &) {
        reason = {HCCL_E_MEMORY, "host out of RAM"};
    } catch (const std::exception &error) {
        reason = {HCCL_E_SYSCALL, error.what()};
    }
    aclrtResetDevice(device);  // the program sets the devices that it works with
    return reason;
}

}  // namespace

// Each rank joins on a separate thread.
HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms) {
    return checked("HcclCommInitAll", [&] {
        require(devices, "devices");
        require(comms, "comms");
        require_rank(ndev, 0);
        require_different_devices({devices, devices + ndev});
        const Root root = serve();
        std::vector<HcclComm> made(ndev, nullptr);
        std::vector<companions::Refusal> refusals(ndev, companions::Refusal{HCCL_SUCCESS, ""});
        std::vector<Joined> ranks;  // waits for the threads, also if one cannot begin
        ranks.reserve(ndev);
        for (std::uint32_t rank = 0; rank < ndev; ++rank) {
            ranks.emplace_back([&, rank] { refusals[rank] = join_with(devices[rank], root, ndev, rank, &made[rank]); });
        }
        ranks.clear();
        const auto refused = std::find_if(refusals.begin(), refusals.end(),
                                          [](const companions::Refusal &each) { return each.code != HCCL_SUCCESS; });
        if (refused == refusals.end()) {
            std::copy(made.begin(), made.end(), comms);
            return;
        }
        for (const HcclComm comm : made) {
            if (comm != nullptr) {
                remove(comm)->close();
            }
        }
        release_root(root.secret);
        refuse(refused->code, refused->text);
    });
}

HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm) {
    return checked("HcclCommInitClusterInfo", [&] { create_from_table(clusterInfo, rank, nullptr, comm); });
}

HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank, HcclCommConfig *config,
                                         HcclComm *comm) {
    return checked("HcclCommInitClusterInfoConfig", [&] { create_from_table(clusterInfo, rank, config, comm); });
}

HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds, uint64_t subCommId,
                                   uint32_t subCommRankId, HcclCommConfig *config, HcclComm *subComm) {
    return checked("HcclCreateSubCommConfig", [&] {
        require(comm, "comm");
        require(subComm, "subComm");
        const auto parent = find(*comm);
        if (rankNum == 0 && rankIds == nullptr) {  // this rank takes no part
            *subComm = nullptr;
            return;
        }
        require(rankIds, "rankIds");
        require_rank(rankNum, subCommRankId);
        const std::vector<std::uint32_t> ranks(rankIds, rankIds + rankNum);
        std::vector<std::uint32_t> sorted = ranks;
        std::sort(sorted.begin(), sorted.end());
        if (sorted.back() >= parent->size() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
            refuse(HCCL_E_PARA, "rankIds are not different ranks of the communicator");
        }
        if (ranks[subCommRankId] != parent->rank()) {
            refuse(HCCL_E_PARA, "rank " + std::to_string(parent->rank()) + " is not number " +
                                    std::to_string(subCommRankId) + " of rankIds");
        }
        create(parent->root_of_part(ranks, subCommId), rankNum, subCommRankId, config, subComm);
    });
}

HcclResult HcclCommDestroy(HcclComm comm) {
    if (is_forked_child()) {
        return HCCL_SUCCESS;  // a child discards its copy, without effect on its parent
    }
    return checked("HcclCommDestroy", [&] { remove(comm)->close(); });
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize) {
    return checked("HcclGetRankSize", [&] {
        require(rankSize, "rankSize");
        *rankSize = find(comm)->size();
    });
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank) {
    return checked("HcclGetRankId", [&] {
        require(rank, "rank");
        *rank = find(comm)->rank();
    });
}

HcclResult HcclGetCommName(HcclComm comm, char *commName) {
    return checked("HcclGetCommName", [&] {
        require(commName, "commName");
        std::snprintf(commName, COMM_NAME_MAX_LENGTH, "%s", find(comm)->name().c_str());
    });
}

// The thread by which torch_npu watches its operations asks for events all the time, whereby the program learns
// nothing: otherwise `ascend-rt check` would take the moment of such a query for synchronization.
static void note_watching_thread() {
    static thread_local const bool is_noted = [] {
        char name[16] = "";
        const bool watches =
            pthread_getname_np(pthread_self(), name, sizeof name) == 0 && std::strncmp(name, "hccl_watchdog", 13) == 0;
        return watches && aclsimAskQuietly(1) == ACL_SUCCESS;
    }();
    static_cast<void>(is_noted);
}

HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError) {
    note_watching_thread();
    return checked("HcclGetCommAsyncError", [&] {
        require(asyncError, "asyncError");
        const std::optional<Failure> failure = find(comm)->failure();
        *asyncError = failure ? failure->code : HCCL_SUCCESS;
        if (failure) {  // torch_npu adds the newest text of the thread to the code
            aclsimRefuse("HcclGetCommAsyncError", failure->code, failure->text.c_str());
        }
    });
}

// Called by a binding of another language, for texts that name lines of its programs.
extern "C" __attribute__((visibility("default"))) void ascend_rt_hccl_set_line_provider(NameLine provider) {
    set_line_provider(provider);
}
