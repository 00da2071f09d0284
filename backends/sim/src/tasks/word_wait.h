// Waits for a word of memory that something outside the engine changes: a companion library's own threads, or another
// process. No thread is busy meanwhile.
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

// Engine lock held.
class SharedWords {
  public:
    explicit SharedWords(Core &core) : core_(core) {}
    // The stream has admitted a task. What the wait points to is copied, but for the words.
    void submit_wait(Stream &stream, const aclsimWait &wait) REQUIRES(engine_lock);
    // Lets the waits for the word look at it at once; the timer does so now and then.
    void wake(const volatile std::uint64_t *word) REQUIRES(engine_lock);

  private:
    friend class WordWaitTask;

    Core &core_;
    std::map<const volatile std::uint64_t *, Waiters> waiters_ GUARDED_BY(engine_lock);  // of words with waits
};

}  // namespace aclsim
