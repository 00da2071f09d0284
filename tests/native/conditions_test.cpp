// SPDX-License-Identifier: Apache-2.0
// Bindings of waits to records in the race check for the vendor's library.
#include "check.h"
#include "condition.h"

using namespace aclsim;
using namespace aclsim::wrapped;

namespace {

bool are_equal(const Point &one, const Point &other) {
    return one.stream == other.stream && one.sequence == other.sequence;
}

// Expects that the wait is bound to exactly these records: to any, or to all of them.
void expect(const std::vector<Bound> &bound, Point wait, const Points &records, bool is_any = true) {
    CHECK(bound.size() == 1 && are_equal(bound[0].wait, wait));
    const Match &match = bound[0].match;
    CHECK(match.records.size() == records.size() && match.is_any == is_any);
    for (std::size_t i = 0; i < records.size(); ++i) {
        CHECK(are_equal(match.records[i], records[i]));
    }
}

Wait from(std::uint64_t value, Point task) {
    return {task, [=](std::uint64_t found) { return found >= value; }};
}

void test_notifies_take_records_in_turn() {
    Calls calls;
    Notify notify(calls);
    CHECK(notify.add({{1, 1}}).empty());
    expect(notify.record({2, 1}), {1, 1}, {{2, 1}});
    CHECK(notify.record({2, 2}).empty());
    CHECK(notify.record({3, 1}).empty());
    CHECK(notify.record({3, 2}).empty());
    expect(notify.add({{1, 2}}), {1, 2}, {{2, 2}, {3, 1}});
    expect(notify.add({{1, 3}}), {1, 3}, {{3, 1}});
    CHECK(notify.has_record_of(3) && !notify.has_record_of(2));
    expect(notify.add({{1, 4}}), {1, 4}, {{3, 2}});
    CHECK(notify.add({{1, 5}}).empty());
    notify.withdraw({1, 5});
    CHECK(notify.open().empty() && notify.record({2, 3}).empty());
    notify.reset();
    CHECK(notify.add({{1, 6}}).empty());
}

void test_a_value_stays_until_it_is_reset() {
    Calls calls;
    Latch word(calls, /*takes_first=*/false);
    CHECK(word.record({1, 1}, 1, 0).empty());
    CHECK(word.record({1, 2}, 2, 0).empty());
    CHECK(word.record({2, 1}, 3, 0).empty());
    expect(word.add(from(2, {3, 1})), {3, 1}, {{1, 2}, {2, 1}});
    expect(word.add(from(2, {3, 2})), {3, 2}, {{1, 2}, {2, 1}});
    CHECK(word.add(from(4, {3, 3})).empty());
    expect(word.record({2, 2}, 4, 0), {3, 3}, {{2, 2}});
    word.reset();
    CHECK(word.add(from(1, {3, 4})).empty());
}

void test_a_value_that_is_not_accepted_ends_those_before_it() {
    Calls calls;
    Latch word(calls, /*takes_first=*/false);
    CHECK(word.record({1, 1}, 1, 0).empty());
    CHECK(word.record({2, 1}, 0, 0).empty());
    CHECK(word.add(from(1, {3, 1})).empty());
    expect(word.record({1, 2}, 1, 0), {3, 1}, {{1, 2}});
}

void test_the_first_record_of_an_event_sets_it() {
    Calls calls;
    Latch event(calls, /*takes_first=*/true);
    CHECK(event.record({1, 1}, 1, 0).empty());
    CHECK(event.record({2, 1}, 1, 0).empty());
    expect(event.add({{3, 1}}), {3, 1}, {{1, 1}});
}

void test_unseen_work_may_have_replaced_a_value() {
    Calls calls;
    Latch word(calls, /*takes_first=*/false);
    CHECK(word.record({1, 1}, 1, 0).empty());
    CHECK(word.record({2, 1}, 1, 5).empty());
    CHECK(word.record({2, 2}, 1, 5).empty());
    expect(word.add(from(1, {3, 1})), {3, 1}, {{1, 1}, {2, 1}}, /*is_any=*/false);
    word.note_unseen(6);
    expect(word.add(from(1, {3, 2})), {3, 2}, {{1, 1}, {2, 1}, {2, 2}}, /*is_any=*/false);
}

void test_all_that_count_come_before_the_wait() {
    Calls calls;
    Counter counter(calls);
    Wait two = from(2, {3, 1});
    two.clears = true;
    CHECK(counter.add(std::move(two)).empty());
    CHECK(counter.record({1, 1}, ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1).empty());
    expect(counter.record({2, 1}, ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1), {3, 1}, {{1, 1}, {2, 1}}, /*is_any=*/false);
    CHECK(counter.add(from(1, {3, 2})).empty());
    expect(counter.record({2, 2}, ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 7), {3, 2}, {{2, 2}}, /*is_any=*/false);
}

void test_a_stream_stops_at_a_wait_for_another_condition() {
    Calls calls;
    Notify one(calls);
    Notify other(calls);
    CHECK(one.add({{1, 1}}).empty());
    CHECK(other.add({{1, 2}}).empty() && other.record({2, 1}).empty());
    expect(other.add({{2, 2}}), {2, 2}, {{2, 1}});
    CHECK(other.record({1, 3}).empty() && other.add({{3, 1}}).empty());
    expect(one.record({2, 3}), {1, 1}, {{2, 3}});
    const std::vector<Bound> bound = other.record({2, 4});
    CHECK(bound.size() == 2 && are_equal(bound[0].wait, {1, 2}) && are_equal(bound[1].wait, {3, 1}));
}

void test_waits_that_something_unseen_may_satisfy_stay_open() {
    Calls calls;
    Notify notify(calls);
    notify.is_unseen = true;
    CHECK(notify.record({2, 1}).empty());
    CHECK(notify.add({{1, 1}}).empty());
    CHECK(notify.open().size() == 1);
    notify.withdraw({1, 1});
    CHECK(notify.open().empty());
}

}  // namespace

int main() {
    test_notifies_take_records_in_turn();
    test_a_value_stays_until_it_is_reset();
    test_a_value_that_is_not_accepted_ends_those_before_it();
    test_the_first_record_of_an_event_sets_it();
    test_unseen_work_may_have_replaced_a_value();
    test_all_that_count_come_before_the_wait();
    test_a_stream_stops_at_a_wait_for_another_condition();
    test_waits_that_something_unseen_may_satisfy_stay_open();
    return 0;
}
