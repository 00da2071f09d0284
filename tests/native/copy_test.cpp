// SPDX-License-Identifier: Apache-2.0
// Movement of data in pieces: moves every byte, ends at an interruption, and is correct with aborts at any moment.
#include "tasks/copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "api/simulator.h"
#include "check.h"
#include "concurrent.h"
#include "support/move_bytes.h"

using aclsim::Interruption;
using aclsim::Lock;
using aclsim::Pattern;
using aclsim::Simulator;
using aclsim::Stream;
using aclsim::Transfer;

namespace {

constexpr std::size_t kMiB = 1ULL << 20;
constexpr std::size_t kLarge = 130 * kMiB + 4;  // more than two pieces, and not a multiple of their size

std::vector<unsigned char> random_bytes(std::size_t size) {
    std::vector<unsigned char> bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<unsigned char>(i * 2654435761U >> 24);
    }
    return bytes;
}

// Covers small copies and those above 32 MiB, which may bypass the caches.
void bytes_move_between_any_addresses() {
    constexpr std::size_t kOffsets[] = {0, 1, 16, 63};
    constexpr unsigned char kGuard = 0xA5;
    for (const std::size_t size : {std::size_t{0}, std::size_t{100}, 33 * kMiB + 77}) {
        const std::vector<unsigned char> from = random_bytes(size + 64);
        for (const std::size_t to_offset : kOffsets) {
            for (const std::size_t from_offset : kOffsets) {
                std::vector<unsigned char> to(size + 128, kGuard);
                unsigned char *begin = to.data() + to_offset;
                aclsim::move_bytes(begin, from.data() + from_offset, size);
                CHECK(std::memcmp(begin, from.data() + from_offset, size) == 0);
                CHECK(std::count(to.data(), begin, kGuard) == static_cast<long>(to_offset));
                CHECK(begin[size] == kGuard && begin[size + 63] == kGuard);
            }
        }
    }
}

void overlapping_bytes_are_read_before_they_are_written() {
    constexpr std::size_t kSize = 33 * kMiB;
    const std::vector<unsigned char> original = random_bytes(kSize + 100);
    std::vector<unsigned char> bytes = original;
    aclsim::move_bytes(bytes.data() + 100, bytes.data(), kSize);
    CHECK(std::memcmp(bytes.data() + 100, original.data(), kSize) == 0);
    bytes = original;
    aclsim::move_bytes(bytes.data(), bytes.data() + 100, kSize);
    CHECK(std::memcmp(bytes.data(), original.data() + 100, kSize) == 0);
}

void pieces_are_the_whole() {
    const std::vector<unsigned char> from = random_bytes(kLarge);
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
    bytes_move_between_any_addresses();
    overlapping_bytes_are_read_before_they_are_written();
    pieces_are_the_whole();
    a_dropped_queue_interrupts_what_was_submitted_before();
    aborts_come_at_any_moment();
    CHECK_OK(aclrtResetDevice(0));
    std::puts("native copy: all passed");
    return 0;
}
