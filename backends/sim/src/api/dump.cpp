// SPDX-License-Identifier: Apache-2.0
// Dumps (dumps.md): their switches, callbacks and directories, and tensors that the program saves itself.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "api/entry.h"
#include "machine/initialization.h"
#include "memory/memory.h"
#include "observe/exception_dump.h"
#include "observe/operator_records.h"
#include "support/file.h"
#include "support/json.h"
#include "support/text.h"

using namespace aclsim;

namespace {

// Runs the body of a function of the initialised runtime, without the engine lock: it reads files.
template <class Body>
aclError initialized_entry(Function function, Body body) {
    return checked_entry(function, [&] {
        Simulator &sim = Simulator::get();
        sim.initialization.while_initialized([&] { body(sim); });
    });
}

void require_dump(const Dumps &dumps) REQUIRES(engine_lock) {
    if (!dumps.was_initialized) {
        fail_unremembered(ACL_ERROR_DUMP_NOT_RUN, "call aclmdlInitDump first");
    }
}

void require_exceptions(const Dumps &dumps) REQUIRES(engine_lock) {
    if (!dumps.dumps_exceptions()) {
        fail_unremembered(ACL_ERROR_FAILURE,
                          "exceptions are not dumped; set \"dump_scene\" in the configuration of aclInit or "
                          "aclmdlSetDump");
    }
}

Json parse_dump_configuration(const std::string &text) {
    if (text.empty()) {
        return {};
    }
    try {
        return parse_json(text, kDeepestNesting);
    } catch (const JsonError &error) {
        fail_unremembered(ACL_ERROR_INVALID_DUMP_CONFIG, "the dump configuration is not JSON: %s",
                          error.text().c_str());
    }
}

// Returns the directory of the dumps of the current device's kernels, and creates it.
std::string device_directory(Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
    require_exceptions(sim.machine.dumps);
    const Context *const context = current_context(sim);
    if (context == nullptr) {
        fail_unremembered(ACL_ERROR_FAILURE, "the thread has no device, whose directory is asked for");
    }
    const std::string directory =
        sim.machine.dumps.exception_directory() + "/" + std::to_string(context->device.user_id);
    const Unlocked unlocked(lock);
    make_directories(directory, ACL_ERROR_FAILURE);
    return directory;
}

bool has_parent_part(const std::string &path) { return ("/" + path + "/").find("/../") != std::string::npos; }

template <class Number>
std::string list_of(const Number *numbers, std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) {
        text += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
    }
    return text + "]";
}

DumpFile::Piece piece_of(const acldumpTensorInfo &tensor, std::size_t index) {
    if (tensor.tensorAddr == nullptr || tensor.tensorSize == 0 || tensor.shapeNum > ACL_DUMP_MAX_SHAPE_NUM ||
        tensor.originShapeNum > ACL_DUMP_MAX_SHAPE_NUM || tensor.addrType != ACL_DUMP_ADDR_RAW ||
        tensor.placement != ACL_DUMP_PLACEMENT_DEVICE) {
        fail_unremembered(
            ACL_ERROR_INVALID_PARAM,
            "tensor %zu has no address or size, more than %d dimensions, or is not raw memory of a device", index,
            ACL_DUMP_MAX_SHAPE_NUM);
    }
    constexpr const char *kKinds[] = {"input", "output", "workspace"};
    const auto kind = static_cast<std::size_t>(tensor.type);
    return {tensor.tensorAddr, tensor.tensorSize, kind < std::size(kKinds) ? kKinds[kind] : "unknown",
            ",\"data_type\":" + std::to_string(tensor.dataType) + ",\"format\":" + std::to_string(tensor.format) +
                ",\"shape\":" + list_of(tensor.shape, tensor.shapeNum) +
                ",\"origin_shape\":" + list_of(tensor.originShape, tensor.originShapeNum)};
}

void require_writable_directory(const std::string &path) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) {
        make_directories(path, ACL_ERROR_FAILURE);
    } else if (!S_ISDIR(status.st_mode)) {
        fail_unremembered(ACL_ERROR_FAILURE, "%s is not a directory", path.c_str());
    }
    if (access(path.c_str(), R_OK | W_OK) != 0) {
        fail_unremembered(ACL_ERROR_FAILURE, "%s cannot be read and written", path.c_str());
    }
}

}  // namespace

aclError aclmdlInitDump() {
    return initialized_entry(Function::aclmdlInitDump, [](Simulator &sim) {
        const Lock lock = sim.core.acquire();
        Dumps &dumps = sim.machine.dumps;
        if (dumps.was_initialized) {
            fail_unremembered(ACL_ERROR_REPEAT_INITIALIZE, "aclmdlInitDump was called already");
        }
        if (dumps.has_configuration) {
            fail_unremembered(ACL_ERROR_INTERNAL_ERROR, "the configuration of aclInit dumps operators or overflows");
        }
        dumps.was_initialized = true;
    });
}

aclError aclmdlSetDump(const char *dumpCfgPath) {
    return initialized_entry(Function::aclmdlSetDump, [&](Simulator &sim) {
        {
            const Lock lock = sim.core.acquire();
            require_dump(sim.machine.dumps);
        }
        require(dumpCfgPath, "dumpCfgPath");
        const DumpConfig config = read_dump_config(parse_dump_configuration(read_configuration(dumpCfgPath)));
        const Lock lock = sim.core.acquire();
        sim.machine.dumps.apply(config);
    });
}

