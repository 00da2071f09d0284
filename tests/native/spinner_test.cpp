// A thread that looks for something gives up its turn between looks, until turns take long.
#include "engine/spinner.h"

#include <chrono>

#include "check.h"

using namespace aclsim;
using namespace std::chrono_literals;

namespace {

// Each look at it takes a microsecond.
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
    void run() {
        CHECK(looks_until(1) == 1);
        const int most = looks_until(kNotAtAll);
        CHECK(most > config().spin / 2us);
        CHECK(looks_until(most / 2) == most / 2);
        // As if the thread's turn had gone to one that keeps the processor.
        CHECK(looks_until(kNotAtAll, /*long_turn_at=*/most / 2) == most / 2 + 1);
        const int without_turns = looks_until(kNotAtAll);
        CHECK(without_turns < most / 2);
        CHECK(looks_until(kNotAtAll) == without_turns);
        clock_.advance(20ms);
        CHECK(looks_until(kNotAtAll) == most);
    }

  private:
    // How often it looks for what it finds at that look.
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

    PassingClock clock_;
    Spinner spinner_{clock_};
};

}  // namespace

int main() {
    if (config().spin.count() > 0) {  // with a single processor nobody spins
        Test().run();
    }
    return 0;
}
