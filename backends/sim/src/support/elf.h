// SPDX-License-Identifier: Apache-2.0
// Reader for sections and symbols of 64-bit ELF files. It trusts nothing in a file: every offset, size and name is
// checked against the bytes that are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace aclsim {

// Problem of a file.
struct ElfError {
    std::string what;
};

class Elf {
  public:
    enum class Type : std::uint16_t { Relocatable = 1, Executable = 2, Shared = 3 };

    struct Section {
        std::string_view name;
        std::uint32_t type;
        bool is_loaded;           // occupies memory
        std::uint64_t address;    // memory address
        std::uint64_t size;       // size in memory
        std::uint64_t alignment;  // at least 1
        std::uint32_t link;
        const unsigned char *content;  // nullptr means zeros that are not in the file
    };

    enum class SymbolType : std::uint8_t { Function, Object, Other };
    struct Symbol {
        std::string_view name;
        SymbolType type;
        std::size_t section;   // index in the list of sections
        std::uint64_t offset;  // offset in the section, possibly beyond its end
        std::uint64_t size;
    };

    // Keeps the pointer: the bytes must outlive the object. Throws ElfError.
    Elf(const unsigned char *data, std::size_t size);

    static bool has_magic(const unsigned char *data, std::size_t size);
    // Returns the machine type of this process's programs.
    static std::uint16_t host_machine();

    // End of the parts that the header refers to; later bytes are not examined.
    std::size_t extent() const { return extent_; }
    Type type() const { return type_; }
    std::uint16_t machine() const { return machine_; }
    const std::vector<Section> &sections() const { return sections_; }
    // Checks an assumption of the dynamic loader: throws ElfError unless the segments are in the file, and all content
    // loaded from it is in a segment.
    void require_segments();
    // Global and weak symbols that the file defines: those for a linker, or those that a shared object exports.
    enum class Table : std::uint32_t { Linker = 2, Exported = 11 };
    std::vector<Symbol> symbols(Table table) const;
    // Returns nullptr if there is no section of that name.
    const Section *find_section(std::string_view name) const;

  private:
    template <class T>
    T read(std::uint64_t offset) const;
    void require_bytes(std::uint64_t offset, std::uint64_t size, const char *what);
    Section read_section(std::uint64_t header);
    static std::string_view name_at(const Section &strings, std::uint32_t offset);

    const unsigned char *data_;
    std::size_t size_;
    std::size_t extent_ = 0;
    Type type_ = Type::Relocatable;
    std::uint16_t machine_ = 0;
    std::vector<Section> sections_;
    std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace aclsim
