// SPDX-License-Identifier: Apache-2.0
// aclInit and aclFinalize: the configuration, the references and the callbacks (device_context_init_errors.md section
// 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "support/json.h"

namespace aclsim {

class Machine;

// Returns the text of a configuration file. Fails with ACL_ERROR_INVALID_FILE.
std::string read_configuration(const char *path);
// Depth to which objects, and arrays, of a configuration may be nested.
constexpr std::size_t kDeepestNesting = 10;

// Callbacks of one kind, in the order of their registration.
template <class Function>
class Callbacks {
  public:
    struct Entry {
        aclRegisterCallbackType type;
        Function function;
        void *argument;
    };
    // Returns false if the type is taken: every type except OTHER has at most one callback.
    bool add(const Entry &entry) {
        if (entry.type != ACL_REG_TYPE_OTHER && !of(entry.type).empty()) {
            return false;
        }
        entries_.push_back(entry);
        return true;
    }
    bool remove(aclRegisterCallbackType type, Function function) {
        for (auto it = entries_.begin(); it != entries_.end(); ++it) {
            if (it->type == type && it->function == function) {
                entries_.erase(it);
                return true;
            }
        }
        return false;
    }
    // Returns a copy, because a callback may register and unregister callbacks.
    std::vector<Entry> of(aclRegisterCallbackType type) const {
        std::vector<Entry> found;
        for (const Entry &entry : entries_) {
            if (entry.type == type) {
                found.push_back(entry);
            }
        }
        return found;
    }

  private:
    std::vector<Entry> entries_;
};

// Initialisation state of the process. Its mutex is acquired before the engine lock. Callbacks run under the mutex
// alone, so they may call any function, and also initialise and finalise.
class Initialization {
  public:
    explicit Initialization(Machine &machine) : machine_(machine) {}

    void initialize(const char *path);  // NULL or "" means no configuration
    void finalize();
    void drop_reference(std::uint64_t *left);
    // Calls use() while the process stays initialised. Fails with ACL_ERROR_UNINITIALIZE if it is not.
    template <class Use>
    void while_initialized(Use use) {
        const std::lock_guard<std::recursive_mutex> guard(mutex_);
        require_initialized();
        use();
    }

    void add_callback(aclRegisterCallbackType type, aclInitCallbackFunc function, void *argument);
    void add_callback(aclRegisterCallbackType type, aclFinalizeCallbackFunc function, void *argument);
    void remove_callback(aclRegisterCallbackType type, aclInitCallbackFunc function);
    void remove_callback(aclRegisterCallbackType type, aclFinalizeCallbackFunc function);

  private:
    class Change;
    void require_first_configuration(const char *path) const;
    void apply(const Json &configuration, const std::string &text, bool is_given);
    void tear_down();
    void require_initialized() const;
    void end_default_device();
    void end_dumps();
    void notify_init(aclRegisterCallbackType type, const std::string &text);
    void notify_finalize(aclRegisterCallbackType type);

    Machine &machine_;
    std::recursive_mutex mutex_;
    std::uint64_t references_ = 0;
    bool is_endless_ = false;                // callbacks nested too many changes: no more until the outermost ends
    unsigned changes_ = 0;                   // apply() and tear_down() in progress: callbacks nest them
    bool is_finalized_ = false;              // one aclFinalize succeeds before any aclInit (section 3 [obs])
    std::string text_;                       // newest configuration, for callbacks that are registered later
    std::optional<std::string> first_text_;  // text of the first successful aclInit; later ones must match
    std::string first_path_;                 // path of that text; "" without a configuration
    Callbacks<aclInitCallbackFunc> init_callbacks_;
    Callbacks<aclFinalizeCallbackFunc> finalize_callbacks_;
};

}  // namespace aclsim
