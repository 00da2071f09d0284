// SPDX-License-Identifier: Apache-2.0
// Addresses of the host, and the pages behind them.
#pragma once

#include <cstdint>
#include <memory>

namespace aclsim {

// Reserves readable and writable addresses without pages behind them. Returns nullptr if the host has none left, or
// something else is at the wished address.
void *reserve_addresses(std::uint64_t size, void *wish = nullptr);
// Lets the host use large pages there, even if little of each is used: copies are faster by a tenth.
void prefer_large_pages(void *address, std::uint64_t size);
// Puts 2 MiB of shared memory at an address that is a multiple of it into a large page: the host does that for shared
// memory on request alone. Nothing changes where it cannot.
constexpr std::uint64_t kLargePage = 2ULL << 20;
void make_large_page(void *address);
// Returns the pages to the host; the content becomes zero.
void discard_pages(void *address, std::uint64_t size);
// Removes everything mapped at the addresses; they are as after reserve_addresses().
void clear_addresses(void *address, std::uint64_t size);
void give_addresses_back(void *address, std::uint64_t size);
// Owner of reserved addresses, which releases them.
struct GiveAddressesBack {
    std::uint64_t size = 0;
    void operator()(void *address) const { give_addresses_back(address, size); }
};
using Addresses = std::unique_ptr<void, GiveAddressesBack>;
inline Addresses owned_addresses(std::uint64_t size) { return {reserve_addresses(size), GiveAddressesBack{size}}; }
// Returns true if something is mapped at all of the addresses.
bool has_pages(const void *address, std::uint64_t size);
// Populates the pages, if the host can do that without writing to them.
void populate_pages(const void *address, std::uint64_t size);

// Reserves addresses that cannot be read or written until make_accessible(), and for which the host counts no memory.
void *reserve_inaccessible(std::uint64_t size);
bool make_accessible(void *address, std::uint64_t size);  // false if the host has no memory left

// Excludes memory from core dumps: a dump of simulated devices would be as large as real ones.
void keep_out_of_dumps(void *address, std::uint64_t size);

}  // namespace aclsim