aclError aclmdlFinalizeDump() {
    return initialized_entry(Function::aclmdlFinalizeDump, [](Simulator &sim) {
        const Lock lock = sim.core.acquire();
        require_dump(sim.machine.dumps);
        sim.machine.dumps.turn_off();
        sim.machine.dumps.was_initialized = false;
    });
}

aclError acldumpRegCallback(int32_t (*const messageCallback)(const acldumpChunk *, int32_t), int32_t flag) {
    return checked_entry(Function::acldumpRegCallback, [&] {
        if (messageCallback == nullptr || flag != 0) {
            fail_unremembered(ACL_ERROR_FAILURE, "messageCallback is NULL, or flag is not 0");
        }
        Simulator::get().machine.dumps.set_callback(messageCallback);
    });
}

void acldumpUnregCallback() {
    checked_entry(Function::acldumpUnregCallback, [] { Simulator::get().machine.dumps.set_callback(nullptr); });
}

const char *acldumpGetPath(acldumpType dumpType) {
    const char *path = nullptr;
    entry(Function::acldumpGetPath, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        Dumps &dumps = sim.machine.dumps;
        if (dumpType == DATA_DUMP || dumpType == OVERFLOW_DUMP) {
            path = dumps.data_directory().empty() ? nullptr : dumps.keep(dumps.data_directory());
        } else if (dumpType >= AIC_ERR_BRIEF_DUMP && dumpType <= AIC_ERR_DETAIL_DUMP) {
            const std::string directory = dumps.exception_directory();
            {
                const Unlocked unlocked(lock);
                make_directories(directory, ACL_ERROR_FAILURE);
            }
            path = dumps.keep(directory);
        }
    });
    return path;
}

aclError acldumpGetExceptionInfoPath(char *path, size_t maxLen) {
    return entry(Function::acldumpGetExceptionInfoPath, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(path, "path");
        if (maxLen <= 1) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "maxLen is %zu, and must be greater than 1", maxLen);
        }
        const std::string directory = device_directory(sim, lock);
        if (directory.size() >= maxLen) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "the path needs %zu bytes, and there are %zu",
                              directory.size() + 1, maxLen);
        }
        std::memcpy(path, directory.c_str(), directory.size() + 1);
    });
}

aclError acldumpSaveExceptionInfo(const char *fileName, const char *userTag, const acldumpTensorInfo *tensors,
                                  size_t tensorCount) {
    return entry(Function::acldumpSaveExceptionInfo, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(fileName, "fileName");
        if (*fileName == '\0' || has_parent_part(fileName)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "fileName \"%s\" is empty or has a part \"..\"", fileName);
        }
        require(tensors, "tensors");
        if (tensorCount == 0) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "tensorCount is 0");
        }
        require_exceptions(sim.machine.dumps);
        std::vector<DumpFile::Piece> pieces;
        for (std::size_t i = 0; i < tensorCount; ++i) {
            pieces.push_back(piece_of(tensors[i], i));
            if (!sim.memory.is_on_device(tensors[i].tensorAddr)) {
                fail_unremembered(ACL_ERROR_FAILURE, "tensor %zu is not in memory of a device", i);
            }
        }
        const std::string directory = device_directory(sim, lock);
        const std::string stem = directory + "/" + fileName + ".custom";
        const DumpFile file(sim.machine.dumps, stem,
                            "\"version\":1,\"user_tag\":" + quoted(userTag == nullptr ? "" : userTag), pieces);
        const Unlocked unlocked(lock);
        make_directories(stem.substr(0, stem.rfind('/')), ACL_ERROR_FAILURE);
        if (const std::string error = file.write(); !error.empty()) {
            fail_unremembered(ACL_ERROR_FAILURE, "%s", error.c_str());
        }
    });
}

aclError aclopStartDumpArgs(uint32_t dumpType, const char *path) {
    return entry(Function::aclopStartDumpArgs, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (path == nullptr || *path == '\0' || (dumpType & ACL_OP_DUMP_OP_AICORE_ARGS) == 0) {
            fail_unremembered(ACL_ERROR_FAILURE, "path is NULL or empty, or dumpType is not %d",
                              ACL_OP_DUMP_OP_AICORE_ARGS);
        }
        require_supported();
        const auto require_off = [&]() REQUIRES(engine_lock) {
            if (sim.operator_records.is_on()) {
                fail_unremembered(ACL_ERROR_FAILURE, "aclopStartDumpArgs was called already");
            }
        };
        require_off();
        const std::string directory = absolute_path(path);
        {
            const Unlocked unlocked(lock);
            require_writable_directory(directory);
        }
        require_off();  // recheck: another thread may have started it
        sim.operator_records.start(directory);
    });
}

aclError aclopStopDumpArgs(uint32_t dumpType) {
    return entry(Function::aclopStopDumpArgs, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if ((dumpType & ACL_OP_DUMP_OP_AICORE_ARGS) != 0 && sim.operator_records.is_on()) {
            sim.operator_records.stop(lock);
        }
    });
}
