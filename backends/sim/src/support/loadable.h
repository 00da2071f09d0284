// Checks of everything that the dynamic loader takes for granted of a shared object. It compares next to nothing with
// the file, so one that was damaged ends the process, or overwrites what is not its own.
#pragma once

namespace aclsim {

// Throws ElfError unless all that the loader will read, write or call is where it should be. The bytes are an ELF file
// for this host whose segments are in the file. Code that runs while the object is loaded may still do anything.
void require_loadable(const unsigned char *data);

}  // namespace aclsim
