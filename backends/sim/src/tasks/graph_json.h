// A graph as text (aclmdlRIDebugJsonPrint).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tasks/event.h"
#include "tasks/model.h"

namespace aclsim {

// An array of events as chrome://tracing shows them, one for each task of the user's. A verbose one has their
// parameters too. The text is made without the lock: tasks are looked at stream by stream before.
class GraphJson {
  public:
    explicit GraphJson(bool is_verbose) : is_verbose_(is_verbose) {}
    void add(const Model &model, const Stream &stream) REQUIRES(engine_lock);
    std::string text() const;

  private:
    struct Entry {
        const TaskInfo *info;
        std::size_t index;    // in its stream
        const Signal *begun;  // the edge that it begins, or ends; no more than names here
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
