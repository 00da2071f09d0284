// SPDX-License-Identifier: Apache-2.0
#include "support/elf.h"

#include <algorithm>
#include <cstring>

namespace aclsim {
namespace {

constexpr unsigned char kElfMagic[] = {0x7F, 'E', 'L', 'F'};
constexpr unsigned char kClass64 = 2;
constexpr unsigned char kLittleEndian = 1;

// Offsets of the fields in the file header.
constexpr std::size_t kClassAt = 4;
constexpr std::size_t kEncodingAt = 5;
constexpr std::size_t kTypeAt = 16;
constexpr std::size_t kMachineAt = 18;
constexpr std::size_t kSegmentTableAt = 32;
constexpr std::size_t kSectionTableAt = 40;
constexpr std::size_t kSegmentEntryAt = 54;
constexpr std::size_t kSegmentCountAt = 56;
constexpr std::size_t kSectionEntryAt = 58;
constexpr std::size_t kSectionCountAt = 60;
constexpr std::size_t kSectionNamesAt = 62;
constexpr std::size_t kFileHeader = 64;
constexpr std::size_t kSectionHeader = 64;
constexpr std::size_t kSegmentHeader = 56;
constexpr std::size_t kSymbol = 24;

constexpr std::uint32_t kLoad = 1;
constexpr std::uint32_t kStringTable = 3;
constexpr std::uint32_t kNoBits = 8;
constexpr std::uint64_t kAllocated = 2;

constexpr unsigned kGlobal = 1;
constexpr unsigned kWeak = 2;
constexpr unsigned kObject = 1;
constexpr unsigned kFunction = 2;
constexpr std::uint16_t kFirstReserved = 0xFF00;  // section numbers from here on name no section

}  // namespace

bool Elf::has_magic(const unsigned char *data, std::size_t size) {
    return size >= sizeof kElfMagic && std::memcmp(data, kElfMagic, sizeof kElfMagic) == 0;
}

std::uint16_t Elf::host_machine() {
#if defined(__x86_64__)
    return 62;
#elif defined(__aarch64__)
    return 183;
#elif defined(__riscv)
    return 243;
#else
    return 0;
#endif
}

template <class T>
T Elf::read(std::uint64_t offset) const {
    T value{};
    std::memcpy(&value, data_ + offset, sizeof value);
    return value;
}

void Elf::require_bytes(std::uint64_t offset, std::uint64_t size, const char *what) {
    if (offset > size_ || size > size_ - offset) {
        throw ElfError{std::string(what) + " reaches beyond the end of the file, which has " + std::to_string(size_) +
                       " bytes"};
    }
    extent_ = std::max<std::size_t>(extent_, offset + size);
}

Elf::Elf(const unsigned char *data, std::size_t size) : data_(data), size_(size) {
    if (!has_magic(data, size)) {
        throw ElfError{"it is not an ELF file"};
    }
    require_bytes(0, kFileHeader, "the header");
    if (data[kClassAt] != kClass64 || data[kEncodingAt] != kLittleEndian) {
        throw ElfError{"it is not an ELF file of 64 bits with the least significant byte first"};
    }
    type_ = read<Type>(kTypeAt);
    machine_ = read<std::uint16_t>(kMachineAt);
    const auto table = read<std::uint64_t>(kSectionTableAt);
    const std::uint64_t count = read<std::uint16_t>(kSectionCountAt);
    const std::uint64_t names = read<std::uint16_t>(kSectionNamesAt);
    if (count == 0 || read<std::uint16_t>(kSectionEntryAt) != kSectionHeader) {
        throw ElfError{"it has no table of sections with entries of " + std::to_string(kSectionHeader) + " bytes"};
    }
    require_bytes(table, count * kSectionHeader, "the table of sections");
    if (names >= count) {
        throw ElfError{"the section with the names of sections does not exist"};
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        sections_.push_back(read_section(table + i * kSectionHeader));
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        sections_[i].name = name_at(sections_[names], read<std::uint32_t>(table + i * kSectionHeader));
        by_name_.try_emplace(sections_[i].name, i);
    }
}

Elf::Section Elf::read_section(std::uint64_t header) {
    Section section{};
    section.type = read<std::uint32_t>(header + 4);
    section.is_loaded = (read<std::uint64_t>(header + 8) & kAllocated) != 0;
    section.address = read<std::uint64_t>(header + 16);
    section.size = read<std::uint64_t>(header + 32);
    section.link = read<std::uint32_t>(header + 40);
    section.alignment = std::max<std::uint64_t>(1, read<std::uint64_t>(header + 48));
    if (section.type != 0 && section.type != kNoBits) {
        const auto offset = read<std::uint64_t>(header + 24);
        require_bytes(offset, section.size, "a section");
        section.content = data_ + offset;
    }
    return section;
}

std::string_view Elf::name_at(const Section &strings, std::uint32_t offset) {
    const auto *text = reinterpret_cast<const char *>(strings.content);
    const std::size_t room = strings.type == kStringTable && offset < strings.size ? strings.size - offset : 0;
    const std::size_t length = room == 0 ? 0 : strnlen(text + offset, room);
    if (length == room) {
        throw ElfError{"a name reaches beyond the end of the table of names"};
    }
    return {text + offset, length};
}

std::vector<Elf::Symbol> Elf::symbols(Table table) const {
    std::vector<Symbol> found;
    // Files have at most one table of each kind; ignore a second one.
    const auto section = std::find_if(sections_.begin(), sections_.end(), [table](const Section &it) {
        return it.type == static_cast<std::uint32_t>(table);
    });
    if (section == sections_.end()) {
        return found;
    }
    if (section->link >= sections_.size()) {
        throw ElfError{"the section with the names of symbols does not exist"};
    }
    const Section &names = sections_[section->link];
    const auto base = static_cast<std::uint64_t>(section->content - data_);
    for (std::uint64_t at = base; at + kSymbol <= base + section->size; at += kSymbol) {
        const unsigned information = read<std::uint8_t>(at + 4);
        const unsigned binding = information >> 4;
        const unsigned type = information & 0xF;
        const auto number = read<std::uint16_t>(at + 6);
        if (number == 0 || number >= kFirstReserved || (binding != kGlobal && binding != kWeak)) {
            continue;  // undefined, defined elsewhere, or local to the file
        }
        if (number >= sections_.size()) {
            throw ElfError{"a symbol is in section " + std::to_string(number) + ", which does not exist"};
        }
        const auto value = read<std::uint64_t>(at + 8);
        found.push_back({name_at(names, read<std::uint32_t>(at)),
                         type == kFunction ? SymbolType::Function
                         : type == kObject ? SymbolType::Object
                                           : SymbolType::Other,
                         number, type_ == Type::Relocatable ? value : value - sections_[number].address,
                         read<std::uint64_t>(at + 16)});
    }
    return found;
}

void Elf::require_segments() {
    const auto table = read<std::uint64_t>(kSegmentTableAt);
    const std::uint64_t count = read<std::uint16_t>(kSegmentCountAt);
    if (read<std::uint16_t>(kSegmentEntryAt) != kSegmentHeader) {
        throw ElfError{"it has no table of segments with entries of " + std::to_string(kSegmentHeader) + " bytes"};
    }
    require_bytes(table, count * kSegmentHeader, "the table of segments");
    struct Loaded {
        std::uint64_t address;
        std::uint64_t size;
    };
    std::vector<Loaded> loaded;
    for (std::uint64_t header = table; header < table + count * kSegmentHeader; header += kSegmentHeader) {
        if (read<std::uint32_t>(header) != kLoad) {
            continue;
        }
        const auto in_file = read<std::uint64_t>(header + 32);
        const auto in_memory = read<std::uint64_t>(header + 40);
        require_bytes(read<std::uint64_t>(header + 8), in_file, "a segment");
        if (in_file > in_memory) {
            throw ElfError{"a segment has more bytes in the file than in memory"};
        }
        loaded.push_back({read<std::uint64_t>(header + 16), in_memory});
    }
    for (const Section &section : sections_) {
        const auto holds = [&section](const Loaded &it) {
            return section.address >= it.address && section.size <= it.size &&
                   section.address - it.address <= it.size - section.size;
        };
        if (section.is_loaded && section.content != nullptr && std::none_of(loaded.begin(), loaded.end(), holds)) {
            throw ElfError{"section " + std::string(section.name) + " is in no segment that is loaded"};
        }
    }
}

const Elf::Section *Elf::find_section(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &sections_[found->second];
}

}  // namespace aclsim
