// Reads ELF files of 64 bits: their sections and symbols. Nothing that a file says of itself is believed: every offset,
// size and name is compared with the bytes that are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace aclsim {

// What is wrong with a file.
struct ElfError {
    std::string what;
};

class Elf {
  public:
    enum class Type : std::uint16_t { Relocatable = 1, Executable = 2, Shared = 3 };

    struct Section {
        std::string_view name;
        std::uint32_t type;
        bool is_loaded;           // it takes room in memory
        std::uint64_t address;    // in memory
        std::uint64_t size;       // in memory
        std::uint64_t alignment;  // at least 1
        std::uint32_t link;
        const unsigned char *content;  // nullptr: zeros, which the file does not have
    };

    enum class SymbolType : std::uint8_t { Function, Object, Other };
    struct Symbol {
        std::string_view name;
        SymbolType type;
        std::size_t section;   // of the list of sections
        std::uint64_t offset;  // in the section, and perhaps beyond its end
        std::uint64_t size;
    };

    // The bytes must outlive the object. Throws ElfError.
    Elf(const unsigned char *data, std::size_t size);

    static bool has_magic(const unsigned char *data, std::size_t size);
    // The machine that a program of this process is for.
    static std::uint16_t host_machine();

    // Up to where there is anything that the header leads to: what is behind that is not looked at.
    std::size_t extent() const { return extent_; }
    Type type() const { return type_; }
    std::uint16_t machine() const { return machine_; }
    const std::vector<Section> &sections() const { return sections_; }
    // What the dynamic loader takes for granted: throws ElfError unless the segments are in the file, and all that is
    // loaded from it is in a segment.
    void require_segments();
    // Global and weak symbols that the file defines: those of a linker, or those that a shared object exports.
    enum class Table : std::uint32_t { Linker = 2, Exported = 11 };
    std::vector<Symbol> symbols(Table table) const;
    // nullptr: there is no section of that name.
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
