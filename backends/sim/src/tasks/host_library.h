// SPDX-License-Identifier: Apache-2.0
// Shared object of the host in place of a kernel binary: its exported functions are kernels (abi/aclsim_kernel.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace aclsim {

// Opening and closing run constructors and destructors of the library. Call without holding the engine lock.
class HostLibrary {
  public:
    // Opens the library in these bytes, which must contain all of its segments. Throws ElfError if the dynamic loader
    // would crash on them; fails with ACL_ERROR_RT_PARAM_INVALID and the loader's message if it rejects them.
    HostLibrary(const unsigned char *data, std::size_t size);
    ~HostLibrary();
    HostLibrary(const HostLibrary &) = delete;
    HostLibrary &operator=(const HostLibrary &) = delete;
    // Returns nullptr if there is no such symbol.
    void *find(const std::string &symbol) const;

  private:
    // Open as long as the library, because the loader identifies libraries by their paths, which refer to it.
    int file_ = -1;
    void *library_ = nullptr;
};

}  // namespace aclsim
