// SPDX-License-Identifier: Apache-2.0
// Launches of kernels (graphs_kernels.md section A5).
#include "tasks/kernel_launch.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "api/kernel.h"
#include "api/shard_entry.h"
#include "tasks/declared_accesses.h"
#include "tasks/task_group.h"

using namespace aclsim;

namespace {

using Attributes = std::vector<aclrtLaunchKernelAttr>;

constexpr std::size_t kPointer = 8;
// Limit above any metadata that a compiler writes.
constexpr std::size_t kLargestBlock = 1U << 20;

// Entry point that launches the function returned by find(), which may be nullptr.
template <class Find, class Body>
aclError launch_entry(Function name, aclrtStream stream, Find find, Body body) {
    const auto stays = [&](Simulator &sim) REQUIRES(engine_lock) {
        const ContextStream *const on = stream_in_shard(stream);
        const KernelFunction *const function = on == nullptr ? nullptr : find(sim);
        return function != nullptr && can_launch_in_shard(sim.kernels, *function, device_of(*on));
    };
    const DeclarationScope scope;
    return shard_entry(name, stream, stays, body);
}

auto by_handle(aclrtFuncHandle handle) {
    return [handle](Simulator &sim) REQUIRES(engine_lock) { return sim.core.registry().find<KernelFunction>(handle); };
}
auto by_handle_or_symbol(const void *function) {
    return [function](Simulator &sim) REQUIRES(engine_lock) { return find_function_or_symbol(sim, function); };
}

// Checks of the runtime layer before it reads the configuration.
void require_launchable(Simulator &sim, aclrtStream stream, std::uint32_t blocks) REQUIRES(engine_lock) {
    if (stream != nullptr) {
        require_handle<ContextStream>(sim, stream, "stream");
    }
    if (blocks == 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "a launch has at least one block");
    }
}

void require_arguments(std::size_t size) {
    if (size == 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "argsSize is 0; also a kernel without parameters needs a byte");
    }
}

void require_engine(const KernelFunction &function, const aclrtLaunchKernelCfg *cfg, const Attributes &attributes) {
    const auto has = [&](aclrtLaunchKernelAttrId id) {
        return std::any_of(attributes.begin(), attributes.end(), [id](const auto &it) { return it.id == id; });
    };
    const bool is_needed = cfg != nullptr && function.description.type == ACL_KERNEL_TYPE_MIX &&
                           config().product->has(kMixLaunchesNameEngine);
    if (is_needed && !(has(ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE) && has(ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET))) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "a kernel for both kinds of cores needs ENGINE_TYPE and BLOCKDIM_OFFSET here");
    }
}

struct Shape {
    std::uint32_t blocks;
    dim3 grid;
    dim3 threads;
};

// Returns the shape of a launch without SIMT.
Shape plain(std::uint32_t blocks) {
    const std::uint32_t kept = kept_blocks(blocks);
    return {kept, {kept, 1, 1}, {1, 1, 1}};
}

void submit(Simulator &sim, Lock &lock, KernelFunction &function, const Shape &shape, aclrtStream stream,
            KernelArguments arguments, Attributes attributes) REQUIRES(engine_lock) {
    const Device &device = device_of(require_own_stream(sim, stream));
    const auto launch = make_ref_in<KernelLaunch>(*device.shard, function, shape.blocks, std::move(arguments),
                                                  std::move(attributes), execution_limit_us(sim));
    launch->grid = shape.grid;
    launch->threads = shape.threads;
    load_for_launch(lock, function, device);
    ContextStream &on = require_own_stream(sim, stream);
    if (GroupUpdate *const update = update_of(user_stream(on))) {
        update->require_replacement(function);
    }
    launch_kernel(sim.kernels, lock, on, launch);
}

aclError launch_in_memory(Function name, aclrtFuncHandle funcHandle, std::uint32_t blocks, const void *argsData,
                          std::size_t argsSize, const aclrtLaunchKernelCfg *cfg, aclrtStream stream) {
    return launch_entry(name, stream, by_handle(funcHandle), [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(funcHandle, "funcHandle");
        require(argsData, "argsData");
        KernelFunction &function = require_function(sim, funcHandle);
        require_launchable(sim, stream, blocks);
        require_arguments(argsSize);
        Attributes attributes = read_launch_config(cfg);
        require_engine(function, cfg, attributes);
        submit(sim, lock, function, plain(blocks), stream,
               KernelArguments::in_memory(const_cast<void *>(argsData), argsSize), std::move(attributes));
    });
}

// --- arguments in memory of the host ---------------------------------------------------------------------------------

