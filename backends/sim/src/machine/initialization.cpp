// SPDX-License-Identifier: Apache-2.0
#include "machine/initialization.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "machine/device_limits.h"
#include "machine/dump_config.h"
#include "machine/machine.h"
#include "support/error.h"
#include "support/file.h"
#include "support/program_call.h"
#include "support/strict.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

using Guard = std::lock_guard<std::recursive_mutex>;

constexpr std::size_t kLongestConfiguration = 10 << 20;
constexpr std::int32_t kNoDefaultDevice = -1;

struct LimitKey {
    const char *key;
    aclrtDeviceLimit limit;
};
constexpr LimitKey kStackKeys[] = {
    {"aicore_stack_size", ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE},
    {"simt_stack_size", ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE},
    {"simt_divergence_stack_size", ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE},
};
constexpr LimitKey kBufferKeys[] = {
    {"simd_printf_fifo_size_per_core", ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE},
    {"simt_printf_fifo_size", ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE},
};

Json parse_configuration(const char *path, const std::string &text) {
    if (text.empty()) {
        return {};  // an empty file counts as no configuration (device_context_init_errors.md section 3 [obs])
    }
    try {
        return parse_json(text, kDeepestNesting);
    } catch (const JsonError &error) {
        fail_unremembered(ACL_ERROR_PARSE_FILE, "the configuration %s is not JSON: %s", path, error.text().c_str());
    }
}

bool is_string(const Json &value, const char *text) { return value.type == Json::Type::String && value.text == text; }

bool is_whole_number(const std::string &text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos &&
           (text.size() == 1 || text[0] != '0');
}

// Accepts "0" or "1".
bool read_switch(const Json &value, const char *key) {
    if (!is_string(value, "0") && !is_string(value, "1")) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%s is %s, and must be \"0\" or \"1\"", key, written(value).c_str());
    }
    return value.text == "1";
}

// Section of the profiler's command line, which is not simulated: its form is checked, but nothing is written.
void check_profiler(const Json &configuration) {
    const Json *found = configuration.find("profiler");
    if (found != nullptr && found->type != Json::Type::Object) {
        fail_unremembered(ACL_ERROR_INVALID_PROFILING_CONFIG, "\"profiler\" is not an object");
    }
}

// Dumps of operators and overflows leave no room for aclmdlInitDump (dumps.md section 1).
void apply_dumps(Machine &machine, const Json &configuration) {
    const DumpConfig config = read_dump_config(configuration);
    const Lock lock = machine.core.acquire();
    machine.dumps.apply(config);
    machine.dumps.has_configuration =
        config.kind == DumpConfig::Kind::Operators || config.kind == DumpConfig::Kind::Overflows;
}

void check_operator_cache(const Json &configuration) {
    const Json *found = configuration.find("max_opqueue_num");
    const bool is_text = found != nullptr && (found->type == Json::Type::String || found->type == Json::Type::Number);
    if (found != nullptr && (!is_text || !is_whole_number(found->text) || found->text == "0")) {
        fail_unremembered(ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG, "\"max_opqueue_num\" is not a positive number");
    }
}

void check_event_mode(const Json &configuration) {
    const Json *graph = configuration.find("acl_graph");
    const Json *mode = graph == nullptr ? nullptr : graph->find("event_mode");
    if (mode != nullptr) {
        read_switch(*mode, "acl_graph.event_mode");
    }
}

// Limits are set through device 0.
void store_limit(Machine &machine, aclrtDeviceLimit limit, std::uint64_t value) {
    const Lock lock = machine.core.acquire();
    require_device(machine, 0);
    set_device_limit(limit, value);
}

// Ignores limits that the product does not have and sizes that it does not support.
void apply_stack_sizes(Machine &machine, const Json &configuration) {
    const Json *sizes = configuration.find("StackSize");
    for (const LimitKey &entry : kStackKeys) {
        const Json *size = sizes == nullptr ? nullptr : sizes->find(entry.key);
        if (size == nullptr) {
            continue;
        }
        const double value = size->type == Json::Type::Number ? number_of(*size) : -1;
        if (value < 0) {
            fail_unremembered(ACL_ERROR_FAILURE, "StackSize.%s is not a number of bytes", entry.key);
        }
        const auto bytes = static_cast<std::uint64_t>(std::min<double>(value, UINT32_MAX));
        if (has_device_limit(entry.limit) && is_device_limit_valid(entry.limit, bytes)) {
            store_limit(machine, entry.limit, bytes);
        }
    }
}

