// Time limits of waiting tasks: one thread, started with the first limit.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace aclsim {

class Engine;
class Stream;

class Timer {
  public:
    explicit Timer(Engine &engine) : engine_(engine) {}
    // When the time has come and the stream is still blocked at this task, the task expires. Engine lock held.
    void arm(Stream &stream, std::uint64_t sequence, std::chrono::steady_clock::time_point when);

  private:
    struct Limit {
        std::weak_ptr<Stream> stream;
        std::uint64_t sequence;
    };
    void serve();
    void expire(const Limit &limit);

    Engine &engine_;
    std::multimap<std::chrono::steady_clock::time_point, Limit> limits_;
    std::condition_variable changed_;
    bool started_ = false;
};

}  // namespace aclsim
