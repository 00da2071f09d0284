// SPDX-License-Identifier: Apache-2.0
// Meetings of the ranks of a communicator: one of them serves under an address that the program distributes as the root
// information. Each rank announces itself there, gets the list of all ranks, and connects to each of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hccl/hccl.h"
#include "hccl/socket.h"

namespace hccl {

// Description of the ranks, for a communicator and its parts.
enum class Origin { RootInfo, RankTable };

// Place of the rank that serves. The secret keeps other programs out.
struct Root {
    std::string address;
    std::uint16_t port = 0;
    std::string secret;   // 32 hexadecimal digits
    std::string network;  // network_identity() of the process that serves
    Origin origin = Origin::RootInfo;
    std::string ranks{};  // digest of the ranks of a part, in order, the same for all of them

    // Refuse with HCCL_E_PARA what store() has not written.
    void store(HcclRootInfo &info) const;
    static Root load(const HcclRootInfo &info);
};

// Serves on a thread until all ranks have come, or the root is released. Under torchrun the place is that of an earlier
// root of the process which has been released, or of the attempt before.
Root serve();
// Call when a communicator has ended or was not created, with the secret of its root. Does nothing with that of another
// process.
void release_root(const std::string &secret);
// The same at the place that a rank table names.
Root serve_for_table(const Root &place);

// Returns "rank 1" or "ranks 1, 2 and 5".
std::string list_of(const std::vector<std::uint32_t> &ranks);
// Returns 32 hexadecimal digits that depend on the text.
std::string digest_of(const std::string &text);

// Other rank of a communicator.
struct Peer {
    Socket socket;             // not open: this rank itself
    std::int64_t process = 0;  // whose memory can be read; 0: none, because it is on another host, or not permitted
};

// Returns all ranks, in order. Refuses with HCCL_E_TIMEOUT after the deadline, naming those that are missing, with
// HCCL_E_PARA if the ranks disagree about their number or their order, or two have the same, with HCCL_E_TCP_CONNECT
// and HCCL_E_TCP_TRANSFER if connections fail.
std::vector<Peer> join(const Root &root, std::uint32_t size, std::uint32_t rank, Time deadline);

// Refuses with HCCL_E_PARA if the variable is set to something that deadline_by() would ignore.
void require_time_limit(const char *variable);
// Returns the end of a time limit in seconds, which an environment variable may set; 0: none.
Time deadline_by(const char *variable, int usual_seconds);

}  // namespace hccl
