// SPDX-License-Identifier: Apache-2.0
// Switches of the dumps (dumps.md): what is dumped, where, and to which callback.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "abi/acl.h"
#include "engine/lock.h"
#include "machine/dump_config.h"

namespace aclsim {

using DumpCallback = std::int32_t (*)(const acldumpChunk *, std::int32_t);

// Guarded by the engine lock.
class Dumps {
  public:
    // Dumps of exceptions may be turned on by the environment (dumps.md section 3).
    Dumps();

    // Turns on what a configuration asks for. Exceptions that are dumped already keep their directory.
    void apply(const DumpConfig &config) REQUIRES(engine_lock);
    // Turns off everything but detailed dumps of exceptions, and those that the environment turned on.
    void turn_off() REQUIRES(engine_lock);

    bool dumps_exceptions() const REQUIRES(engine_lock) { return dumps_exceptions_; }
    // Directory of the dumps of exceptions of all devices; not created yet.
    std::string exception_directory() const REQUIRES(engine_lock);
    // Directory of the data of operators; "" if they are not dumped.
    const std::string &data_directory() const REQUIRES(engine_lock) { return data_directory_; }
    // Returns a copy of the path that stays valid until the process ends.
    const char *keep(const std::string &path) REQUIRES(engine_lock) { return kept_.insert(path).first->c_str(); }

    bool was_initialized GUARDED_BY(engine_lock) = false;    // by aclmdlInitDump
    bool has_configuration GUARDED_BY(engine_lock) = false;  // of aclInit, for operators or overflows

    // Callback that receives dumps in place of files; nullptr: none. A thread that calls it holds the mutex.
    void set_callback(DumpCallback callback) {
        const std::lock_guard<std::recursive_mutex> guard(calling_);
        callback_ = callback;
    }
    // Calls use(callback), which may be nullptr, while no other thread changes it.
    template <class Use>
    void with_callback(Use use) {
        const std::lock_guard<std::recursive_mutex> guard(calling_);
        use(callback_);
    }

  private:
    bool dumps_exceptions_ GUARDED_BY(engine_lock) = false;
    bool stays_on_ GUARDED_BY(engine_lock) = false;
    std::string exception_path_ GUARDED_BY(engine_lock);
    std::string data_directory_ GUARDED_BY(engine_lock);
    std::set<std::string> kept_ GUARDED_BY(engine_lock);
    std::recursive_mutex calling_;  // a callback may unregister itself
    DumpCallback callback_ = nullptr;
};

}  // namespace aclsim
