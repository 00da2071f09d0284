// SPDX-License-Identifier: Apache-2.0
// Kernel binary for a device, written byte by byte.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

// Returns an object for an NPU with one kernel, which has that many bytes of code.
inline std::vector<unsigned char> device_object(const char *kernel, std::size_t code_bytes) {
    enum Index { kNone, kText, kSymbols, kNames, kSections };
    constexpr Elf64_Half kNpu = 0x1029;
    const std::string names =
        std::string(1, '\0') + ".text" + '\0' + ".symtab" + '\0' + ".strtab" + '\0' + kernel + '\0';
    const auto name = [&](const char *text) { return static_cast<Elf64_Word>(names.find(text)); };

    Elf64_Sym symbols[2] = {};
    symbols[1].st_name = name(kernel);
    symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbols[1].st_shndx = kText;
    symbols[1].st_size = code_bytes;

    Elf64_Shdr sections[kSections] = {};
    std::vector<unsigned char> object(sizeof(Elf64_Ehdr));
    const auto add = [&](Index index, const char *of, Elf64_Word type, const void *content, std::size_t size) {
        Elf64_Shdr &section = sections[index];
        section.sh_name = name(of);
        section.sh_type = type;
        section.sh_offset = object.size();
        section.sh_size = size;
        section.sh_addralign = 1;
        const auto *bytes = static_cast<const unsigned char *>(content);
        object.insert(object.end(), bytes, bytes + size);
    };
    const std::string code(code_bytes, 'k');
    add(kText, ".text", SHT_PROGBITS, code.data(), code.size());
    sections[kText].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    add(kSymbols, ".symtab", SHT_SYMTAB, symbols, sizeof symbols);
    sections[kSymbols].sh_link = kNames;
    sections[kSymbols].sh_entsize = sizeof *symbols;
    add(kNames, ".strtab", SHT_STRTAB, names.data(), names.size());

    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = kNpu;
    header.e_version = EV_CURRENT;
    header.e_shoff = object.size();
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof *sections;
    header.e_shnum = kSections;
    header.e_shstrndx = kNames;
    std::memcpy(object.data(), &header, sizeof header);
    const auto *table = reinterpret_cast<const unsigned char *>(sections);
    object.insert(object.end(), table, table + sizeof sections);
    return object;
}