void apply_print_buffers(Machine &machine, const Json &configuration) {
    for (const LimitKey &entry : kBufferKeys) {
        const Json *size = configuration.find(entry.key);
        if (size == nullptr) {
            continue;
        }
        const bool is_number = size->type == Json::Type::Number && is_whole_number(size->text);
        const std::uint64_t bytes = is_number ? std::strtoull(size->text.c_str(), nullptr, 10) : 0;
        if (!is_device_limit_valid(entry.limit, bytes)) {
            fail_unremembered(ACL_ERROR_FAILURE, "%s is not a size that such a buffer can have", entry.key);
        }
        if (has_device_limit(entry.limit)) {
            store_limit(machine, entry.limit, bytes);
        }
    }
}

void apply_default_device(Machine &machine, const Json &configuration) {
    const Json *section = configuration.find("defaultDevice");
    const Json *id = section == nullptr ? nullptr : section->find("default_device");
    if (id == nullptr) {
        return;
    }
    if (id->type != Json::Type::String || !is_whole_number(id->text)) {
        fail_unremembered(ACL_ERROR_FAILURE, "defaultDevice.default_device is not a string with a device id");
    }
    // The runtime keeps the low 32 bits of the saturated number, and -1 means that there is no default device (section
    // 3). So 2^32 is device 0, and a number of twenty digits is accepted without effect.
    const auto number = static_cast<std::int32_t>(std::strtoll(id->text.c_str(), nullptr, 10));
    if (number != kNoDefaultDevice) {
        const Lock lock = machine.core.acquire();
        machine.set_default_device(&require_device(machine, number));
    }
}

template <class Callback>
void require_success(aclRegisterCallbackType type, Callback callback) {
    aclError code = ACL_SUCCESS;
    call_or_fail("a callback of aclInit or aclFinalize", [&] { code = callback(); });
    if (code != ACL_SUCCESS) {
        fail_unremembered(code, "a callback of type %d answered %d", static_cast<int>(type), code);
    }
}

template <class List, class Function>
void add_to(List &list, aclRegisterCallbackType type, Function function, void *argument) {
    if (!list.add({type, function, argument})) {
        fail_unremembered(ACL_ERROR_INTERNAL_ERROR, "type %d has a callback already", static_cast<int>(type));
    }
}

template <class List, class Function>
void remove_from(List &list, aclRegisterCallbackType type, Function function) {
    if (!list.remove(type, function)) {
        fail_unremembered(ACL_ERROR_INTERNAL_ERROR, "type %d does not have this callback", static_cast<int>(type));
    }
}

}  // namespace

std::string read_configuration(const char *path) {
    const Uncancelled uncancelled;
    struct stat status{};
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        fail_unremembered(ACL_ERROR_INVALID_FILE, "the configuration %s does not exist or is not a regular file", path);
    }
    try {
        return read_file(path, kLongestConfiguration);
    } catch (const FileError &error) {
        fail_unremembered(ACL_ERROR_INVALID_FILE, "the configuration %s: %s", path, error.what.c_str());
    }
}

// Counts the changes that callbacks of a change make inside it. A callback that makes one every time would overflow
// the stack, as it does in the official library.
class Initialization::Change {
  public:
    explicit Change(Initialization &whole) : whole_(whole) {
        whole_.is_endless_ = whole_.is_endless_ || whole_.changes_ == kDeepestChange;
        if (whole_.is_endless_) {  // stops the outer callbacks too: their calls could double at each level
            fail_unremembered(ACL_ERROR_INTERNAL_ERROR,
                              "a callback of aclInit or aclFinalize initialises or finalises without end");
        }
        ++whole_.changes_;
    }
    ~Change() {
        --whole_.changes_;
        whole_.is_endless_ = whole_.is_endless_ && whole_.changes_ > 0;
    }
    Change(const Change &) = delete;
    Change &operator=(const Change &) = delete;

  private:
    static constexpr unsigned kDeepestChange = 32;
    Initialization &whole_;
};

void Initialization::require_initialized() const {
    if (references_ == 0) {
        fail_unremembered(ACL_ERROR_UNINITIALIZE, "call aclInit first");
    }
}

void Initialization::end_dumps() {
    const Lock lock = machine_.core.acquire();
    machine_.dumps.turn_off();
    machine_.dumps.was_initialized = machine_.dumps.has_configuration = false;
}

void Initialization::end_default_device() {
    const Lock lock = machine_.core.acquire();
    machine_.set_default_device(nullptr);
}

void Initialization::initialize(const char *path) {
    const Guard guard(mutex_);
    if (path == nullptr && !first_path_.empty()) {
        end_if_strict("configPath is NULL, and the process was first initialised with " + first_path_);
    }
    if (references_ > 0) {
        ++references_;
        fail_unremembered(ACL_ERROR_REPEAT_INITIALIZE, "already initialised; pair this call with aclFinalizeReference");
    }
    const bool is_given = path != nullptr && *path != '\0';
    const std::string text = is_given ? read_configuration(path) : std::string();
    std::string first_text = text;
    std::string first_path = is_given ? path : "";
    text_ = text;
    require_first_configuration(path);
    const Change change(*this);
    try {
        apply(parse_configuration(path, text), text, is_given);
    } catch (...) {
        end_dumps();
        end_default_device();
        throw;
    }
    references_ = 1;
    is_finalized_ = false;
    if (!first_text_) {
        first_text_ = std::move(first_text);
        first_path_ = std::move(first_path);
    }
}

