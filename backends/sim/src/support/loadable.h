// SPDX-License-Identifier: Apache-2.0
// Checks of the dynamic loader's assumptions about a shared object. The loader itself checks next to nothing, so a
// damaged file ends the process or overwrites unrelated memory.
#pragma once

namespace aclsim {

// Throws ElfError unless everything that the loader reads, writes or calls is in its proper place. The bytes must be an
// ELF file for this host whose segments are in the file. Code that runs while the object is loaded may still do
// anything.
void require_loadable(const unsigned char *data);

}  // namespace aclsim
