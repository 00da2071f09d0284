// SPDX-License-Identifier: Apache-2.0
#include "hccl/workers.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace hccl {
namespace {

class Workers {
  public:
    void run(std::function<void()> work) {
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            if (idle_ > queue_.size()) {
                queue_.push_back(std::move(work));
                added_.notify_one();
                return;
            }
        }
        // Without the mutex: the host may take long, and other threads go on meanwhile.
        std::thread([this, work = std::move(work)]() mutable { serve(std::move(work)); }).detach();
    }

  private:
    void serve(std::function<void()> work) {
        for (;;) {
            work();
            work = nullptr;  // may be the last to use a communicator, which then waits for its thread
            std::unique_lock<std::mutex> lock(mutex_);
            ++idle_;
            added_.wait(lock, [&] { return !queue_.empty(); });
            work = std::move(queue_.front());
            queue_.pop_front();
            --idle_;
        }
    }

    std::mutex mutex_;
    std::condition_variable added_;
    std::deque<std::function<void()>> queue_;
    std::size_t idle_ = 0;
};

}  // namespace

void run_on_worker(std::function<void()> work) {
    static Workers *const workers = new Workers;  // its threads outlive the end of main()
    workers->run(std::move(work));
}

}  // namespace hccl
