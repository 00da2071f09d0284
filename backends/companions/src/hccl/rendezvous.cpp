// SPDX-License-Identifier: Apache-2.0
#include "hccl/rendezvous.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <thread>

#include "hccl/reception.h"
#include "refusal.h"

using companions::Refusal;
using companions::refuse;

namespace hccl {
namespace {

constexpr const char *kMark = "ascend_rt-1";  // format of what is exchanged
constexpr std::chrono::seconds kForGreeting{10};
constexpr std::size_t kTextSize = 256;
constexpr std::uint32_t kMostRanks = 1U << 15;

template <std::size_t Size>
void put(char (&to)[Size], const std::string &text) {
    std::snprintf(to, Size, "%s", text.c_str());
}

// Known bytes in the memory of a process: another one that reads them there can read its memory.
struct Cookie {
    std::array<unsigned char, 16> bytes;
};

struct Member {
    char address[64];
    char network[160];
    std::uint64_t process;
    std::uint64_t cookie_address;
    Cookie cookie;
    std::uint16_t port;
    char padding[6];
};

struct Hello {
    char mark[16];
    char secret[40];
    char ranks[40];
    std::uint32_t size;
    std::uint32_t rank;
    Member member;
};

// Code of answers before the last one: ranks are missing, as the text says.
constexpr std::int32_t kIncomplete = -1;

struct Answer {
    std::int32_t code;
    char text[kTextSize];
};

struct Greeting {
    char mark[16];
    char secret[40];
    std::uint32_t rank;
    std::uint32_t padding;
};

template <class Message>
Message read_as(const std::vector<char> &bytes) {
    Message message{};
    std::memcpy(&message, bytes.data(), sizeof message);
    return message;
}

// One for the process, so that its address stays valid.
const Cookie &own_cookie() {
    static const Cookie cookie = [] {
        Cookie made{};
        std::random_device random;
        std::generate(made.bytes.begin(), made.bytes.end(), [&] { return static_cast<unsigned char>(random()); });
        return made;
    }();
    return cookie;
}

bool shares_memory() {
    const char *const setting = std::getenv("ASCEND_RT_HCCL_SHARED_MEMORY");
    return setting == nullptr || std::strcmp(setting, "0") != 0;
}

// Lets other processes of the user read this one's memory, where the kernel restricts that to children (Yama).
void permit_reading() {
#ifdef PR_SET_PTRACER
    if (shares_memory()) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    }
#endif
}

bool is_readable(const Member &member) {
    if (!shares_memory()) {
        return false;
    }
    Cookie seen{};
    const iovec here{seen.bytes.data(), seen.bytes.size()};
    const iovec there{reinterpret_cast<void *>(member.cookie_address), seen.bytes.size()};
    const ssize_t read = process_vm_readv(static_cast<pid_t>(member.process), &here, 1, &there, 1, 0);
    return read == static_cast<ssize_t>(seen.bytes.size()) && seen.bytes == member.cookie.bytes;
}

// Ranks that have come, on the side of the one that serves.
class Meeting {
  public:
    Meeting(Listener listener, std::string secret) : listener_(std::move(listener)), secret_(std::move(secret)) {}

    // Blocks until all ranks have come, or the meeting is given up.
    void serve() {
        const struct AtEnd {
            Meeting &meeting;
            ~AtEnd() { meeting.leave(); }
        } at_end{*this};
        Reception reception(listener_, sizeof(Hello));
        while (present_ == 0 || present_ + refused_ < guests_.size()) {
            auto [socket, message] = reception.next(kNever);
            welcome(std::move(socket), read_as<Hello>(message));
        }
        leave();
        if (refused_ > 0) {
            return;
        }
        std::vector<Member> members;
        for (const Guest &guest : guests_) {
            members.push_back(guest.hello.member);
        }
        const Answer answer{HCCL_SUCCESS, ""};
        for (const Guest &guest : guests_) {
            try {
                guest.socket.send(&answer, sizeof answer, Clock::now() + kForGreeting);
                guest.socket.send(members.data(), members.size() * sizeof(Member), Clock::now() + kForGreeting);
            } catch (const Refusal &) {
                continue;  // the others find out that it is missing
            }
        }
    }
    // Blocks until the port is free.
    void give_up() {
        std::unique_lock<std::mutex> lock(mutex_);
        if (!has_left_) {
            listener_.shut_down();
        }
        left_.wait(lock, [&] { return has_left_; });
    }

