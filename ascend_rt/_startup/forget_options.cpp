// SPDX-License-Identifier: Apache-2.0
// See allocator_options.py.
#include <string>
#include <unordered_set>

using Names = std::unordered_set<std::string>;

extern "C" void ascend_rt_forget_options(Names *registered, const Names *of_cuda) {
    for (const std::string &name : *of_cuda) {
        registered->erase(name);
    }
}
