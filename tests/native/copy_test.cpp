// Movement of data in pieces: nothing is left out, an interruption ends it, and aborts may come at any moment.
#include "tasks/copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "api/simulator.h"
#include "check.h"
#include "concurrent.h"

using aclsim::Interruption;
using aclsim::Lock;
using aclsim::Pattern;
using aclsim::Simulator;
using aclsim::Stream;
using aclsim::Transfer;

namespace {

constexpr std::size_t kMiB = 1ULL << 20;
constexpr std::size_t kLarge = 130 * kMiB + 4;  // more than two pieces, and no multiple of one

void pieces_are_the_whole() {
    std::vector<unsigned char> from(kLarge);
    for (std::size_t i = 0; i < kLarge; ++i) {
        from[i] = static_cast<unsigned char>(i * 2654435761U >> 24);
    }
    std::vector<unsigned char> to(kLarge);
    CHECK(Transfer::plain(to.data(), from.data(), kLarge).move());
    CHECK(to == from);
    std::fill(to.begin(), to.end(), 0);
    const std::size_t row = kLarge / 2;
    CHECK((Transfer{to.data(), row, from.data(), row, row - 4, 2}.move()));
    CHECK(std::equal(to.begin(), to.begin() + static_cast<long>(row) - 4, from.begin()));
    CHECK(to[row - 1] == 0 && std::memcmp(&to[row], &from[row], row - 4) == 0);
    CHECK((Pattern{to.data(), 0x04030201, 4, kLarge / 4}.write()));
    for (std::size_t i = 0; i < kLarge; ++i) {
        CHECK(to[i] == i % 4 + 1);
    }
    CHECK((Pattern{to.data(), 0x1FF, 1, kLarge}.write()));
    CHECK(std::all_of(to.begin(), to.end(), [](unsigned char byte) { return byte == 0xFF; }));
}

void a_dropped_queue_interrupts_what_was_submitted_before() {
    aclrtStream handle = new_stream();
    unsigned char to = 0;
    const unsigned char from = 1;
    {
        aclsim::Core &core = Simulator::get().core;
        Lock lock = core.acquire();
        Stream &stream = *core.registry().find<Stream>(handle);
        stream.submitted = stream.completed = 5;
        core.drop_queue(stream, ACL_ERROR_RT_STREAM_ABORT);
        const Interruption old(stream, 5);
        CHECK(old.is_requested() && !Interruption(stream, 6).is_requested() && !Interruption().is_requested());
        CHECK(!Transfer::plain(&to, &from, 1).move(old) && to == 0);
        CHECK((!Pattern{&to, 1, 1, 1}.write(old)) && to == 0);
        CHECK(Transfer::plain(&to, &from, 1).move(Interruption(stream, 6)) && to == 1);
    }
    CHECK_OK(aclrtDestroyStream(handle));
}

bool is_expected(aclError code) { return code == ACL_SUCCESS || code == ACL_ERROR_RT_STREAM_ABORT; }

void aborts_come_at_any_moment() {
    constexpr int kRounds = 20;
    void *from = nullptr;
    void *to = nullptr;
    CHECK_OK(aclrtMalloc(&from, kLarge, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMalloc(&to, kLarge, ACL_MEM_MALLOC_HUGE_FIRST));
    aclrtStream stream = new_stream();
    std::atomic<bool> is_over{false};
    std::thread aborter([&] {
        CHECK_OK(aclrtSetDevice(0));
        while (!is_over) {
            CHECK_OK(aclrtStreamAbort(stream));
            std::this_thread::yield();
        }
        CHECK_OK(aclrtResetDevice(0));
    });
    for (int round = 0; round < kRounds; ++round) {
        CHECK(is_expected(aclrtMemsetAsync(from, kLarge, round, kLarge, stream)));
        CHECK(is_expected(aclrtMemcpyAsync(to, kLarge, from, kLarge, ACL_MEMCPY_DEVICE_TO_DEVICE, stream)));
        CHECK(is_expected(aclrtSynchronizeStream(stream)));
    }
    is_over = true;
    aborter.join();
    CHECK_OK(aclrtMemsetAsync(from, kLarge, 7, kLarge, stream));
    CHECK_OK(aclrtMemcpyAsync(to, kLarge, from, kLarge, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    const auto *bytes = static_cast<const unsigned char *>(to);
    CHECK(std::all_of(bytes, bytes + kLarge, [](unsigned char byte) { return byte == 7; }));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtFree(from));
    CHECK_OK(aclrtFree(to));
}

}  // namespace

int main() {
    CHECK_OK(aclrtSetDevice(0));
    pieces_are_the_whole();
    a_dropped_queue_interrupts_what_was_submitted_before();
    aborts_come_at_any_moment();
    CHECK_OK(aclrtResetDevice(0));
    std::puts("native copy: all passed");
    return 0;
}
