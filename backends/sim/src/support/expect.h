// What nearly every call finds, for the compiler: it puts the rest out of the way.
#pragma once

namespace aclsim {

inline bool likely(bool condition) { return __builtin_expect(condition, true); }
inline bool unlikely(bool condition) { return __builtin_expect(condition, false); }

}  // namespace aclsim
