// SPDX-License-Identifier: Apache-2.0
// Spinning threads yield between looks if there are as many of them as processors, unless yielding takes long. With a
// yield, a look takes two readings of the clock instead of one, so the thread looks half as often.
#include "engine/spinner.h"

#include <chrono>

#include "check.h"

using namespace aclsim;
using namespace std::chrono_literals;

namespace {

// Clock that advances by a microsecond at each reading.
class PassingClock final : public Clock {
  public:
    Time now() const override { return now_ += 1us; }
    bool wait_until(Lock &, std::condition_variable_any &, Time) override { return false; }
    void advance(Time::duration by) { now_ += by; }

  private:
    mutable Time now_{1h};
};

constexpr int kNotAtAll = -1;

class Test {
  public:
    explicit Test(std::uint32_t processors) : spinner_(clock_, processors) {}

    // Returns the number of looks until the condition is true, at the given look, or until the time is over.
    int looks_until(int found_at, int long_turn_at = kNotAtAll) {
        int looks = 0;
        const bool is_found = spinner_.until([&] {
            ++looks;
            if (looks == long_turn_at) {
                clock_.advance(1ms);
            }
            return looks == found_at;
        });
        CHECK(is_found == (found_at != kNotAtAll));
        return looks;
    }
    void wait(Time::duration time) { clock_.advance(time); }

  private:
    PassingClock clock_;
    Spinner spinner_;
};

void finds_what_comes() {
    Test test(1);
    const int most = test.looks_until(kNotAtAll);
    CHECK(most > config().spin / 4us);
    for (const int found_at : {1, 2, most / 2}) {
        CHECK(test.looks_until(found_at) == found_at);
    }
}

void gives_up_turns_where_threads_are_many() {
    CHECK(Test(1).looks_until(kNotAtAll) < Test(2).looks_until(kNotAtAll) * 3 / 4);
}

// A long turn models another program that keeps the processor.
void gives_up_none_for_a_while_after_a_long_one() {
    Test test(1);
    const int with_turns = test.looks_until(kNotAtAll);
    const int without_turns = Test(2).looks_until(kNotAtAll);
    const int middle = with_turns / 2;
    CHECK(test.looks_until(kNotAtAll, /*long_turn_at=*/middle) == middle + 1);
    CHECK(test.looks_until(kNotAtAll) == without_turns);
    test.wait(90ms);
    CHECK(test.looks_until(kNotAtAll) == without_turns);
    test.wait(10ms);
    CHECK(test.looks_until(kNotAtAll) == with_turns);
}

}  // namespace

int main() {
    if (config().spin.count() > 0) {  // no thread spins on a single processor
        finds_what_comes();
        gives_up_turns_where_threads_are_many();
        gives_up_none_for_a_while_after_a_long_one();
    }
    return 0;
}
