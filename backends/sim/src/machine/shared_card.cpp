#include "machine/shared_card.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "support/config.h"
#include "support/error.h"

namespace aclsim {
namespace {

// Goes up with every change of the table: releases that lay it out differently do not meet.
constexpr int kLayout = 1;

}  // namespace

// Rows get and lose owners, and requests that did not fit at once are repeated, by one process at a time.
class SharedCard::TableLock {
  public:
    explicit TableLock(const std::shared_ptr<SharedMemory> &memory) : memory_(memory.get()) {
        if (memory_ != nullptr) {
            memory_->lock(kByte);
        }
    }
    ~TableLock() {
        if (memory_ != nullptr) {
            memory_->unlock(kByte);
        }
    }
    TableLock(const TableLock &) = delete;
    TableLock &operator=(const TableLock &) = delete;

    static std::size_t byte_of(std::size_t row) { return offsetof(Table, rows) + row * sizeof(Row); }

  private:
    static constexpr std::size_t kByte = offsetof(Table, used_rows);
    const SharedMemory *const memory_;
};

SharedCard::SharedCard(const std::string &product, std::uint32_t number)
    : key_("card" + std::to_string(kLayout) + "-" + std::to_string(geteuid()) + "-" + product + "-" +
           std::to_string(number)) {}

bool SharedCard::take(Resource resource, std::uint64_t amount, std::uint64_t capacity) {
    if (try_to_take(resource, amount, capacity)) {
        return true;
    }
    const TableLock lock(memory_);
    clear_rows_without_owner(lock);
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
    const TableLock lock(memory_);
    clear_rows_without_owner(lock);
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
    const TableLock lock(memory);
    std::size_t row = 0;
    while (row < kRows && !memory->try_lock(TableLock::byte_of(row))) {
        ++row;
    }
    if (row == kRows) {
        fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%zu processes use the card already", kRows);
    }
    for (Amount &held : table.rows[row].held) {
        held = 0;
    }
    table.used_rows = std::max<std::size_t>(table.used_rows, row + 1);
    memory_ = memory;
    table_ = &table;
    own_row_ = &table.rows[row];
}

void SharedCard::clear_rows_without_owner(const TableLock &) {
    for (std::size_t row = 0; row < table_->used_rows; ++row) {
        Row &found = table_->rows[row];
        const bool is_empty = found.held[kStreams] == 0 && found.held[kBytes] == 0;
        if (!is_empty && &found != own_row_ && !memory_->is_locked_by_another(TableLock::byte_of(row))) {
            for (Amount &held : found.held) {
                held = 0;
            }
        }
    }
}

std::string mention_others(SharedCard *card, SharedCard::Resource resource) {
    const std::uint64_t held = card == nullptr ? 0 : card->held_by_others(resource);
    const char *unit = resource == SharedCard::kStreams ? " streams" : " bytes";
    return held == 0 ? "" : "; other processes hold " + std::to_string(held) + unit;
}

}  // namespace aclsim
