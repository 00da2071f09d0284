/* SPDX-License-Identifier: Apache-2.0 */
#include <ATen/core/CachingHostAllocator.h>

#include <atomic>

#include "checks.h"

namespace ascend_rt {
namespace {

constinit std::atomic<void (*)()> begin{nullptr};  // called once, before the first allocation

}  // namespace

#if ASCEND_RT_TORCH >= 208
namespace {

// torch_npu's allocator of pinned memory, which gives out a block again when its queries have shown that the streams
// are done with it. Reports that to checks.
class WatchedHostAllocator final : public at::HostAllocator {
  public:
    explicit WatchedHostAllocator(at::HostAllocator &theirs) : theirs_(theirs) {}

    at::DataPtr allocate(std::size_t size) override {
        if (void (*const first)() = begin.exchange(nullptr); first != nullptr) {
            first();
        }
        at::DataPtr made = theirs_.allocate(size);
        if (made.get() != nullptr) {
            note_reusable(made.get(), size);
            note_given_out(made.get(), size);
        }
        return made;
    }
    at::DeleterFnPtr raw_deleter() const override { return theirs_.raw_deleter(); }
    void copy_data(void *to, const void *from, std::size_t count) const override { theirs_.copy_data(to, from, count); }
    bool record_event(void *address, void *context, c10::Stream stream) override {
        return theirs_.record_event(address, context, stream);
    }
    void empty_cache() override { theirs_.empty_cache(); }
    at::HostStats get_stats() override { return theirs_.get_stats(); }
    void reset_accumulated_stats() override { theirs_.reset_accumulated_stats(); }
    void reset_peak_stats() override { theirs_.reset_peak_stats(); }
#if ASCEND_RT_TORCH >= 211
    void begin_allocate_to_pool(c10::MempoolId_t pool, std::function<bool(c10::Stream)> filter) override {
        theirs_.begin_allocate_to_pool(pool, std::move(filter));
    }
    void end_allocate_to_pool(c10::MempoolId_t pool) override { theirs_.end_allocate_to_pool(pool); }
    void release_pool(c10::MempoolId_t pool) override { theirs_.release_pool(pool); }
#endif

  private:
    at::HostAllocator &theirs_;
};

}  // namespace

void watch_host_allocator() {
    constexpr std::uint8_t kAboveTheirs = 1;
    static constinit std::atomic<bool> is_watched{false};
    if (!is_watched.exchange(true)) {
        at::HostAllocator *theirs = at::getHostAllocator(c10::DeviceType::PrivateUse1);
        at::setHostAllocator(c10::DeviceType::PrivateUse1, new WatchedHostAllocator(*theirs), kAboveTheirs);  // forever
    }
}
#else
void watch_host_allocator() {}  // it cannot be replaced; its queries count as the program's
#endif

}  // namespace ascend_rt

// Called from Python before the first use of a device: programs allocate pinned memory before that.
extern "C" __attribute__((visibility("default"))) void ascend_rt_torch_watch_pinned(void (*first)()) {
    ascend_rt::begin.store(first);
    ascend_rt::watch_host_allocator();
}
