// SPDX-License-Identifier: Apache-2.0
#include "races/lane.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace aclsim::races {
namespace {

constexpr std::size_t kMostChanges = 4096;
constexpr std::size_t kMostHostWaits = 256;

// Halves the older half of the history. A step between two changes then counts as the later one: order may be assumed
// that is not there, so that a race may be missed, but none is invented.
void thin(std::deque<Lane::Change> &history) {
    const std::size_t half = history.size() / 2;
    std::deque<Lane::Change> thinned;
    for (std::size_t i = 0; i + 1 < half; i += 2) {
        thinned.push_back({history[i].from, std::move(history[i + 1].known)});
    }
    std::move(history.begin() + static_cast<std::ptrdiff_t>(half / 2 * 2), history.end(), std::back_inserter(thinned));
    history = std::move(thinned);
}

}  // namespace

ClockRef Lane::known_at(Step step) const {
    if (has_learned_by(step)) {  // mostly the newest task is asked about
        return history.empty() ? clock_zero() : history.back().known;
    }
    const auto after =
        std::upper_bound(history.begin(), history.end(), step, [](Step at, const Change &it) { return at < it.from; });
    return after == history.begin() ? clock_zero() : std::prev(after)->known;
}

const Lane::Call *Lane::call_of(std::uint64_t sequence) const {
    if (!calls.empty() && calls.back().sequence == sequence) {
        return &calls.back();
    }
    const auto found = std::lower_bound(calls.begin(), calls.end(), sequence,
                                        [](const Call &it, std::uint64_t at) { return it.sequence < at; });
    return found != calls.end() && found->sequence == sequence ? &*found : nullptr;
}

void Lane::set_known(Step from, ClockRef now) {
    known = std::move(now);
    if (history.size() >= kMostChanges) {
        thin(history);
    }
    if (!history.empty() && history.back().from == from) {
        history.back().known = known;
    } else {
        history.push_back({from, known});
    }
}

void Lane::note_host_wait(PlaceId place) {
    if (!host_waits.empty() && host_waits.back().place == place && host_waits.back().known == known) {
        return;  // as in a loop of queries
    }
    host_waits.push_back({place, known});
    if (host_waits.size() > kMostHostWaits) {
        host_waits.pop_front();  // the next one takes its place
    }
}

// Keeps the newest task of each stream and wait: a stream that waits and gets no task would collect all of them.
void Lane::add_early(const Before &before) {
    const auto same = std::find_if(early.begin(), early.end(), [&](const Before &it) {
        return it.stream == before.stream && it.wait == before.wait && it.group == before.group;
    });
    if (same == early.end()) {
        early.push_back(before);
    } else {
        same->sequence = std::max(same->sequence, before.sequence);
        same->weight += before.weight;
    }
}

Action *Lane::find_open(std::uint64_t sequence) const {
    if (open.empty() || sequence < open.front()->sequence) {
        return nullptr;
    }
    const std::uint64_t place = sequence - open.front()->sequence;  // unless numbers are missing
    if (place < open.size() && open[place]->sequence == sequence) {
        return open[place];
    }
    const auto found = std::lower_bound(open.begin(), open.end(), sequence,
                                        [](const Action *it, std::uint64_t at) { return it->sequence < at; });
    return found != open.end() && (*found)->sequence == sequence ? *found : nullptr;
}

void Lane::close(const Action &action) {
    if (!open.empty() && open.front() == &action) {
        open.pop_front();
    } else {
        open.erase(std::find(open.begin(), open.end(), &action));
    }
}

}  // namespace aclsim::races
