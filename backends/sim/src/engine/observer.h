// The one place through which the engine tells what it does. Time lines, race detectors, statistics and tests are
// observers; the engine does not know them and pays one test of a pointer when there is none.
#pragma once

namespace aclsim {

class Event;
class Stream;
class Task;

// Every function is called with the engine lock held and must not call the API.
class Observer {
  public:
    virtual ~Observer() = default;
    virtual void submitted(const Stream &, const Task &) {}
    virtual void started(const Stream &, const Task &) {}
    virtual void ended(const Stream &, const Task &) {}
    // The wait on the second stream is satisfied by a record on the first: what precedes the record happens before
    // what follows the wait.
    virtual void edge(const Stream & /*recorded*/, const Stream & /*waited*/, const Event &) {}
};

}  // namespace aclsim
