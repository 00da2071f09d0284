// SPDX-License-Identifier: Apache-2.0
// Records of the operators of one subscribed model, 80 bytes each, and the thread that writes them to a pipe of the
// program (profiling.md section 8).
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core.h"

namespace aclsim {

// Record of one operator, as the program reads it from the pipe.
struct OperatorRecord {
    std::uint32_t signature;  // hash of the rest
    std::uint32_t model;
    std::uint32_t flag;    // aclprofSubscribeOpFlag
    std::uint32_t thread;  // OS thread number of the submitter
    std::uint64_t number;  // of its name and type
    std::uint64_t duration_us;
    std::uint64_t start_us;
    std::uint64_t end_us;
    std::uint64_t reserved[3];
    std::uint32_t device;
    std::uint32_t padding;

    std::uint32_t expected_signature() const;
};
static_assert(sizeof(OperatorRecord) == 80, "the size that the runtime has");

// Names and types of the operators in records, until the program has read them.
class OperatorNames {
  public:
    enum Part { kType, kName };

    std::uint64_t add(std::string type, std::string name);
    std::optional<std::string> find(std::uint64_t number, Part part) const;
    // Forgets the text after its first use, as the runtime does.
    void forget(std::uint64_t number, Part part);

  private:
    using Texts = std::array<std::optional<std::string>, 2>;
    static constexpr std::size_t kMost = 200000;  // operators; the oldest ones are forgotten

    // Returns the text; nullptr if there is none.
    const std::optional<std::string> *text_of(std::uint64_t number, Part part) const;

    mutable std::mutex mutex_;
    std::uint64_t oldest_ = 1;  // number of the first entry; the others follow
    std::deque<Texts> texts_;
};

// Operator that has ended, before it becomes a record.
struct EndedOperator {
    std::string type;
    std::string information;  // from aclrtCacheLastTaskOpInfo: bytes
    std::uint32_t thread;     // OS thread number of the submitter
    std::uint32_t device;
    Time started;
    Time ended;
};

// Writer of the records of one subscription. A task only notes that it has ended, in a list that its shard guards; the
// writer's thread takes the lists of a millisecond, makes records of them and writes them. It waits while the pipe is
// full.
class RecordPipe {
  public:
    struct Settings {
        int descriptor;  // belongs to the program, until the pipe is closed
        std::uint32_t model;
        bool has_times;
    };
    // Duplicates the descriptor: another file may get the number if the program closes it. Fails with
    // ACL_ERROR_PROFILING_FAILURE if the process has no descriptor left.
    RecordPipe(Core &core, OperatorNames &names, const Settings &settings);
    ~RecordPipe();
    RecordPipe(const RecordPipe &) = delete;
    RecordPipe &operator=(const RecordPipe &) = delete;

    // The shard's lock is sufficient.
    void add(std::uint32_t shard, EndedOperator ended) REQUIRES(engine_lock);
    // Body of the writer's thread.
    void write_all();
    // Lets the writer finish, for a second at most, and closes the program's descriptor. Call without the engine lock.
    void close_after_all();

  private:
    struct alignas(64) Part {
        std::vector<EndedOperator> ended;
    };
    using Parts = std::array<Part, Shards::kMost + 1>;

    bool gather();
    void take(Parts &taken);
    OperatorRecord record_of(EndedOperator &ended) const;
    void write(const std::vector<OperatorRecord> &records);
    bool wait_until_writable() const;
    void lose(const char *reason);
    void close_own();

    Core &core_;
    OperatorNames &names_;
    const Settings settings_;
    int file_;  // duplicate; -1 once the writer has ended
    const std::optional<std::pair<dev_t, ino_t>> identity_;
    Parts parts_ GUARDED_BY(engine_lock);
    std::mutex mutex_;
    std::condition_variable changed_;
    bool has_news_ = false;
    bool is_closed_ = false;
    bool has_ended_ = false;
    bool has_lost_some_ = false;  // used by the writer's thread alone
    std::atomic<bool> is_abandoned_{false};
    std::atomic<bool> is_broken_{false};  // the reader is gone, or the file cannot be written
};

}  // namespace aclsim
