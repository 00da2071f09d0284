// SPDX-License-Identifier: Apache-2.0
#include "machine/shared_card.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "support/config.h"
#include "support/error.h"
#include "support/shared_turn.h"
#include "support/standard_error.h"

namespace aclsim {
namespace {

// Increment with every change of the table's layout, so that releases with different layouts use different tables.
constexpr int kLayout = 2;

// Saturates, because other processes may write amounts of any size.
std::uint64_t add(std::uint64_t sum, std::uint64_t amount) { return sum + std::min(amount, UINT64_MAX - sum); }

void say_once(const char *reason) {
    static std::atomic<bool> is_said{false};
    if (!is_said.exchange(true)) {
        print_error(
            "ascend_rt simulator: %s. This process shares its devices with no other; "
            "ASCEND_RT_SIM_CARDS=separate asks for that, without this notice\n",
            reason);
    }
}

}  // namespace

SharedCard::SharedCard(const std::string &product, std::uint32_t number)
    : name_(product + "-" + std::to_string(number)) {}

bool SharedCard::take(Resource resource, std::uint64_t amount, std::uint64_t capacity) {
    if (!has_table(resource)) {
        require_table();
    }
    if (try_to_take(resource, amount, capacity)) {
        return true;
    }
    require_table();
    if (memory_ == nullptr) {
        return try_to_take(resource, amount, capacity);
    }
    // Two processes that repeat their requests at the same time could refuse each other an amount that one of them
    // could have. A process that is stopped in its turn delays the others but cannot block them.
    const SharedTurn turn(*memory_, offsetof(Table, used_rows));
    clear_rows_without_owner();
    return try_to_take(resource, amount, capacity);
}

// Add before reading the sum, so that at least one of two concurrent processes sees the other's amount. A request that
// cannot fit adds nothing and therefore does not disturb other processes.
bool SharedCard::try_to_take(Resource resource, std::uint64_t amount, std::uint64_t capacity) {
    if (amount > room(resource, capacity)) {
        return false;
    }
    held_[resource] += amount;
    publish(resource);
    if (add(held_[resource], others(resource)) > capacity) {
        held_[resource] -= amount;
        publish(resource);
        return false;
    }
    return true;
}

void SharedCard::count(Resource resource, std::uint64_t amount) {
    require_table();
    held_[resource] += amount;
    publish(resource);
}

void SharedCard::give_back(Resource resource, std::uint64_t amount) {
    held_[resource] -= amount;
    if (memory_ != nullptr && (resource == kBytes || has_its_size(std::chrono::steady_clock::now()))) {
        publish(resource);  // in a table without a name this is of no use, and of no harm
    }
}

std::uint64_t SharedCard::held_by_others(Resource resource) {
    require_table();
    if (others(resource) > 0) {
        clear_rows_without_owner();
    }
    return others(resource);
}

std::uint64_t SharedCard::left(Resource resource, std::uint64_t capacity) {
    held_by_others(resource);
    return room(resource, capacity);
}

void SharedCard::publish(Resource resource) {
    if (memory_ != nullptr) {
        table().rows[own_row_].held[resource] = held_[resource];
    }
}

std::size_t SharedCard::used_rows() const {
    return memory_ == nullptr ? 0 : std::min<std::size_t>(table().used_rows, kRows);
}

std::uint64_t SharedCard::others(Resource resource) const {
    std::uint64_t sum = 0;
    for (std::size_t row = 0, rows = used_rows(); row < rows; ++row) {
        sum = add(sum, row == own_row_ ? 0 : table().rows[row].held[resource].load());
    }
    return sum;
}

std::uint64_t SharedCard::room(Resource resource, std::uint64_t capacity) const {
    return capacity - std::min(capacity, add(held_[resource], others(resource)));
}

// The owner of a row holds the lock of its first byte.
std::size_t SharedCard::byte_of(std::size_t row) { return offsetof(Table, rows) + row * sizeof(Row); }

// Checks whether another process has truncated the table. The check takes longer than the rest of a small allocation,
// so requests for memory skip it as long as they fit.
bool SharedCard::has_table(Resource resource) { return memory_ != nullptr && (resource == kBytes || is_whole()); }

// A truncated table ends the process that touches it. No check can exclude a truncation between the check and the use,
// so one in ten microseconds is enough; it takes a fifth of the time of creating a stream.
bool SharedCard::has_its_size(Time now) {
    constexpr auto kInterval = std::chrono::microseconds(10);
    if (now - size_seen_ >= kInterval && memory_->has_its_size()) {
        size_seen_ = now;
    }
    return now - size_seen_ < kInterval;
}

// A removed table only makes new processes count apart, and asking for its name takes as long as creating a stream.
bool SharedCard::is_whole() {
    constexpr auto kInterval = std::chrono::milliseconds(1);
    const Time now = std::chrono::steady_clock::now();
    if (!has_its_size(now)) {
        return false;
    }
    if (now - name_seen_ >= kInterval && memory_->has_its_name()) {
        name_seen_ = now;
    }
    return now - name_seen_ < kInterval;
}

void SharedCard::require_table() {
    if (is_alone_ || (memory_ != nullptr && is_whole())) {
        return;
    }
    memory_.reset();
    if (config().must_share_cards) {
        open();
        return;
    }
    const KeptText older;
    try {
        open();
    } catch (const Failure &) {
        is_alone_ = true;
        say_once(take_recent_text());
    }
}

void SharedCard::open() {
    const bool is_for_all = config().shares_with_all_users;
    const std::string user = is_for_all ? "" : "u" + std::to_string(geteuid()) + "-";
    auto memory = SharedMemory::open_or_create<Table>("card" + std::to_string(kLayout) + "-" + user + name_,
                                                      is_for_all ? SharedMemory::Users::All : SharedMemory::Users::Own);
    std::size_t row = 0;
    while (row < kRows && !memory->try_lock(byte_of(row))) {
        ++row;
    }
    if (row == kRows) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%zu processes use the card already", kRows);
    }
    memory_ = std::move(memory);
    own_row_ = row;
    for (const Resource resource : {kStreams, kBytes}) {
        publish(resource);
    }
    std::size_t used = table().used_rows;
    while (used <= row && !table().used_rows.compare_exchange_weak(used, row + 1)) {
    }
}

void SharedCard::clear_rows_without_owner() {
    for (std::size_t row = 0, rows = used_rows(); row < rows; ++row) {
        Row &found = table().rows[row];
        if (row != own_row_ && !found.is_empty() && memory_->try_lock(byte_of(row))) {
            found.clear();
            memory_->unlock(byte_of(row));
        }
    }
}

std::string mention_others(SharedCard *card, SharedCard::Resource resource) {
    const std::uint64_t held = card == nullptr ? 0 : card->held_by_others(resource);
    const char *unit = resource == SharedCard::kStreams ? " streams" : " bytes";
    return held == 0 ? "" : "; other processes hold " + std::to_string(held) + unit;
}

}  // namespace aclsim
