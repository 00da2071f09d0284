// SPDX-License-Identifier: Apache-2.0
#include "hccl/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "hccl/descriptors.h"
#include "hccl/hccl.h"
#include "refusal.h"

using companions::refuse;

namespace hccl {
namespace {

union Address {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
};

std::string failure_of(const char *what) { return std::string(what) + ": " + std::strerror(errno); }

// Returns the length of the address, or 0 if the text is not a numeric address.
socklen_t parse(const std::string &text, std::uint16_t port, Address &address) {
    address = {};
    if (inet_pton(AF_INET, text.c_str(), &address.v4.sin_addr) == 1) {
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons(port);
        return sizeof address.v4;
    }
    if (inet_pton(AF_INET6, text.c_str(), &address.v6.sin6_addr) == 1) {
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(port);
        return sizeof address.v6;
    }
    return 0;
}

std::string text_of(const Address &address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address.any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof text);
    } else if (address.any.sa_family == AF_INET6) {
        // An address of the older version, on a socket for both.
        if (IN6_IS_ADDR_V4MAPPED(&address.v6.sin6_addr)) {
            inet_ntop(AF_INET, &address.v6.sin6_addr.s6_addr[12], text, sizeof text);
        } else {
            inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof text);
        }
    }
    return text;
}

int milliseconds_until(Time deadline) {
    constexpr int kMost = 1000;  // looks again
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return deadline == kNever ? kMost : static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, kMost));
}

// Returns false after the deadline.
bool await(int descriptor, short events, Time deadline) {
    for (;;) {
        pollfd poll{descriptor, events, 0};
        const int ready = ::poll(&poll, 1, milliseconds_until(deadline));
        if (ready > 0) {
            return true;
        }
        if (ready < 0 && errno != EINTR) {
            refuse(HCCL_E_SYSCALL, failure_of("poll"));
        }
        if (Clock::now() >= deadline) {
            return false;
        }
    }
}

void send_small_messages_at_once(int descriptor) {
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Returns a negative number if there is none.
int open_socket(int family) {
    return open_descriptor([=] { return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
}

// Returns the connected socket, or one that is not open if it was refused for now.
Socket try_to_connect(const Address &address, socklen_t size, Time deadline) {
    Socket socket(open_socket(address.any.sa_family));
    if (!socket.is_open()) {
        refuse(HCCL_E_SYSCALL, failure_of("socket"));
    }
    int error = ::connect(socket.descriptor(), &address.any, size) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        if (!await(socket.descriptor(), POLLOUT, deadline)) {
            return {};
        }
        socklen_t length = sizeof error;
        getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
    if (error != 0) {
        errno = error;
        return {};
    }
    send_small_messages_at_once(socket.descriptor());
    return socket;
}

struct Interface {
    std::string name;
    std::string address;
    bool is_last_choice;  // loopback, and bridges of containers
};

std::vector<Interface> interfaces() {
    std::vector<Interface> found;
    ifaddrs *list = nullptr;
    if (getifaddrs(&list) != 0) {
        return found;
    }
    for (const ifaddrs *each = list; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET || (each->ifa_flags & IFF_UP) == 0) {
            continue;
        }
        Address address{};
        std::memcpy(&address, each->ifa_addr, sizeof address.v4);
        const std::string name = each->ifa_name;
        found.push_back(
            {name, text_of(address), (each->ifa_flags & IFF_LOOPBACK) != 0 || name.rfind("docker", 0) == 0});
    }
    freeifaddrs(list);
    std::stable_sort(found.begin(), found.end(), [](const Interface &one, const Interface &other) {
        return std::pair(one.is_last_choice, one.name) < std::pair(other.is_last_choice, other.name);
    });
    return found;
}

// Selection by HCCL_SOCKET_IFNAME: "eth,enp" are beginnings of names, "=eth0" whole names, "^lo" and "^=lo" names to
// leave out.
class InterfaceFilter {
  public:
    explicit InterfaceFilter(std::string text) {
        const auto take = [&](char mark) {
            const bool has = !text.empty() && text.front() == mark;
            text.erase(0, has ? 1 : 0);
            return has;
        };
        excludes_ = take('^');
        is_exact_ = take('=');
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find(',', begin), text.size());
            if (end > begin) {
                names_.push_back(text.substr(begin, end - begin));
            }
            begin = end + 1;
        }
    }
    bool takes(const std::string &name) const {
        const bool is_named = std::any_of(names_.begin(), names_.end(), [&](const std::string &each) {
            return is_exact_ ? name == each : name.rfind(each, 0) == 0;
        });
        return is_named != excludes_;
    }

  private:
    bool excludes_ = false;
    bool is_exact_ = false;
    std::vector<std::string> names_;
};

}  // namespace