std::vector<PlaceHolder> read_place_holders(const aclrtPlaceHolderInfo *array, std::size_t count, std::size_t size) {
    if (count == 0) {
        return {};
    }
    if (array == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "placeHolderArray is NULL, and placeHolderNum %zu", count);
    }
    const auto is_wrong = [size](const PlaceHolder &it) {
        return size < kPointer || it.addrOffset > size - kPointer || it.dataOffset >= size;
    };
    const auto wrong = std::find_if(array, array + count, is_wrong);
    if (wrong != array + count) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "placeholder %td, at %u with data at %u, is not inside %zu bytes of arguments",
             wrong - array, wrong->addrOffset, wrong->dataOffset, size);
    }
    return {array, array + count};
}

struct HostArguments {
    const void *data;
    std::size_t size;
    const aclrtPlaceHolderInfo *place_holders;
    std::size_t place_holder_count;
};

void launch_host_arguments(Simulator &sim, Lock &lock, KernelFunction &function, const Shape &shape, aclrtStream stream,
                           const aclrtLaunchKernelCfg *cfg, const HostArguments &arguments) REQUIRES(engine_lock) {
    require_arguments(arguments.size);
    const auto place_holders =
        read_place_holders(arguments.place_holders, arguments.place_holder_count, arguments.size);
    Attributes attributes = read_launch_config(cfg);
    require_engine(function, cfg, attributes);
    const Device &device = device_of(require_own_stream(sim, stream));
    const Ref<KernelFunction> keep(function);  // keeps the function alive while arguments are copied
    KernelArguments copy = KernelArguments::copied(lock, device, arguments.data, arguments.size, place_holders);
    submit(sim, lock, function, shape, stream, std::move(copy), std::move(attributes));
}

// --- arguments by parameter ------------------------------------------------------------------------------------------

// Packs the block of arguments that the metadata describes.
std::vector<unsigned char> pack(const KernelFunction &function, void *const *args) {
    if (function.is_cpu()) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "kernel %s is for AI CPUs: it takes a block of arguments",
                          function.description.name.c_str());
    }
    const auto &parameters = function.description.parameters;
    if (!parameters) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the binary of kernel %s does not describe its parameters",
             function.description.name.c_str());
    }
    std::vector<unsigned char> block;
    for (std::size_t i = 0; i < parameters->size(); ++i) {
        const KernelParameter &parameter = (*parameters)[i];
        const std::size_t end = std::size_t{parameter.offset} + parameter.size;
        if (args == nullptr || args[i] == nullptr || end > kLargestBlock) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "parameter %zu of kernel %s, of %u bytes, is NULL or too large", i,
                 function.description.name.c_str(), parameter.size);
        }
        block.resize(std::max(block.size(), end));
        std::memcpy(block.data() + parameter.offset, args[i], parameter.size);
    }
    return block;
}

void launch_parameters(Simulator &sim, Lock &lock, KernelFunction &function, const Shape &shape, aclrtStream stream,
                       const aclrtLaunchKernelCfg *cfg, void *const *args) REQUIRES(engine_lock) {
    const std::vector<unsigned char> block = pack(function, args);
    Attributes attributes = read_launch_config(cfg);
    require_engine(function, cfg, attributes);
    const Device &device = device_of(require_own_stream(sim, stream));
    const Ref<KernelFunction> keep(function);
    KernelArguments copy = KernelArguments::copied(lock, device, block.data(), block.size(), {});
    submit(sim, lock, function, shape, stream, std::move(copy), std::move(attributes));
}

// --- SIMT ------------------------------------------------------------------------------------------------------------

Shape require_simt(const KernelFunction &function, const dim3 &grid, const dim3 &threads) {
    const std::uint64_t rows = std::uint64_t{grid.y} * grid.z;
    if (grid.x == 0 || rows == 0 || threads.x == 0 || threads.y == 0 || threads.z == 0 || rows > UINT32_MAX ||
        grid.x * rows > UINT32_MAX) {
        fail(ACL_ERROR_RT_PARAM_INVALID,
             "a grid of %u x %u x %u and blocks of %u x %u x %u threads: each must be at least 1, and the grid's "
             "product "
             "fit 32 bits",
             grid.x, grid.y, grid.z, threads.x, threads.y, threads.z);
    }
    if (function.is_cpu() || !config().product->has(kHasSimt)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "kernel %s is not a SIMT kernel", function.description.name.c_str());
    }
    return {static_cast<std::uint32_t>(grid.x * rows), grid, threads};
}

}  // namespace

aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData, size_t argsSize,
                           aclrtStream stream) {
    return launch_in_memory(Function::aclrtLaunchKernel, funcHandle, numBlocks, argsData, argsSize, nullptr, stream);
}

aclError aclrtLaunchKernelV2(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData, size_t argsSize,
                             aclrtLaunchKernelCfg *cfg, aclrtStream stream) {
    return launch_in_memory(Function::aclrtLaunchKernelV2, funcHandle, numBlocks, argsData, argsSize, cfg, stream);
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
                                     aclrtLaunchKernelCfg *cfg, aclrtArgsHandle argsHandle, void *reserve) {
    return launch_entry(Function::aclrtLaunchKernelWithConfig, stream, by_handle(funcHandle),
                        [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
                            require(funcHandle, "funcHandle");
                            require(argsHandle, "argsHandle");
                            if (numBlocks == 0 || reserve != nullptr) {
                                fail_unremembered(ACL_ERROR_INVALID_PARAM, "numBlocks is 0, or reserve not NULL");
                            }
                            KernelFunction &function = require_function(sim, funcHandle);
                            const Ref<ArgumentList> list(require_list(sim, argsHandle));
                            require_launchable(sim, stream, numBlocks);
                            list->require_final();
                            Attributes attributes = read_launch_config(cfg);
                            require_engine(function, cfg, attributes);
                            const Device &device = device_of(require_own_stream(sim, stream));
                            KernelArguments copy = KernelArguments::of_list(device, *list);
                            submit(sim, lock, function, plain(numBlocks), stream, std::move(copy),
                                   std::move(attributes));
                        });
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
                                       aclrtLaunchKernelCfg *cfg, void *hostArgs, size_t argsSize,
                                       aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum) {
    return launch_entry(Function::aclrtLaunchKernelWithHostArgs, stream, by_handle(funcHandle),
                        [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
                            require(funcHandle, "funcHandle");
                            require(hostArgs, "hostArgs");
                            KernelFunction &function = require_function(sim, funcHandle);
                            require_launchable(sim, stream, numBlocks);
                            launch_host_arguments(sim, lock, function, plain(numBlocks), stream, cfg,
                                                  {hostArgs, argsSize, placeHolderArray, placeHolderNum});
                        });
}

aclError aclrtLaunchKernelWithArgsArray(void *func, uint32_t numBlocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg,
                                        void **args) {
    return launch_entry(Function::aclrtLaunchKernelWithArgsArray, stream, by_handle_or_symbol(func),
                        [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
                            require(func, "func");
                            if (numBlocks == 0) {
                                fail_unremembered(ACL_ERROR_INVALID_PARAM, "numBlocks is 0");
                            }
                            KernelFunction &function = require_function_or_symbol(sim, func);
                            require_launchable(sim, stream, numBlocks);
                            launch_parameters(sim, lock, function, plain(numBlocks), stream, cfg, args);
                        });
}

aclError aclrtLaunchSIMTKernelWithArgsArray(void *func, dim3 gridDim, dim3 blockDim, size_t, aclrtStream stream,
                                            aclrtLaunchKernelCfg *cfg, void **args) {
    return launch_entry(Function::aclrtLaunchSIMTKernelWithArgsArray, stream, by_handle_or_symbol(func),
                        [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
                            require(func, "func");
                            KernelFunction &function = require_function_or_symbol(sim, func);
                            const Shape shape = require_simt(function, gridDim, blockDim);
                            require_launchable(sim, stream, shape.blocks);
                            launch_parameters(sim, lock, function, shape, stream, cfg, args);
                        });
}

aclError aclrtLaunchSIMTKernelWithHostArgs(void *func, dim3 gridDim, dim3 blockDim, size_t, aclrtStream stream,
                                           aclrtLaunchKernelCfg *cfg, void *hostArgs, size_t argsSize,
                                           aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum) {
    return launch_entry(Function::aclrtLaunchSIMTKernelWithHostArgs, stream, by_handle_or_symbol(func),
                        [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
                            require(func, "func");
                            require(hostArgs, "hostArgs");
                            if (argsSize == 0) {
                                fail_unremembered(ACL_ERROR_INVALID_PARAM, "argsSize is 0");
                            }
                            KernelFunction &function = require_function_or_symbol(sim, func);
                            const Shape shape = require_simt(function, gridDim, blockDim);
                            require_launchable(sim, stream, shape.blocks);
                            launch_host_arguments(sim, lock, function, shape, stream, cfg,
                                                  {hostArgs, argsSize, placeHolderArray, placeHolderNum});
                        });
}
