// SPDX-License-Identifier: Apache-2.0
#include "support/loadable.h"

#ifdef __linux__

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/elf.h"

namespace aclsim {
namespace {

using FileAddress = std::uint64_t;

constexpr FileAddress kLongestImage = FileAddress{1} << 40;
constexpr std::uint64_t kLargestThreadData = 64 << 20;
constexpr std::size_t kSlot = 8;            // entry size of a table of addresses
constexpr std::uint16_t kVersion = 0x7FFF;  // bits of a version number

// Entries of the dynamic section that linkers write for shared objects, and its flags.
constexpr std::int64_t kKnownTags[] = {DT_NEEDED,
                                       DT_PLTRELSZ,
                                       DT_PLTGOT,
                                       DT_HASH,
                                       DT_STRTAB,
                                       DT_SYMTAB,
                                       DT_RELA,
                                       DT_RELASZ,
                                       DT_RELAENT,
                                       DT_STRSZ,
                                       DT_SYMENT,
                                       DT_INIT,
                                       DT_FINI,
                                       DT_SONAME,
                                       DT_RPATH,
                                       DT_SYMBOLIC,
                                       DT_PLTREL,
                                       DT_DEBUG,
                                       DT_JMPREL,
                                       DT_BIND_NOW,
                                       DT_INIT_ARRAY,
                                       DT_FINI_ARRAY,
                                       DT_INIT_ARRAYSZ,
                                       DT_FINI_ARRAYSZ,
                                       DT_RUNPATH,
                                       DT_FLAGS,
                                       DT_GNU_HASH,
                                       DT_VERSYM,
                                       DT_RELACOUNT,
                                       DT_FLAGS_1,
                                       DT_VERDEF,
                                       DT_VERDEFNUM,
                                       DT_VERNEED,
                                       DT_VERNEEDNUM,
                                       DT_TLSDESC_PLT,
                                       DT_TLSDESC_GOT,
                                       /* RELRSZ, RELR, RELRENT: */ 35,
                                       36,
                                       37,
                                       /* AArch64: BTI_PLT, PAC_PLT, VARIANT_PCS */ 0x70000001,
                                       0x70000003,
                                       0x70000005};
constexpr std::int64_t kRelrSize = 35;
constexpr std::int64_t kRelr = 36;
constexpr std::uint64_t kKnownFlags = DF_ORIGIN | DF_SYMBOLIC | DF_BIND_NOW | DF_STATIC_TLS;
constexpr std::uint64_t kKnownFlags1 = DF_1_NOW | DF_1_GLOBAL | DF_1_NODELETE | DF_1_ORIGIN;

// Relocations of this machine, by the value that they store.
struct Relocations {
    std::uint32_t relative;  // address in the image
    std::uint32_t resolver;  // result of a function in the image
    std::uint32_t symbol;    // address of a symbol, in data
    std::vector<std::uint32_t> bindings;
    std::vector<std::uint32_t> thread_data;
    std::uint32_t descriptor;  // descriptor of thread data, which takes two slots
};

const Relocations &relocations() {
#if defined(__x86_64__)
    static const Relocations kinds{8, 37, 1, {6, 7}, {16, 17, 18}, 36};
#elif defined(__aarch64__)
    static const Relocations kinds{1027, 1032, 257, {1025, 1026}, {1028, 1029, 1030}, 1031};
#else  // RISC-V
    static const Relocations kinds{3, 58, 2, {5}, {7, 9, 11}, 12};
#endif
    return kinds;
}

template <class List, class T>
bool contains(const List &list, const T &value) {
    return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

class SharedObject {
  public:
    explicit SharedObject(const unsigned char *data) : data_(data) {}

    void check() {
        read_segments();
        read_dynamic();
        check_names();
        count_symbols();
        check_symbols();
        check_versions();
        check_relocations();
        check_functions();
    }

  private:
    [[noreturn]] static void refuse(const std::string &what) { throw ElfError{what}; }
    static void require(bool is_so, const std::string &what) {
        if (!is_so) {
            refuse(what);
        }
    }

    // --- segments ----------------------------------------------------------------------------------------------------

    template <class T>
    T in_file(std::uint64_t offset) const {
        T value{};
        std::memcpy(&value, data_ + offset, sizeof value);
        return value;
    }

    void read_segments() {
        const auto header = in_file<Elf64_Ehdr>(0);
        std::vector<Elf64_Phdr> others;
        for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
            const auto segment = in_file<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
            if (segment.p_type == PT_LOAD) {
                add_loaded(segment);
            } else if (segment.p_type != PT_NULL && segment.p_type != PT_GNU_STACK) {
                others.push_back(segment);
            }
        }
        for (const Elf64_Phdr &segment : others) {
            check_other(segment);
        }
        require(dynamic_.p_memsz > 0, "it has no dynamic section");
    }

    // Loaded segments are mapped one after another, each to whole pages.
    void add_loaded(const Elf64_Phdr &segment) {
        const auto page = static_cast<FileAddress>(sysconf(_SC_PAGESIZE));
        require(segment.p_vaddr < kLongestImage && segment.p_memsz < kLongestImage, "a segment is too large");
        require(segment.p_vaddr % page == segment.p_offset % page, "a segment begins at another place in its page");
        require(segment.p_align <= kLongestImage && (segment.p_align & (segment.p_align - 1)) == 0,
                "the alignment of a segment is not a power of 2");
        if (!loaded_.empty()) {
            const Elf64_Phdr &last = loaded_.back();
            require(segment.p_vaddr / page * page >= last.p_vaddr + last.p_memsz,
                    "its segments overlap, or are not in the order of their addresses");
        }
        loaded_.push_back(segment);
    }

    void check_other(const Elf64_Phdr &segment) {
        const Elf64_Phdr *within = segment_at(segment.p_vaddr, segment.p_memsz, PF_R);
        const bool is_there = within != nullptr && segment.p_filesz <= segment.p_memsz &&
                              segment.p_offset - within->p_offset == segment.p_vaddr - within->p_vaddr;
        const std::string name = "segment of type " + std::to_string(segment.p_type);
        switch (segment.p_type) {
            case PT_TLS:
                require(segment.p_memsz <= kLargestThreadData && segment.p_filesz <= segment.p_memsz &&
                            segment.p_align <= static_cast<FileAddress>(sysconf(_SC_PAGESIZE)) &&
                            (segment.p_align & (segment.p_align - 1)) == 0 &&
                            segment_at(segment.p_vaddr, segment.p_filesz, PF_R) != nullptr,
                        "its thread data have a wrong size, alignment or place");
                has_thread_data_ = true;
                return;
            case PT_GNU_RELRO:
                require(is_in_data_pages(segment.p_vaddr, segment.p_memsz),
                        "what is to be write-protected is not in data");
                return;
            case PT_DYNAMIC:
                require(is_there && (within->p_flags & PF_W) != 0 && segment.p_filesz == segment.p_memsz,
                        "its dynamic section is not in data");
                dynamic_ = segment;
                return;
            default:
                require(segment.p_filesz == 0 || is_there, "its " + name + " is in no segment that is loaded");
        }
    }

    // Returns true for a range in a writable segment, up to the end of the segment's last page.
    bool is_in_data_pages(FileAddress address, std::uint64_t size) const {
        const auto page = static_cast<FileAddress>(sysconf(_SC_PAGESIZE));
        const Elf64_Phdr *segment = segment_at(address, 1, PF_R | PF_W);
        return segment != nullptr && size <= kLongestImage &&
               address + size <= (segment->p_vaddr + segment->p_memsz + page - 1) / page * page;
    }
    // Returns the segment with these flags that contains the range in memory; nullptr if there is none.
    const Elf64_Phdr *segment_at(FileAddress address, std::uint64_t size, std::uint32_t flags) const {
        const auto found = std::find_if(loaded_.begin(), loaded_.end(), [&](const Elf64_Phdr &it) {
            return address >= it.p_vaddr && size <= it.p_memsz && address - it.p_vaddr <= it.p_memsz - size &&
                   (it.p_flags & flags) == flags;
        });
        return found == loaded_.end() ? nullptr : &*found;
    }
    bool is_code(FileAddress address) const { return segment_at(address, 1, PF_R | PF_X) != nullptr; }

    void require_memory(FileAddress address, std::uint64_t size, std::uint32_t flags, const char *what) const {
        require(segment_at(address, size, flags) != nullptr,
                std::string(what) + " is not in a segment that allows what is done with it");
    }

    // Returns the content of an address before relocation.
    template <class T>
    T at(FileAddress address, const char *what) const {
        const Elf64_Phdr *segment = segment_at(address, sizeof(T), PF_R);
        require(segment != nullptr && address - segment->p_vaddr + sizeof(T) <= segment->p_filesz,
                std::string(what) + " reaches beyond what is loaded from the file");
        return in_file<T>(segment->p_offset + (address - segment->p_vaddr));
    }

    // --- the dynamic section -----------------------------------------------------------------------------------------

    void read_dynamic() {
        for (FileAddress entry = dynamic_.p_vaddr;; entry += sizeof(Elf64_Dyn)) {
            require(entry + sizeof(Elf64_Dyn) <= dynamic_.p_vaddr + dynamic_.p_memsz, "its dynamic section has no end");
            const auto read = at<Elf64_Dyn>(entry, "the dynamic section");
            if (read.d_tag == DT_NULL) {
                break;
            }
            require(contains(kKnownTags, read.d_tag),
                    read.d_tag == DT_TEXTREL
                        ? "its code must be relocated; compile it with -fPIC"
                        : "its dynamic section has an entry of type " + std::to_string(read.d_tag));
            if (read.d_tag == DT_NEEDED) {
                needed_.push_back(read.d_un.d_val);
            } else {
                require(entries_.emplace(read.d_tag, read.d_un.d_val).second,
                        "an entry of its dynamic section is repeated");
            }
        }
        require(has(DT_STRTAB) && has(DT_STRSZ) && has(DT_SYMTAB), "its dynamic section lacks a table of symbols");
        require((value(DT_FLAGS) & ~kKnownFlags) == 0 && (value(DT_FLAGS_1) & ~kKnownFlags1) == 0,
                "its dynamic section has unknown flags");
        require(!has(DT_SYMENT) || value(DT_SYMENT) == sizeof(Elf64_Sym), "its symbols have another size");
        require(!has(DT_PLTGOT) || segment_at(value(DT_PLTGOT), 3 * kSlot, PF_R | PF_W) != nullptr,
                "its table of addresses is not in data");
    }

    bool has(std::int64_t tag) const { return entries_.count(tag) != 0; }
    std::uint64_t value(std::int64_t tag) const {
        const auto found = entries_.find(tag);
        return found == entries_.end() ? 0 : found->second;
    }

    void check_names() {
        const std::uint64_t size = value(DT_STRSZ);
        require(size > 0 && at<char>(value(DT_STRTAB) + size - 1, "the table of names") == '\0',
                "the table of names does not end with one");
        at<char>(value(DT_STRTAB), "the table of names");
        require_memory(value(DT_STRTAB), size, PF_R, "the table of names");
        for (const std::int64_t tag : {DT_SONAME, DT_RPATH, DT_RUNPATH}) {
            name(value(tag));
        }
        for (const std::uint64_t library : needed_) {
            name(library);
        }
    }

    std::string_view name(std::uint64_t offset) const {
        require(offset < value(DT_STRSZ), "a name is beyond the end of the table of names");
        const FileAddress address = value(DT_STRTAB) + offset;
        const Elf64_Phdr &segment = *segment_at(address, 1, PF_R);
        return reinterpret_cast<const char *>(data_ + segment.p_offset + (address - segment.p_vaddr));
    }

    // --- symbols -----------------------------------------------------------------------------------------------------

    void count_symbols() {
        require(has(DT_GNU_HASH) || has(DT_HASH), "it has no table to find symbols with");
        if (has(DT_HASH)) {
            count_by_chains(value(DT_HASH));
        }
        if (has(DT_GNU_HASH)) {
            count_by_hashes(value(DT_GNU_HASH));
        }
        const auto header = in_file<Elf64_Ehdr>(0);
        for (std::uint64_t i = 0; i < header.e_shnum; ++i) {  // hashes do not count symbols of other objects
            const auto section = in_file<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
            if (section.sh_type == SHT_DYNSYM && section.sh_addr == value(DT_SYMTAB)) {
                symbols_ = std::max(symbols_, section.sh_size / sizeof(Elf64_Sym));
            }
        }
    }

    std::uint32_t word(FileAddress table, std::uint64_t index) const {
        constexpr std::size_t kWord = sizeof(std::uint32_t);
        return at<std::uint32_t>(table + index * kWord, "the table to find symbols with");
    }

    // Table layout: number of buckets, number of symbols, buckets, and the next symbol of each symbol.
    void count_by_chains(FileAddress table) {
        const std::uint32_t buckets = word(table, 0);
        symbols_ = word(table, 1);
        require(buckets > 0, "the table to find symbols with is empty");
        word(table, 2 + std::uint64_t{buckets} + symbols_ - 1);
        std::vector<bool> is_found(symbols_);
        for (std::uint64_t bucket = 0; bucket < buckets; ++bucket) {
            for (std::uint32_t i = word(table, 2 + bucket); i != 0; i = word(table, 2 + std::uint64_t{buckets} + i)) {
                require(i < symbols_ && !is_found[i], "the table to find symbols with is damaged");
                is_found[i] = true;
            }
        }
    }

    // Table layout: number of buckets, first symbol, words of the filter, its shift; the filter, the buckets, and the
    // hash of each symbol, whose lowest bit marks the last one of a bucket.
    void count_by_hashes(FileAddress table) {
        const std::uint32_t buckets = word(table, 0);
        const std::uint32_t first = word(table, 1);
        const std::uint32_t filter = word(table, 2);
        require(buckets > 0 && filter > 0 && (filter & (filter - 1)) == 0 && word(table, 3) < 64,
                "the table to find symbols with is damaged");
        const std::uint64_t bucket_at = 4 + 2 * std::uint64_t{filter};
        const std::uint64_t hash_at = bucket_at + buckets;
        std::uint64_t end = first;
        for (std::uint64_t bucket = 0; bucket < buckets; ++bucket) {
            std::uint64_t i = word(table, bucket_at + bucket);
            require(i == 0 || i >= first, "the table to find symbols with is damaged");
            if (i >= end && i != 0) {
                while ((word(table, hash_at + i - first) & 1) == 0) {
                    ++i;
                }
                end = i + 1;
            }
        }
        symbols_ = std::max(symbols_, end);
    }

    Elf64_Sym symbol(std::uint64_t number) const {
        require(number < symbols_, "a symbol does not exist");
        return at<Elf64_Sym>(value(DT_SYMTAB) + number * sizeof(Elf64_Sym), "the table of symbols");
    }

    void check_symbols() const {
        for (std::uint64_t i = 1; i < symbols_; ++i) {  // symbol 0 means none
            const Elf64_Sym it = symbol(i);
            const unsigned type = ELF64_ST_TYPE(it.st_info);
            const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
            const std::string what = "symbol " + std::string(name(it.st_name));
            if (it.st_shndx == SHN_UNDEF) {
                require(ELF64_ST_BIND(it.st_info) != STB_LOCAL && ELF64_ST_VISIBILITY(it.st_other) == STV_DEFAULT,
                        what + " is its own, but not in it");
            } else if (type == STT_TLS) {
                require(has_thread_data_, what + " is thread data, which it does not have");
            } else if (it.st_shndx != SHN_ABS) {
                require(is_in_its_section(it) && (!is_function || is_code(it.st_value)), what + " is in no section");
            }
        }
    }

    // Accepts the end of the section too, where linkers put marks. Symbols without a type may be anywhere in the image.
    bool is_in_its_section(const Elf64_Sym &it) const {
        const auto header = in_file<Elf64_Ehdr>(0);
        if (it.st_shndx >= header.e_shnum) {
            return false;
        }
        if (ELF64_ST_TYPE(it.st_info) == STT_NOTYPE) {
            return it.st_value != 0 && it.st_value <= end_of_image();
        }
        const auto section = in_file<Elf64_Shdr>(header.e_shoff + it.st_shndx * sizeof(Elf64_Shdr));
        return it.st_value >= section.sh_addr && it.st_value - section.sh_addr <= section.sh_size;
    }

    FileAddress end_of_image() const { return loaded_.back().p_vaddr + loaded_.back().p_memsz; }

    // --- versions of symbols -----------------------------------------------------------------------------------------

    void check_versions() {
        std::set<std::uint16_t> numbers{VER_NDX_LOCAL, VER_NDX_GLOBAL};
        if (has(DT_VERNEED)) {
            each<Elf64_Verneed>(
                value(DT_VERNEED), &Elf64_Verneed::vn_next, [&](FileAddress at_, const Elf64_Verneed &needed) {
                    const auto is_file = [&](std::uint64_t library) { return name(library) == name(needed.vn_file); };
                    require(std::any_of(needed_.begin(), needed_.end(), is_file),
                            "a version is of a library that it does not need");
                    each<Elf64_Vernaux>(at_ + needed.vn_aux, &Elf64_Vernaux::vna_next,
                                        [&](FileAddress, const Elf64_Vernaux &it) {
                                            name(it.vna_name);
                                            numbers.insert(it.vna_other & kVersion);
                                        });
                });
        }
        if (has(DT_VERDEF)) {
            each<Elf64_Verdef>(value(DT_VERDEF), &Elf64_Verdef::vd_next,
                               [&](FileAddress at_, const Elf64_Verdef &defined) {
                                   name(at<Elf64_Verdaux>(at_ + defined.vd_aux, "a version").vda_name);
                                   numbers.insert(defined.vd_ndx & kVersion);
                               });
        }
        require(!has(DT_VERSYM) || has(DT_VERNEED) || has(DT_VERDEF), "its symbols have versions that do not exist");
        for (std::uint64_t i = 0; has(DT_VERSYM) && i < symbols_; ++i) {
            const auto number =
                at<std::uint16_t>(value(DT_VERSYM) + i * sizeof(std::uint16_t), "the versions of symbols");
            require(numbers.count(number & kVersion) != 0, "a symbol has a version that does not exist");
        }
    }

    // Visits the entries of a list in which each entry has the offset of the next.
    template <class Entry, class Use>
    void each(FileAddress first, std::uint32_t Entry::*next, Use use) const {
        for (FileAddress address = first;;) {
            const auto entry = at<Entry>(address, "the versions of symbols");
            use(address, entry);
            if (entry.*next == 0) {
                return;
            }
            address += entry.*next;
        }
    }

    // --- relocations -------------------------------------------------------------------------------------------------

    void check_relocations() {
        require(!has(DT_RELA) || value(DT_RELAENT) == sizeof(Elf64_Rela), "its relocations have another size");
        require(!has(DT_JMPREL) || value(DT_PLTREL) == DT_RELA, "its relocations have another form");
        check_table(value(DT_RELA), has(DT_RELA) ? value(DT_RELASZ) : 0, value(DT_RELACOUNT));
        check_table(value(DT_JMPREL), has(DT_JMPREL) ? value(DT_PLTRELSZ) : 0, 0);
        check_relative_bitmaps();
    }

    void check_table(FileAddress table, std::uint64_t size, std::uint64_t relative) {
        const std::uint64_t count = size / sizeof(Elf64_Rela);
        require(size % sizeof(Elf64_Rela) == 0 && relative <= count, "a table of relocations has another size");
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto it = at<Elf64_Rela>(table + i * sizeof(Elf64_Rela), "a table of relocations");
            const std::uint64_t type = ELF64_R_TYPE(it.r_info);
            require(i >= relative || type == relocations().relative, "its relocations are not in their order");
            check_relocation(it, type);
        }
    }

