// SPDX-License-Identifier: Apache-2.0
// Entry points of the library: arguments, failures, and communicators by their handles.
#pragma once

#include <memory>
#include <string>
#include <system_error>

#include "hccl/communicator.h"
#include "hccl/descriptors.h"
#include "hccl/hccl.h"
#include "refusal.h"

namespace hccl {

using companions::refuse;

constexpr const char *kForked =
    "the process was forked after HCCL had been used; start child processes before, or with exec";

// The library throws it where it begins a thread.
inline std::string text_of(const std::system_error &error) {
    return std::string("the host has no thread left: ") + error.what();
}

template <class Body>
HcclResult checked(const char *function, Body body) {
    return static_cast<HcclResult>(companions::checked(function, [&] {
        if (is_forked_child()) {
            refuse(HCCL_E_RUNTIME, kForked);
        }
        try {
            body();
        } catch (const std::system_error &error) {
            refuse(HCCL_E_SYSCALL, text_of(error));
        }
    }));
}

inline void require(const void *argument, const char *name) {
    if (argument == nullptr) {
        refuse(HCCL_E_PTR, std::string(name) + " is NULL");
    }
}

// Communicators of the process. Refuse a handle that is NULL with HCCL_E_PTR, any other that is none with HCCL_E_PARA.
HcclComm add(std::shared_ptr<Communicator> communicator);
std::shared_ptr<Communicator> find(HcclComm handle);
std::shared_ptr<Communicator> remove(HcclComm handle);

}  // namespace hccl