  private:
    struct Guest {
        Socket socket;
        Hello hello{};
    };

    // Closes the listener before the first rank can come again under the same port: this meeting would not answer it.
    void leave() {
        const std::lock_guard<std::mutex> guard(mutex_);
        listener_.close();
        has_left_ = true;
        left_.notify_all();
    }
    void welcome(Socket socket, const Hello &hello) {
        if (std::strncmp(hello.mark, kMark, sizeof hello.mark) != 0 ||
            std::strncmp(hello.secret, secret_.c_str(), sizeof hello.secret) != 0 || hello.size == 0 ||
            hello.size > kMostRanks) {
            return;
        }
        if (present_ == 0) {
            guests_.resize(hello.size);
            ranks_ = hello.ranks;
        }
        if (hello.ranks != ranks_ || refused_ > 0) {
            return refuse_all(socket, "a rank names other rankIds than the ranks before it, or another order");
        }
        if (hello.size != guests_.size() || hello.rank >= guests_.size()) {
            return answer(socket, HCCL_E_PARA,
                          "rank " + std::to_string(hello.rank) + " names " + std::to_string(hello.size) +
                              " ranks, another one " + std::to_string(guests_.size()));
        }
        Guest &guest = guests_[hello.rank];
        if (guest.socket.is_open() && is_there(guest.socket)) {
            return answer(socket, HCCL_E_PARA, "another process is already rank " + std::to_string(hello.rank));
        }
        present_ += guest.socket.is_open() ? 0 : 1;
        guest = {std::move(socket), hello};
        name_missing();
    }
    static bool is_there(const Socket &socket) {
        char byte = 0;
        return recv(socket.descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
    }
    // Ranks of which one has another list can never meet. Those that have not come yet get the same answer.
    void refuse_all(const Socket &newest, const std::string &text) {
        if (refused_++ == 0) {
            answer_all(HCCL_E_PARA, text);
        }
        answer(newest, HCCL_E_PARA, text);
    }
    // A rank that runs into its time limit knows then which ones did not come.
    void name_missing() {
        std::vector<std::uint32_t> missing;
        for (std::uint32_t rank = 0; rank < guests_.size(); ++rank) {
            if (!guests_[rank].socket.is_open()) {
                missing.push_back(rank);
            }
        }
        if (!missing.empty()) {
            answer_all(kIncomplete, list_of(missing) + " of " + std::to_string(guests_.size()));
        }
    }
    void answer_all(std::int32_t code, const std::string &text) {
        for (const Guest &guest : guests_) {
            if (guest.socket.is_open()) {
                answer(guest.socket, code, text);
            }
        }
    }
    static void answer(const Socket &socket, std::int32_t code, const std::string &text) {
        Answer answer{code, ""};
        put(answer.text, text);
        try {
            socket.send(&answer, sizeof answer, Clock::now() + kForGreeting);
        } catch (const Refusal &) {
            return;  // it has gone
        }
    }

    std::mutex mutex_;
    std::condition_variable left_;
    bool has_left_ = false;
    Listener listener_;
    const std::string secret_;
    std::vector<Guest> guests_;  // by rank
    std::string ranks_;          // as the first guest names them
    std::size_t present_ = 0;
    std::size_t refused_ = 0;  // after ranks have disagreed about rankIds
};

// Goes through the meeting and returns the list.
std::vector<Member> meet(const Root &root, std::uint32_t size, std::uint32_t rank, const Listener &listener,
                         Time deadline) {
    const bool is_on_host = network_identity() == root.network;
    const Socket socket = connect(is_on_host ? "127.0.0.1" : root.address, root.port, deadline);
    Hello hello{};
    put(hello.mark, kMark);
    put(hello.secret, root.secret);
    put(hello.ranks, root.ranks);
    hello.size = size;
    hello.rank = rank;
    // The address by which a rank reaches the root is one by which others reach it. On the root's host it is the
    // root's.
    const char *const given = std::getenv("HCCL_IF_IP");
    put(hello.member.address, given != nullptr && *given != '\0' ? given
                              : is_on_host                       ? root.address
                                                                 : socket.own_address());
    put(hello.member.network, network_identity());
    hello.member.process = static_cast<std::uint64_t>(getpid());
    hello.member.cookie = own_cookie();
    hello.member.cookie_address = reinterpret_cast<std::uintptr_t>(own_cookie().bytes.data());
    hello.member.port = listener.port();
    socket.send(&hello, sizeof hello, deadline);
    Answer answer{kIncomplete, "the root"};
    while (answer.code == kIncomplete) {
        try {
            socket.receive(&answer, sizeof answer, deadline);
        } catch (const Refusal &refusal) {
            if (refusal.code == HCCL_E_TIMEOUT) {
                refuse(HCCL_E_TIMEOUT, std::string(answer.text) + " did not come in time (HCCL_CONNECT_TIMEOUT)");
            }
            throw;
        }
    }
    if (answer.code != HCCL_SUCCESS) {
        refuse(answer.code, answer.text);
    }
    std::vector<Member> members(size);
    socket.receive(members.data(), members.size() * sizeof(Member), deadline);
    return members;
}

// Range below that from which Linux takes ports for connections.
constexpr std::uint16_t kFirstPort = 20000;
constexpr std::uint16_t kPorts = 12000;
constexpr std::uint16_t kTriedPorts = 16;

std::string random_secret() {
    std::string secret;
    std::random_device random;
    for (int i = 0; i < 4; ++i) {
        char digits[9];
        std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(random()));
        secret += digits;
    }
    return secret;
}

// Roots of this process by secret, with their meetings. Under torchrun their numbers are the lowest that were free.
std::mutex g_roots_mutex;
std::map<std::string, std::weak_ptr<Meeting>> *const g_roots =
    new std::map<std::string, std::weak_ptr<Meeting>>;  // used until the very end

// Returns a text that is the same for that root in all attempts of a job under torchrun, or "". The store of such a job
// keeps the root information of an earlier attempt, or of a group that was destroyed and is made again. A rank may read
// it before the new one is there: it must be the same.
std::string elastic_identity(unsigned number) {
    const char *const job = std::getenv("TORCHELASTIC_RUN_ID");
    const char *const rank = std::getenv("RANK");
    if (job == nullptr || rank == nullptr) {
        return {};
    }
    std::ifstream file("/proc/" + std::to_string(getppid()) + "/stat");
    std::string stat;
    std::getline(file, stat);
    std::istringstream fields(stat.substr(std::min(stat.rfind(')'), stat.size())));
    std::string begin;
    for (int i = 0; i < 21 && fields >> begin; ++i) {  // field 22: when the agent began, which starts the attempts
    }
    return network_identity() + " " + job + " " + rank + " " + std::to_string(getppid()) + " " + begin + " " +
           std::to_string(number);
}

// Returns the secret of the next root, or "".
std::string elastic_secret() {
    const std::lock_guard<std::mutex> guard(g_roots_mutex);
    for (unsigned number = 0;; ++number) {
        const std::string identity = elastic_identity(number);
        if (identity.empty()) {
            return {};
        }
        const std::string secret = digest_of(identity);
        if (g_roots->try_emplace(secret).second) {
            return secret;
        }
    }
}

Root serve(Listener listener, const std::string &secret, Origin origin) {
    const Root root{own_address(), listener.port(), secret, network_identity(), origin};
    auto meeting = std::make_shared<Meeting>(std::move(listener), secret);
    {
        const std::lock_guard<std::mutex> guard(g_roots_mutex);
        (*g_roots)[secret] = meeting;
    }
    std::thread([meeting] {
        try {
            meeting->serve();
        } catch (const Refusal &) {
            return;  // it was given up
        } catch (const std::exception &) {
            return;  // out of RAM: ranks that wait for it run into their time limit
        }
    }).detach();
    return root;
}

}  // namespace

