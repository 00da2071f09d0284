// SPDX-License-Identifier: Apache-2.0
// Frames of a program's calls: the names of all of them, from any thread, signal handler and stack, and their cost.
#include <pthread.h>
#include <ucontext.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "nested_calls.h"
#include "observe.h"
#include "support/call_place.h"
#include "support/native_frames.h"

namespace {

using Names = std::vector<std::string>;

aclrtEvent g_event = nullptr;

// Functions of the frames of each call.
class Listener final : public aclsim::Observer {
  public:
    Listener() : Observer(aclsim::kCalls | aclsim::kAllPlaces) {}
    void call_began(const aclsim::Moment &, const aclsim::CallSite &site) override {
        CHECK(site.place != nullptr);
        names.clear();
        for (const std::string &name : names_of(*site.place)) {
            const std::size_t in = name.find(" in ");
            names.push_back(in == std::string::npos ? name : name.substr(in + 4));
        }
        CHECK(name_of(*site.place).find(names[0]) != std::string::npos);
    }

    Names names;
};
Listener g_listener;

// Returns whether the calls were through these functions, innermost first.
bool begins_with(const Names &expected) {
    const Names &names = g_listener.names;
    const bool is_right =
        names.size() >= expected.size() && std::equal(expected.begin(), expected.end(), names.begin());
    for (std::size_t i = 0; !is_right && i < names.size(); ++i) {
        std::fprintf(stderr, "frame %zu: %s\n", i, names[i].c_str());
    }
    return is_right;
}

}  // namespace

extern "C" {
// Named in the program's table of symbols.
[[gnu::noinline]] void leaf(int) {
    (void)aclrtSynchronizeEvent(g_event);  // whose place is noted, unlike that of a query
    __asm__ volatile("" ::: "memory");
}
[[gnu::noinline]] void through_libraries(int argument) {
    outer_level(leaf, argument);
    __asm__ volatile("" ::: "memory");
}
[[gnu::noinline]] void through_array(int argument) {
    with_array(through_libraries, argument);
    __asm__ volatile("" ::: "memory");
}
[[gnu::noinline]] void through_alignment(int argument) {
    with_alignment(through_libraries, argument);
    __asm__ volatile("" ::: "memory");
}
void handle_signal(int) {
    through_libraries(1);
    __asm__ volatile("" ::: "memory");
}
void *run_thread(void *) {
    through_libraries(2);
    __asm__ volatile("" ::: "memory");
    return nullptr;
}
}

