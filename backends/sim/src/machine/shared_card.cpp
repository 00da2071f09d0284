#include "machine/shared_card.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <thread>

#include "support/config.h"
#include "support/error.h"

namespace aclsim {
namespace {

// Goes up with every change of the table: releases that lay it out differently do not meet.
constexpr int kLayout = 2;

}  // namespace

// The turn to repeat a request that did not fit: two that repeat theirs at once may refuse each other what one of them
// could have. A process that was stopped while it had the turn delays the others, and cannot block them.
class SharedCard::Turn {
  public:
    explicit Turn(const std::shared_ptr<SharedMemory> &memory) : memory_(memory.get()) {
        for (int attempt = 0; memory_ != nullptr && !has_it_ && attempt < kAttempts; ++attempt) {
            has_it_ = memory_->try_lock(kByte);
            if (!has_it_) {
                std::this_thread::yield();
            }
        }
    }
    ~Turn() {
        if (has_it_) {
            memory_->unlock(kByte);
        }
    }
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

  private:
    static constexpr std::size_t kByte = offsetof(Table, used_rows);
    static constexpr int kAttempts = 100'000;
    const SharedMemory *const memory_;
    bool has_it_ = false;
};

SharedCard::SharedCard(const std::string &product, std::uint32_t number)
    : key_("card" + std::to_string(kLayout) + "-" + product + "-" + std::to_string(number)) {}

bool SharedCard::take(Resource resource, std::uint64_t amount, std::uint64_t capacity) {
    if (try_to_take(resource, amount, capacity)) {
        return true;
    }
    const Turn turn(memory_);
    clear_rows_without_owner();
    return try_to_take(resource, amount, capacity);
}

// Adding before looking at the sum makes sure that of two processes one at least sees the other's amount. A request
// that cannot fit adds nothing, and so is in nobody's way.
bool SharedCard::try_to_take(Resource resource, std::uint64_t amount, std::uint64_t capacity) {
    Amount &held = own(resource);
    if (total(resource) + amount > capacity) {
        return false;
    }
    held += amount;
    if (total(resource) > capacity) {
        held -= amount;
        return false;
    }
    return true;
}

void SharedCard::count(Resource resource, std::uint64_t amount) { own(resource) += amount; }

void SharedCard::give_back(Resource resource, std::uint64_t amount) { own(resource) -= amount; }

std::uint64_t SharedCard::held_by_others(Resource resource) {
    const std::uint64_t held = own(resource);
    if (total(resource) == held) {
        return 0;
    }
    clear_rows_without_owner();
    return total(resource) - held;
}

std::uint64_t SharedCard::left(Resource resource, std::uint64_t capacity) {
    const std::uint64_t held = held_by_others(resource) + own(resource);
    return capacity - std::min(held, capacity);
}

SharedCard::Amount &SharedCard::own(Resource resource) {
    if (own_row_ == nullptr) {
        open();
    }
    return own_row_->held[resource];
}

std::uint64_t SharedCard::total(Resource resource) const {
    std::uint64_t sum = 0;
    const std::size_t rows = table_->used_rows;
    for (std::size_t row = 0; row < rows; ++row) {
        sum += table_->rows[row].held[resource];
    }
    return sum;
}

// A row belongs to whoever has the lock of its first byte.
std::size_t SharedCard::byte_of(std::size_t row) { return offsetof(Table, rows) + row * sizeof(Row); }

void SharedCard::open() {
    if (config().must_share_cards) {
        open_shared();
        return;
    }
    const KeptText older;
    try {
        open_shared();
    } catch (const Failure &) {
        open_alone(take_recent_text());
    }
}

void SharedCard::open_alone(const char *reason) {
    static const int said = std::fprintf(stderr,
                                         "ascend_rt simulator: %s. This process has its devices for itself; "
                                         "ASCEND_RT_SIM_CARDS=separate says that it may\n",
                                         reason);
    (void)said;
    own_table_ = std::make_unique<Table>();
    own_table_->used_rows = 1;
    table_ = own_table_.get();
    own_row_ = &table_->rows[0];
}

void SharedCard::open_shared() {
    const auto memory = SharedMemory::open_or_create<Table>(key_);
    if (memory == nullptr) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the host gives no shared memory for a card");
    }
    auto &table = memory->as<Table>();
    std::size_t row = 0;
    while (row < kRows && !memory->try_lock(byte_of(row))) {
        ++row;
    }
    if (row == kRows) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%zu processes use the card already", kRows);
    }
    table.rows[row].clear();
    std::size_t used = table.used_rows;
    while (used <= row && !table.used_rows.compare_exchange_weak(used, row + 1)) {
    }
    memory_ = memory;
    table_ = &table;
    own_row_ = &table.rows[row];
}

void SharedCard::clear_rows_without_owner() {
    for (std::size_t row = 0; row < table_->used_rows; ++row) {
        Row &found = table_->rows[row];
        if (&found != own_row_ && !found.is_empty() && memory_->try_lock(byte_of(row))) {
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
