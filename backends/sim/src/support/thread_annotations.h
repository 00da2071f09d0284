// SPDX-License-Identifier: Apache-2.0
// Annotations for Clang's thread-safety analysis: capabilities that guard data, and those that a function needs,
// acquires and releases. Other compilers ignore them.
#pragma once

#if defined(__clang__)
#define ACLSIM_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define ACLSIM_ATTRIBUTE(...)
#endif

#define CAPABILITY(name) ACLSIM_ATTRIBUTE(capability(name))
#define SCOPED_CAPABILITY ACLSIM_ATTRIBUTE(scoped_lockable)
#define GUARDED_BY(...) ACLSIM_ATTRIBUTE(guarded_by(__VA_ARGS__))
#define REQUIRES(...) ACLSIM_ATTRIBUTE(requires_capability(__VA_ARGS__))  // lock held at the call and after it
#define EXCLUDES(...) ACLSIM_ATTRIBUTE(locks_excluded(__VA_ARGS__))       // lock not held at the call
#define ACQUIRE(...) ACLSIM_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RELEASE(...) ACLSIM_ATTRIBUTE(release_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS ACLSIM_ATTRIBUTE(no_thread_safety_analysis)
