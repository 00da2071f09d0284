// Pages that have no address of their own: a file in memory, which can be mapped at several addresses and by several
// processes. Pages cost nothing until they are touched.
#pragma once

#include <cstdint>
#include <memory>

namespace aclsim {

// A file as every process sees it. Numbers of processes and descriptors are used again, and are others in another
// container.
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
    // Opens a file of another process, by its number there. nullptr, with the reason in errno: it may not be
    // opened, or the number is none or another file's.
    static std::shared_ptr<PageFile> open(int process, int descriptor, const FileIdentity &identity);
    ~PageFile();
    PageFile(const PageFile &) = delete;
    PageFile &operator=(const PageFile &) = delete;

    int descriptor() const { return file_; }
    FileIdentity identity() const;
    // Makes the addresses show the pages from that offset. Fails with ACL_ERROR_RT_MEMORY_ALLOCATION.
    void map(void *address, std::uint64_t offset, std::uint64_t size) const;
    // Gives pages back to the host; they are zero again.
    void discard(std::uint64_t offset, std::uint64_t size) const;

  private:
    explicit PageFile(int file) : file_(file) {}
    const int file_;
};

}  // namespace aclsim
