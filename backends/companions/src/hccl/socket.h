// SPDX-License-Identifier: Apache-2.0
// Sockets of communicators. Failures are refusals with codes of HCCL.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace hccl {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

constexpr Time kNever = Time::max();

class Socket {
  public:
    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}  // comes from open_descriptor()
    Socket(Socket &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket &operator=(Socket &&other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;
    ~Socket();

    int descriptor() const { return descriptor_; }
    bool is_open() const { return descriptor_ >= 0; }
    void close();
    // Disconnects both ends. Other threads may be waiting for the socket, which keeps its number.
    void shut_down() const;

    // Blocking transfers of whole buffers, for the rendezvous. Refuse with HCCL_E_TIMEOUT after the deadline, and with
    // HCCL_E_TCP_TRANSFER if the other end has gone.
    void send(const void *data, std::size_t size, Time deadline) const;
    void receive(void *data, std::size_t size, Time deadline) const;

    std::string own_address() const;  // numeric

  private:
    int descriptor_ = -1;
};

// A socket that accepts connections on all interfaces.
class Listener {
  public:
    // A port of 0 is any that is free.
    explicit Listener(std::uint16_t port = 0);
    std::uint16_t port() const { return port_; }
    int descriptor() const { return socket_.descriptor(); }
    void close() { socket_.close(); }
    // Ends the wait for connections of another thread.
    void shut_down() const { socket_.shut_down(); }
    // Returns a connection, or a socket that is not open, with the reason in errno: EAGAIN if there is none, EINVAL
    // after shut_down().
    Socket accept() const;

  private:
    Socket socket_;
    std::uint16_t port_ = 0;
};

// Connects to a numeric address; tries again while nothing listens there. Refuses with HCCL_E_TIMEOUT.
Socket connect(const std::string &address, std::uint16_t port, Time deadline);

// Returns the address by which other hosts reach this one: HCCL_IF_IP, that of an interface which HCCL_SOCKET_IFNAME
// names, or that of the first interface which is up; "127.0.0.1" if there is none. Refuses with HCCL_E_PARA if the
// variables name none.
std::string own_address();

// Identifies processes that reach each other by the loopback interface.
std::string network_identity();

}  // namespace hccl
