// The streams that are blocked on one thing.
#pragma once

#include <algorithm>
#include <vector>

namespace aclsim {

class Stream;

// Guarded by the engine's lock.
class Waiters {
  public:
    void add(Stream &stream) { streams_.push_back(&stream); }
    void remove(const Stream &stream) {
        streams_.erase(std::remove(streams_.begin(), streams_.end(), &stream), streams_.end());
    }
    // Lets each of them look again at what it waits for.
    template <class Engine>
    void wake(Engine &engine) {
        for (Stream *stream : streams_) {
            engine.make_runnable(*stream);
        }
        streams_.clear();
    }

  private:
    std::vector<Stream *> streams_;
};

}  // namespace aclsim