std::string list_of(const std::vector<std::uint32_t> &ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
    }
    return text;
}

std::string digest_of(const std::string &text) {
    std::string digest;
    for (std::uint64_t hash : {14695981039346656037ULL, 1099511628211ULL}) {  // FNV-1a, with two beginnings
        for (const char byte : text) {
            hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
        }
        char digits[17];
        std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
        digest += digits;
    }
    return digest;
}

void Root::store(HcclRootInfo &info) const {
    info = {};
    put(info.internal, std::string(kMark) + " " + address + " " + std::to_string(port) + " " + secret + " " + network);
}

Root Root::load(const HcclRootInfo &info) {
    char mark[16] = "", address[64] = "", secret[40] = "", network[160] = "";
    unsigned port = 0;
    std::string text(info.internal, strnlen(info.internal, sizeof info.internal));
    if (std::sscanf(text.c_str(), "%15s %63s %u %39s %159s", mark, address, &port, secret, network) != 5 ||
        std::strcmp(mark, kMark) != 0 || port == 0 || port > UINT16_MAX) {
        refuse(HCCL_E_PARA, "rootInfo was not written by HcclGetRootInfo of the simulator");
    }
    return {address, static_cast<std::uint16_t>(port), secret, network};
}

Root serve() {
    const std::string secret = elastic_secret();
    if (secret.empty()) {
        return serve(Listener(), random_secret(), Origin::RootInfo);
    }
    const auto first = static_cast<std::uint16_t>(std::strtoul(secret.substr(0, 8).c_str(), nullptr, 16) % kPorts);
    for (std::uint16_t i = 0; i < kTriedPorts; ++i) {
        try {
            const auto port = static_cast<std::uint16_t>(kFirstPort + (first + i) % kPorts);
            return serve(Listener(port), secret, Origin::RootInfo);
        } catch (const Refusal &) {
            continue;  // another program has it
        }
    }
    return serve(Listener(), secret, Origin::RootInfo);
}

