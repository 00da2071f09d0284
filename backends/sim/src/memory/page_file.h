// Pages that have no address of their own: a file in memory, which can be mapped at several addresses and by several
// processes. Pages cost nothing until they are touched.
#pragma once

#include <cstdint>
#include <memory>

namespace aclsim {

class PageFile {
  public:
    // Fails with ACL_ERROR_RT_MEMORY_ALLOCATION.
    static std::shared_ptr<PageFile> create(std::uint64_t size);
    // A file of another process, by the number it has there; nullptr: there is none, or it may not be opened.
    static std::shared_ptr<PageFile> open(int process, int descriptor);
    ~PageFile();
    PageFile(const PageFile &) = delete;
    PageFile &operator=(const PageFile &) = delete;

    int descriptor() const { return file_; }
    // Makes the addresses show the pages from that offset. Fails with ACL_ERROR_RT_MEMORY_ALLOCATION.
    void map(void *address, std::uint64_t offset, std::uint64_t size) const;
    // Gives pages back to the host; they are zero again.
    void discard(std::uint64_t offset, std::uint64_t size) const;

  private:
    explicit PageFile(int file) : file_(file) {}
    const int file_;
};

// Addresses without pages behind them, readable and writable. nullptr: the host has none left, or something else is at
// the wished address.
void *reserve_addresses(std::uint64_t size, void *wish = nullptr);
// The host may put large pages there, even if little of each is used: copies are faster by a tenth.
void prefer_large_pages(void *address, std::uint64_t size);
// The pages go back to the host, the content is zero.
void discard_pages(void *address, std::uint64_t size);
// What the addresses showed is gone; they are as after reserve_addresses().
void clear_addresses(void *address, std::uint64_t size);
void give_addresses_back(void *address, std::uint64_t size);
// Is there anything behind all of the addresses?
bool has_pages(const void *address, std::uint64_t size);
// Populates the pages, if the host can do that without writing to them.
void populate_pages(const void *address, std::uint64_t size);

}  // namespace aclsim
