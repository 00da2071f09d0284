// The host's addresses, and the pages behind them.
#pragma once

#include <cstdint>
#include <memory>

namespace aclsim {

// Addresses without pages behind them, readable and writable. nullptr: the host has none left, or something else is at
// the wished address.
void *reserve_addresses(std::uint64_t size, void *wish = nullptr);
// The host may put large pages there, even if little of each is used: copies are faster by a tenth.
void prefer_large_pages(void *address, std::uint64_t size);
// The pages go back to the host, the content is zero.
void discard_pages(void *address, std::uint64_t size);
// What the addresses showed is gone; they are as after reserve_addresses().
void clear_addresses(void *address, std::uint64_t size);
void give_addresses_back(void *address, std::uint64_t size);
// Reserved addresses with their owner, who gives them back.
struct GiveAddressesBack {
    std::uint64_t size = 0;
    void operator()(void *address) const { give_addresses_back(address, size); }
};
using Addresses = std::unique_ptr<void, GiveAddressesBack>;
inline Addresses owned_addresses(std::uint64_t size) { return {reserve_addresses(size), GiveAddressesBack{size}}; }
// Is there anything behind all of the addresses?
bool has_pages(const void *address, std::uint64_t size);
// Populates the pages, if the host can do that without writing to them.
void populate_pages(const void *address, std::uint64_t size);

// The same, but nothing may be read or written there, and the host counts no memory for it, until make_accessible().
void *reserve_inaccessible(std::uint64_t size);
bool make_accessible(void *address, std::uint64_t size);  // false: the host has no memory left

// A core dump of simulated devices would have the size of real ones.
void keep_out_of_dumps(void *address, std::uint64_t size);

}  // namespace aclsim