void Initialization::require_first_configuration(const char *path) const {
    if (!first_text_ || *first_text_ == text_) {
        return;
    }
    const std::string first = first_path_.empty() ? "none" : first_path_;
    fail_unremembered(
        ACL_ERROR_INVALID_PARAM, "the configuration is not the one that the process was first initialised with: %s%s",
        first.c_str(), path == nullptr ? "; the official library ends the process if the path is NULL here" : "");
}

void Initialization::apply(const Json &configuration, const std::string &text, bool is_given) {
    const Json *mode = configuration.find("err_msg_mode");
    share_recent_texts(mode != nullptr && read_switch(*mode, "err_msg_mode"));
    notify_init(ACL_REG_TYPE_ACL_MODEL, text);
    if (is_given) {
        apply_dumps(machine_, configuration);
        notify_init(ACL_REG_TYPE_ACL_OP_EXECUTOR, text);
        check_operator_cache(configuration);
        apply_stack_sizes(machine_, configuration);
        apply_default_device(machine_, configuration);
        apply_print_buffers(machine_, configuration);
        check_event_mode(configuration);
        check_profiler(configuration);
    }
    notify_init(ACL_REG_TYPE_ACL_DVPP, text);
    notify_init(ACL_REG_TYPE_OTHER, text);
}

void Initialization::finalize() {
    const Guard guard(mutex_);
    if (is_finalized_) {
        fail_unremembered(ACL_ERROR_REPEAT_FINALIZE, "already finalised");
    }
    tear_down();
}

void Initialization::drop_reference(std::uint64_t *left) {
    const Guard guard(mutex_);
    const bool is_repeat = references_ == 0;
    aclError failed = ACL_SUCCESS;
    if (references_ > 1) {
        --references_;
    } else if (references_ == 1) {
        try {
            tear_down();
        } catch (const Failure &failure) {  // the reference remains, and the count is returned
            failed = failure.code;
        }
    }
    if (left != nullptr) {
        *left = references_;
    }
    if (is_repeat) {
        fail_unremembered(ACL_ERROR_REPEAT_FINALIZE, "there is no aclInit left to undo");
    }
    if (failed != ACL_SUCCESS) {
        fail_unremembered(failed, "a finalize callback failed");
    }
}

// A failing callback skips the remaining ones and keeps the runtime initialised.
void Initialization::tear_down() {
    const Change change(*this);
    notify_finalize(ACL_REG_TYPE_ACL_OP_COMPILER);
    notify_finalize(ACL_REG_TYPE_ACL_MODEL);
    end_dumps();
    notify_finalize(ACL_REG_TYPE_ACL_DVPP);
    end_default_device();
    notify_finalize(ACL_REG_TYPE_OTHER);
    is_finalized_ = true;
    references_ = 0;
}

void Initialization::notify_init(aclRegisterCallbackType type, const std::string &text) {
    for (const auto &entry : init_callbacks_.of(type)) {
        require_success(type, [&] { return entry.function(text.c_str(), text.size(), entry.argument); });
    }
}

void Initialization::notify_finalize(aclRegisterCallbackType type) {
    for (const auto &entry : finalize_callbacks_.of(type)) {
        require_success(type, [&] { return entry.function(entry.argument); });
    }
}

void Initialization::add_callback(aclRegisterCallbackType type, aclInitCallbackFunc function, void *argument) {
    const Guard guard(mutex_);
    add_to(init_callbacks_, type, function, argument);
    if (references_ > 0) {
        call_or_fail("the callback",
                     [&] { function(text_.c_str(), text_.size(), argument); });  // the callback's result is ignored
    }
}

void Initialization::add_callback(aclRegisterCallbackType type, aclFinalizeCallbackFunc function, void *argument) {
    const Guard guard(mutex_);
    add_to(finalize_callbacks_, type, function, argument);
}

void Initialization::remove_callback(aclRegisterCallbackType type, aclInitCallbackFunc function) {
    const Guard guard(mutex_);
    remove_from(init_callbacks_, type, function);
}

void Initialization::remove_callback(aclRegisterCallbackType type, aclFinalizeCallbackFunc function) {
    const Guard guard(mutex_);
    remove_from(finalize_callbacks_, type, function);
}

}  // namespace aclsim
