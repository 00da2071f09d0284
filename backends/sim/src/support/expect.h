// SPDX-License-Identifier: Apache-2.0
// Branch hints for the compiler, which moves the unlikely code out of the way.
#pragma once

namespace aclsim {

inline bool likely(bool condition) { return __builtin_expect(condition, true); }
inline bool unlikely(bool condition) { return __builtin_expect(condition, false); }

}  // namespace aclsim