    void check_relocation(const Elf64_Rela &it, std::uint64_t type) {
        const Relocations &kinds = relocations();
        if (type == 0) {
            return;
        }
        const bool is_of_thread = contains(kinds.thread_data, type) || type == kinds.descriptor;
        require_target(it.r_offset, type == kinds.descriptor ? 2 * kSlot : kSlot);
        const auto addend = static_cast<FileAddress>(it.r_addend);
        if (type == kinds.relative) {
            require(addend <= end_of_image(), "a relocation leads out of it");
            note_target(it.r_offset, addend);
        } else if (type == kinds.resolver) {
            require(is_code(addend), "a relocation calls an address outside the code");
        } else {
            require(is_of_thread || type == kinds.symbol || contains(kinds.bindings, type),
                    "a relocation has an unknown type, " + std::to_string(type));
            require(!is_of_thread || has_thread_data_ || symbol(ELF64_R_SYM(it.r_info)).st_shndx == SHN_UNDEF,
                    "a relocation is for thread data, which it does not have");
            const Elf64_Sym bound = symbol(ELF64_R_SYM(it.r_info));
            require(!contains(kinds.bindings, type) || it.r_offset % kSlot == 0, "a relocation is between two slots");
            note_target(it.r_offset, bound.st_shndx == SHN_UNDEF ? kElsewhere : bound.st_value + addend);
        }
    }

