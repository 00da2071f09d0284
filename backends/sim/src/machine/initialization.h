// aclInit and aclFinalize: the configuration, the references, and who wants to be told (device_context_init_errors.md
// section 3).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "support/json.h"

namespace aclsim {

// Callbacks of one kind, in the order of their registration.
template <class Function>
class Callbacks {
  public:
    struct Entry {
        aclRegisterCallbackType type;
        Function function;
        void *argument;
    };
    // False if the type is taken: all but OTHER have one callback at most.
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
    // A copy: a callback may register and unregister.
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

// Of the process. It has a lock of its own, which is taken before the engine's and which callbacks run under, so that
// they may call anything; what would initialise or finalise while that is under way is refused.
class Initialization {
  public:
    static Initialization &get();

    void initialize(const char *path);  // NULL or "": without configuration
    void finalize();
    void drop_reference(std::uint64_t *left);

    void add_callback(aclRegisterCallbackType type, aclInitCallbackFunc function, void *argument);
    void add_callback(aclRegisterCallbackType type, aclFinalizeCallbackFunc function, void *argument);
    void remove_callback(aclRegisterCallbackType type, aclInitCallbackFunc function);
    void remove_callback(aclRegisterCallbackType type, aclFinalizeCallbackFunc function);

  private:
    class Change;
    void apply(const Json &configuration, bool is_given);
    void tear_down();
    void require_no_change() const;
    void notify_init(aclRegisterCallbackType type);
    void notify_finalize(aclRegisterCallbackType type);

    std::recursive_mutex mutex_;
    std::uint64_t references_ = 0;
    bool is_changing_ = false;               // apply() or tear_down() is under way, and calls back
    bool is_finalized_ = false;              // one aclFinalize before any aclInit succeeds [obs]
    std::string text_;                       // of the configuration, as callbacks get it
    std::optional<std::string> first_text_;  // of the first aclInit that succeeded; later ones must have the same
    Callbacks<aclInitCallbackFunc> init_callbacks_;
    Callbacks<aclFinalizeCallbackFunc> finalize_callbacks_;
};

}  // namespace aclsim