Socket::~Socket() { close(); }

void Socket::close() {
    if (descriptor_ >= 0) {
        close_descriptor(std::exchange(descriptor_, -1));
    }
}

void Socket::shut_down() const { ::shutdown(descriptor_, SHUT_RDWR); }

void Socket::send(const void *data, std::size_t size, Time deadline) const {
    for (const auto *at = static_cast<const char *>(data); size > 0;) {
        const ssize_t sent = ::send(descriptor_, at, size, MSG_NOSIGNAL);
        if (sent > 0) {
            at += sent;
            size -= static_cast<std::size_t>(sent);
        } else if (errno == EAGAIN || errno == EINTR) {
            if (!await(descriptor_, POLLOUT, deadline)) {
                refuse(HCCL_E_TIMEOUT, "a rank did not take what it was sent in time");
            }
        } else {
            refuse(HCCL_E_TCP_TRANSFER, failure_of("send"));
        }
    }
}

void Socket::receive(void *data, std::size_t size, Time deadline) const {
    for (auto *at = static_cast<char *>(data); size > 0;) {
        const ssize_t received = ::recv(descriptor_, at, size, 0);
        if (received > 0) {
            at += received;
            size -= static_cast<std::size_t>(received);
        } else if (received == 0) {
            refuse(HCCL_E_TCP_TRANSFER, "the other end has closed the connection");
        } else if (errno == EAGAIN || errno == EINTR) {
            if (!await(descriptor_, POLLIN, deadline)) {
                refuse(HCCL_E_TIMEOUT, "the other end sent nothing in time");
            }
        } else {
            refuse(HCCL_E_TCP_TRANSFER, failure_of("recv"));
        }
    }
}

std::string Socket::own_address() const {
    Address address{};
    socklen_t size = sizeof address;
    getsockname(descriptor_, &address.any, &size);
    return text_of(address);
}

Listener::Listener(std::uint16_t port) {
    Address address{};
    socklen_t size = 0;
    int descriptor = open_socket(AF_INET6);
    if (descriptor >= 0) {  // for both versions
        const int off = 0;
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(port);
        size = sizeof address.v6;
    } else {
        descriptor = open_socket(AF_INET);
        if (descriptor < 0) {
            refuse(HCCL_E_SYSCALL, failure_of("socket"));
        }
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons(port);
        size = sizeof address.v4;
    }
    socket_ = Socket(descriptor);
    const int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(descriptor, &address.any, size) != 0 || ::listen(descriptor, SOMAXCONN) != 0) {
        refuse(HCCL_E_TCP_CONNECT, failure_of("listening for other ranks"));
    }
    getsockname(descriptor, &address.any, &size);
    port_ = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

Socket Listener::accept() const {
    const int descriptor = open_descriptor(
        [&] { return ::accept4(socket_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
    if (descriptor >= 0) {
        send_small_messages_at_once(descriptor);
    }
    return Socket(descriptor);
}

Socket connect(const std::string &address, std::uint16_t port, Time deadline) {
    Address to{};
    const socklen_t size = parse(address, port, to);
    if (size == 0) {
        refuse(HCCL_E_PARA, "\"" + address + "\" is not a numeric address");
    }
    constexpr std::chrono::milliseconds kPause{20};
    for (;;) {
        Socket socket = try_to_connect(to, size, deadline);
        if (socket.is_open()) {
            return socket;
        }
        if (Clock::now() + kPause >= deadline) {
            refuse(HCCL_E_TIMEOUT,
                   "could not connect to " + address + " port " + std::to_string(port) + ": " + std::strerror(errno));
        }
        std::this_thread::sleep_for(kPause);
    }
}

std::string own_address() {
    const char *const given = std::getenv("HCCL_IF_IP");
    if (given != nullptr && *given != '\0') {
        Address address{};
        if (parse(given, 0, address) == 0) {
            refuse(HCCL_E_PARA, std::string("HCCL_IF_IP is \"") + given + "\", which is not a numeric address");
        }
        return given;
    }
    const std::vector<Interface> all = interfaces();
    const char *const names = std::getenv("HCCL_SOCKET_IFNAME");
    if (names != nullptr && *names != '\0') {
        const InterfaceFilter filter(names);
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const Interface &each) { return filter.takes(each.name); });
        if (found == all.end()) {
            refuse(HCCL_E_PARA, std::string("no interface is named by HCCL_SOCKET_IFNAME, which is \"") + names + "\"");
        }
        return found->address;
    }
    return all.empty() ? "127.0.0.1" : all.front().address;
}

std::string network_identity() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    struct stat space{};
    const bool is_known = stat("/proc/self/ns/net", &space) == 0;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return boot + "." + (is_known ? std::to_string(space.st_ino) : "") + "." + host;
}

}  // namespace hccl