    // Relocations may write to data, but not to the part that the loader has read.
    void require_target(FileAddress address, std::uint64_t size) const {
        require_memory(address, size, PF_R | PF_W, "the place of a relocation");
        require(address + size <= dynamic_.p_vaddr || address >= dynamic_.p_vaddr + dynamic_.p_memsz,
                "a relocation changes the dynamic section");
    }

    // DT_RELR: an address, followed by bits for the next 63 slots, then for the next 63, up to the next address.
    void check_relative_bitmaps() {
        constexpr unsigned kBits = 63;
        FileAddress slot = 0;
        for (std::uint64_t i = 0; has(kRelr) && i < value(kRelrSize) / kSlot; ++i) {
            const auto entry = at<std::uint64_t>(value(kRelr) + i * kSlot, "a table of relocations");
            if ((entry & 1) == 0) {
                add_relative(entry);
                slot = entry + kSlot;
                continue;
            }
            for (unsigned bit = 0; bit < kBits; ++bit) {
                if ((entry >> (bit + 1) & 1) != 0) {
                    add_relative(slot + bit * kSlot);
                }
            }
            slot += kBits * kSlot;
        }
    }
    void add_relative(FileAddress slot) {
        require_target(slot, kSlot);
        note_target(slot, at<FileAddress>(slot, "the place of a relocation"));
    }
    void note_target(FileAddress slot, FileAddress target) {
        require(targets_.emplace(slot, target).second, "two relocations are for the same place");
    }

