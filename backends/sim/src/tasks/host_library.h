// A shared object of this machine in the place of a kernel binary: its exported functions are kernels
// (abi/aclsim_kernel.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace aclsim {

// Opening and closing run the library's own constructors and destructors: without the engine's lock.
class HostLibrary {
  public:
    // The library that these bytes are, whose segments are in the file. Throws ElfError for one that the dynamic loader
    // would stumble over, and fails with ACL_ERROR_RT_PARAM_INVALID and the loader's text for one that it refuses.
    HostLibrary(const unsigned char *data, std::size_t size);
    ~HostLibrary();
    HostLibrary(const HostLibrary &) = delete;
    HostLibrary &operator=(const HostLibrary &) = delete;
    // nullptr: there is no such symbol.
    void *find(const std::string &symbol) const;

  private:
    int file_ = -1;  // open as long as the library: the loader knows libraries by their paths, which name it
    void *library_ = nullptr;
};

}  // namespace aclsim
