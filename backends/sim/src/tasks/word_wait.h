// Waits for a word of memory that is changed outside the engine: by a thread of a companion library, or by another
// process. They occupy no thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "abi/acl.h"
#include "engine/waiters.h"

namespace aclsim {

class Core;
class Stream;

// Requires the engine lock.
class SharedWords {
  public:
    explicit SharedWords(Core &core) : core_(core) {}
    // Submits to a stream that has admitted a task. Copies everything that the wait points to, except the words.
    void submit_wait(Stream &stream, const aclsimWait &wait) REQUIRES(engine_lock);
    // Makes the waits for the word check it at once; otherwise the timer does so periodically.
    void wake(const volatile std::uint64_t *word) REQUIRES(engine_lock);

  private:
    friend class WordWaitTask;

    Core &core_;
    std::map<const volatile std::uint64_t *, Waiters> waiters_ GUARDED_BY(engine_lock);  // by word
};

}  // namespace aclsim
