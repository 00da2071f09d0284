// SPDX-License-Identifier: Apache-2.0
// Text form of a graph (aclmdlRIDebugJsonPrint).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tasks/event.h"
#include "tasks/model.h"

namespace aclsim {

// Array of events in the format of chrome://tracing, one per task of the program; in verbose mode with their
// parameters. Tasks are read stream by stream under the lock, and the text is made without it.
class GraphJson {
  public:
    explicit GraphJson(bool is_verbose) : is_verbose_(is_verbose) {}
    void add(const Model &model, const Stream &stream) REQUIRES(engine_lock);
    std::string text() const;

  private:
    struct Entry {
        const TaskInfo *info;
        std::size_t index;    // in its stream
        const Signal *begun;  // edge that it begins or ends; used as a name only
        const Signal *ended;
        std::string extend_info;
        aclmdlRITaskParams params;
    };
    struct Track {
        std::uint32_t device;
        std::uint32_t model;
        std::uint32_t stream;
        std::vector<Entry> entries;
    };
    struct Position {
        std::uint32_t stream;
        std::size_t index;
    };
    using Begins = std::map<const Signal *, Position>;

    Begins begins() const;
    static std::string event(const Track &track, const Entry &entry, const Begins &begins);

    const bool is_verbose_;
    std::vector<Track> tracks_;
};

}  // namespace aclsim
