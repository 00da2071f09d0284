// SPDX-License-Identifier: Apache-2.0
// Arrays of which most elements are never touched.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

#include "support/error.h"
#include "support/pages.h"

namespace aclsim {

// All elements are initially zero. Addresses are reserved for all elements, pages only for those written.
template <class Element>
class SparseArray {
    static_assert(std::is_trivially_copyable_v<Element>, "bytes of zero make one");

  public:
    explicit SparseArray(std::size_t size) : elements_(reserve(size), GiveBack{size * sizeof(Element)}) {}
    Element &operator[](std::size_t index) { return elements_.get()[index]; }
    const Element &operator[](std::size_t index) const { return elements_.get()[index]; }
    void clear() { clear_addresses(elements_.get(), elements_.get_deleter().bytes); }
    std::size_t size() const { return elements_.get_deleter().bytes / sizeof(Element); }

  private:
    struct GiveBack {
        std::size_t bytes;
        void operator()(Element *elements) const { give_addresses_back(elements, bytes); }
    };

    static Element *reserve(std::size_t size) {
        void *addresses = reserve_addresses(size * sizeof(Element));
        if (addresses == nullptr) {
            fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "cannot reserve %zu bytes of address space: %s",
                 size * sizeof(Element), std::strerror(errno));
        }
        return static_cast<Element *>(addresses);
    }

    std::unique_ptr<Element, GiveBack> elements_;
};

}  // namespace aclsim
