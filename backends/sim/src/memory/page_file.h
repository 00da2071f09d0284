// SPDX-License-Identifier: Apache-2.0
// Pages without an address: a file in memory that can be mapped at several addresses and by several processes. Pages
// cost nothing until they are touched.
#pragma once

#include <cstdint>
#include <memory>

namespace aclsim {

// Identity of a file across processes. Process IDs and descriptors are reused, and differ between containers.
struct FileIdentity {
    std::uint64_t device;
    std::uint64_t number;
    std::uint64_t size;
    bool operator==(const FileIdentity &other) const {
        return device == other.device && number == other.number && size == other.size;
    }
};

class PageFile {
  public:
    // Fails with ACL_ERROR_RT_MEMORY_ALLOCATION.
    static std::shared_ptr<PageFile> create(std::uint64_t size);
    // Opens a file of another process by its descriptor number there. Returns nullptr with the reason in errno if the
    // file cannot be opened, or if the number is invalid or names another file.
    static std::shared_ptr<PageFile> open(int process, int descriptor, const FileIdentity &identity);
    ~PageFile();
    PageFile(const PageFile &) = delete;
    PageFile &operator=(const PageFile &) = delete;

    int descriptor() const { return file_; }
    FileIdentity identity() const;
    // Maps the pages from the offset on at the address. Fails with ACL_ERROR_RT_MEMORY_ALLOCATION.
    void map(void *address, std::uint64_t offset, std::uint64_t size) const;
    // Returns pages to the host; they read as zero again.
    void discard(std::uint64_t offset, std::uint64_t size) const;

  private:
    explicit PageFile(int file);
    bool is_ours() const;

    const int file_;
    std::uint64_t device_ = 0;  // identity of the file: its device, and its number there
    std::uint64_t number_ = 0;
};

}  // namespace aclsim
