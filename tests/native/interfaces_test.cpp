// SPDX-License-Identifier: Apache-2.0
// The address by which other hosts reach this one, as the environment selects it.
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "check.h"
#include "hccl/hccl.h"
#include "hccl/socket.h"
#include "refusal.h"

using namespace hccl;

namespace {

void select(const char *address, const char *names) {
    setenv("HCCL_IF_IP", address, 1);
    setenv("HCCL_SOCKET_IFNAME", names, 1);
}

void is_refused(const std::string &text) {
    try {
        own_address();
    } catch (const companions::Refusal &refusal) {
        CHECK(refusal.code == HCCL_E_PARA && refusal.text == text);
        return;
    }
    CHECK(!"it was refused");
}

// Returns true if the host has an interface beside the loopback one; its address is not known here.
bool has_another_interface() {
    ifaddrs *list = nullptr;
    CHECK(getifaddrs(&list) == 0);
    bool has = false;
    for (const ifaddrs *each = list; each != nullptr; each = each->ifa_next) {
        has = has || (each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET &&
                      (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0);
    }
    freeifaddrs(list);
    return has;
}

void an_address_is_taken_as_it_is() {
    for (const char *const address : {"10.1.2.3", "fe80::1"}) {
        select(address, "=lo");
        CHECK(own_address() == address);
    }
    select("ten.one.two.three", "");
    is_refused("HCCL_IF_IP is \"ten.one.two.three\", which is not a numeric address");
}

void interfaces_are_selected_by_their_names() {
    for (const char *const names : {"=lo", "lo", "l", "nothing,lo", "=nothing,lo"}) {
        select("", names);
        CHECK(own_address() == "127.0.0.1");
    }
    for (const char *const names : {"nothing", "=l", "=nothing,l"}) {
        select("", names);
        is_refused(std::string("no interface is named by HCCL_SOCKET_IFNAME, which is \"") + names + "\"");
    }
}

void interfaces_are_left_out_by_their_names() {
    for (const char *const names : {"^lo", "^=lo", "^=nothing,lo"}) {
        select("", names);
        if (has_another_interface()) {
            CHECK(own_address() != "127.0.0.1");
        } else {
            is_refused(std::string("no interface is named by HCCL_SOCKET_IFNAME, which is \"") + names + "\"");
        }
    }
}

void the_loopback_interface_is_the_last_choice() {
    select("", "");
    CHECK((own_address() == "127.0.0.1") == !has_another_interface());
}

}  // namespace

int main() {
    an_address_is_taken_as_it_is();
    interfaces_are_selected_by_their_names();
    interfaces_are_left_out_by_their_names();
    the_loopback_interface_is_the_last_choice();
    return 0;
}
