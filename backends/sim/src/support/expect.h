// What nearly every call finds, for the compiler: it puts the rest out of the way.
#pragma once

namespace aclsim {

inline bool mostly(bool condition) { return __builtin_expect(condition, true); }
inline bool rarely(bool condition) { return __builtin_expect(condition, false); }

}  // namespace aclsim