namespace {

const Names kThroughLibraries{"leaf", "inner_level", "outer_level", "through_libraries"};

Names with(Names names, const Names &more) {
    names.insert(names.end(), more.begin(), more.end());
    return names;
}

// Makes the calls twice: the second one knows the sizes of the frames.
void check_names(void (*call)(int), int argument, const Names &expected) {
    for (int i = 0; i < 2; ++i) {
        call(argument);
        CHECK(begins_with(expected));
    }
}

void frames_of_any_size_are_found() {
    check_names(through_libraries, 1, kThroughLibraries);
    for (const int size : {16, 4096, 100, 70'000, 16}) {
        check_names(through_array, size, with(kThroughLibraries, {"with_array", "through_array"}));
    }
}

// The size of an aligned frame depends on the address of the one before.
void aligned_frames_are_found() {
    for (const int size : {16, 48, 80, 112, 144, 176, 208, 240, 272}) {
        check_names([](int bytes) { with_array(through_alignment, bytes); }, size,
                    with(kThroughLibraries, {"with_alignment", "through_alignment", "with_array"}));
    }
}

void frames_of_threads_are_found() {
    for (int i = 0; i < 3; ++i) {
        pthread_t thread{};
        CHECK(pthread_create(&thread, nullptr, run_thread, nullptr) == 0);
        CHECK(pthread_join(thread, nullptr) == 0);
        CHECK(begins_with(with(kThroughLibraries, {"run_thread"})));
    }
}

// Calls at the very end of a thread, when objects of the library are gone.
void frames_at_the_end_of_a_thread_are_found() {
    struct Last {
        ~Last() { through_libraries(3); }
        int used = 0;
    };
    for (int i = 0; i < 2; ++i) {
        std::thread([] {
            thread_local Last last;
            last.used = 1;
        }).join();
        CHECK(begins_with(kThroughLibraries));
    }
}

void frames_of_signal_handlers_are_found(int flags) {
    struct sigaction action = {};
    action.sa_handler = handle_signal;
    action.sa_flags = flags;
    CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
    for (int i = 0; i < 3; ++i) {
        CHECK(raise(SIGUSR1) == 0);
        CHECK(begins_with(with(kThroughLibraries, {"handle_signal"})));
    }
}

void frames_on_other_stacks_are_found() {
    std::vector<char> stack(1 << 16);
    const stack_t alternative{stack.data(), 0, stack.size()};
    stack_t before{};
    CHECK(sigaltstack(&alternative, &before) == 0);
    frames_of_signal_handlers_are_found(SA_ONSTACK);
    CHECK(sigaltstack(&before, nullptr) == 0);
    for (int i = 0; i < 3; ++i) {
        static ucontext_t main_context, context;
        std::vector<char> own(1 << 16);
        CHECK(getcontext(&context) == 0);
        context.uc_stack.ss_sp = own.data();
        context.uc_stack.ss_size = own.size();
        context.uc_link = &main_context;
        makecontext(&context, reinterpret_cast<void (*)()>(run_thread), 0);
        CHECK(swapcontext(&main_context, &context) == 0);
        CHECK(begins_with(with(kThroughLibraries, {"run_thread"})));
    }
}

const void *g_frames[aclsim::CallPlace::kMostFrames];
std::size_t g_count = 0;
[[gnu::noinline]] void find_many(int times) {
    const void *const own = __builtin_return_address(0);
    for (int i = 0; i < times; ++i) {
        g_count = aclsim::find_native_frames(own, g_frames, std::size(g_frames));
    }
}
[[gnu::noinline]] void find_many_deeper(int times) {
    outer_level(find_many, times);
    __asm__ volatile("" ::: "memory");
}
[[gnu::noinline]] void query_many(int times) {
    for (int i = 0; i < times; ++i) {
        leaf(i);
    }
}
void measured(const char *what, nested_function function) {
    constexpr int kTimes = 100'000;
    outer_level(function, 1);
    const auto begin = std::chrono::steady_clock::now();
    outer_level(function, kTimes);
    const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - begin;
    std::printf("%s: %.0f ns (%zu frames)\n", what, passed.count() / kTimes, g_count);
}
void measure() {
    measured("frames of constant size", find_many);
    measured("deeper", find_many_deeper);
    measured("one of variable size", [](int times) {
        static int count;
        count = times;
        with_array([](int) { find_many(count); }, 16);
    });
    class Idle final : public aclsim::Observer {
      public:
        using Observer::Observer;
    };
    measured("a query", query_many);
    for (const std::uint32_t wanted : {aclsim::kCalls + 0U, aclsim::kCalls | aclsim::kAllPlaces}) {
        Idle idle(wanted);
        const Observing observing(idle);
        measured(wanted == aclsim::kCalls ? "observed" : "with its place", query_many);
    }
}

}  // namespace

int main() {
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateEvent(&g_event));
    {
        const Observing observing(g_listener);
        frames_of_any_size_are_found();
        aligned_frames_are_found();
        frames_of_threads_are_found();
        frames_at_the_end_of_a_thread_are_found();
        frames_of_signal_handlers_are_found(0);
        frames_on_other_stacks_are_found();
    }
    measure();
    CHECK_OK(aclrtDestroyEvent(g_event));
    CHECK_OK(aclrtResetDevice(0));
    return 0;
}