Root serve_for_table(const Root &place) { return serve(Listener(place.port), place.secret, Origin::RankTable); }

void release_root(const std::string &secret) {
    std::shared_ptr<Meeting> meeting;
    {
        const std::lock_guard<std::mutex> guard(g_roots_mutex);
        const auto node = g_roots->extract(secret);
        meeting = node.empty() ? nullptr : node.mapped().lock();
    }
    if (meeting != nullptr) {
        meeting->give_up();
    }
}

std::vector<Peer> join(const Root &root, std::uint32_t size, std::uint32_t rank, Time deadline) {
    permit_reading();
    const Listener listener;
    const std::vector<Member> members = meet(root, size, rank, listener, deadline);
    std::vector<Peer> peers(size);
    const std::string network = network_identity();
    for (std::uint32_t lower = 0; lower < rank; ++lower) {
        const Member &member = members[lower];
        const bool is_on_host = network == member.network;
        Greeting greeting{};
        put(greeting.mark, kMark);
        put(greeting.secret, root.secret);
        greeting.rank = rank;
        peers[lower].socket = connect(is_on_host ? "127.0.0.1" : member.address, member.port, deadline);
        peers[lower].socket.send(&greeting, sizeof greeting, deadline);
    }
    Reception reception(listener, sizeof(Greeting));
    for (std::uint32_t missing = size - rank - 1; missing > 0;) {
        auto [socket, message] = reception.next(deadline);
        const auto greeting = read_as<Greeting>(message);
        const bool is_ours = std::strncmp(greeting.mark, kMark, sizeof greeting.mark) == 0 &&
                             std::strncmp(greeting.secret, root.secret.c_str(), sizeof greeting.secret) == 0;
        if (is_ours && greeting.rank > rank && greeting.rank < size && !peers[greeting.rank].socket.is_open()) {
            peers[greeting.rank].socket = std::move(socket);
            --missing;
        }
    }
    for (std::uint32_t other = 0; other < size; ++other) {
        const bool may_be_readable = other != rank && network == members[other].network;
        peers[other].process =
            may_be_readable && is_readable(members[other]) ? static_cast<std::int64_t>(members[other].process) : 0;
    }
    return peers;
}

namespace {

// Returns the number of a variable that is set to one; a negative number if it is set to something else.
std::optional<long> seconds_of(const char *variable) {
    const char *const text = std::getenv(variable);
    if (text == nullptr || *text == '\0') {
        return std::nullopt;
    }
    char *end = nullptr;
    const long seconds = std::strtol(text, &end, 10);
    return *end == '\0' ? std::min(seconds, 1L << 30) : -1;
}

}  // namespace

void require_time_limit(const char *variable) {
    if (seconds_of(variable).value_or(0) < 0) {
        refuse(HCCL_E_PARA, std::string(variable) + " is \"" + std::getenv(variable) +
                                "\"; it takes seconds as a whole number, 0 for no limit");
    }
}

Time deadline_by(const char *variable, int usual_seconds) {
    const long given = seconds_of(variable).value_or(usual_seconds);
    const long seconds = given < 0 ? usual_seconds : given;
    return seconds == 0 ? kNever : Clock::now() + std::chrono::seconds(seconds);
}

}  // namespace hccl
