// The streams that are blocked on one thing.
#pragma once

namespace aclsim {

class Engine;
class Stream;

// First come, first served. Guarded by the engine's lock. A stream is blocked on one thing at a time, so the links are
// its own: to join and to leave cost the same however many wait, and a list needs no destruction.
class Waiters {
  public:
    Waiters() = default;
    Waiters(const Waiters &) = delete;
    Waiters &operator=(const Waiters &) = delete;
    void add(Stream &stream);     // one that waits here already keeps its place
    void remove(Stream &stream);  // does nothing if it does not wait here
    // Lets each of them look again at what it waits for.
    void wake(Engine &engine);

  private:
    Stream *first_ = nullptr;
    Stream *last_ = nullptr;
};

}  // namespace aclsim