    // --- called functions --------------------------------------------------------------------------------------------

    void check_functions() const {
        require(!has(DT_INIT) || is_code(value(DT_INIT)), "its initialisation is not in the code");
        require(!has(DT_FINI) || is_code(value(DT_FINI)), "its finalisation is not in the code");
        check_functions(value(DT_INIT_ARRAY), has(DT_INIT_ARRAY) ? value(DT_INIT_ARRAYSZ) : 0);
        check_functions(value(DT_FINI_ARRAY), has(DT_FINI_ARRAY) ? value(DT_FINI_ARRAYSZ) : 0);
    }

    void check_functions(FileAddress table, std::uint64_t size) const {
        require(size == 0 || segment_at(table, size, PF_R) != nullptr, "a table of functions is in no segment");
        for (FileAddress slot = table; slot + kSlot <= table + size; slot += kSlot) {
            const auto target = targets_.find(slot);
            require(target != targets_.end() && (target->second == kElsewhere || is_code(target->second)),
                    "a function that is called when it is loaded or closed is not in the code");
        }
    }

    static constexpr FileAddress kElsewhere = ~FileAddress{0};  // symbol of another library

    const unsigned char *data_;
    std::vector<Elf64_Phdr> loaded_;
    Elf64_Phdr dynamic_{};
    bool has_thread_data_ = false;
    std::map<std::int64_t, std::uint64_t> entries_;
    std::vector<std::uint64_t> needed_;  // offsets of names
    std::uint64_t symbols_ = 0;
    std::map<FileAddress, FileAddress> targets_;  // slot -> value after relocation
};

}  // namespace

void require_loadable(const unsigned char *data) { SharedObject(data).check(); }

}  // namespace aclsim

#endif
