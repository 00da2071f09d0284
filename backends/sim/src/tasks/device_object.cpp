// SPDX-License-Identifier: Apache-2.0
#include "tasks/device_object.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace aclsim {
namespace {

// Upper limit of an image, larger than that of any program for a core. A file may claim any size for sections without
// content.
constexpr std::uint64_t kLargestImage = 256ULL << 20;
constexpr std::uint64_t kLargestAlignment = 4096;

constexpr char kMetadata[] = ".ascend.meta.";
constexpr char kCubeSuffix[] = "_mix_aic";
constexpr char kVectorSuffix[] = "_mix_aiv";

// Metadata record: a type and a length of 16 bits each, followed by that many bytes.
enum Record : std::uint16_t { kKernelType = 1, kRatio = 3, kParameters = 16, kParameter = 17 };
constexpr std::size_t kRecordHeader = 4;

// Kernel types by the number in a record of kKernelType.
constexpr aclrtKernelType kKernelTypes[] = {
    ACL_KERNEL_TYPE_AICORE, ACL_KERNEL_TYPE_AICORE, ACL_KERNEL_TYPE_CUBE, ACL_KERNEL_TYPE_VECTOR,
    ACL_KERNEL_TYPE_MIX,    ACL_KERNEL_TYPE_MIX,    ACL_KERNEL_TYPE_CUBE, ACL_KERNEL_TYPE_VECTOR,
};

aclrtKernelType type_by_magic(std::uint32_t magic) {
    return magic == ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE ? ACL_KERNEL_TYPE_VECTOR
           : magic == ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE ? ACL_KERNEL_TYPE_CUBE
                                                        : ACL_KERNEL_TYPE_AICORE;
}

template <class T>
bool take(const unsigned char *payload, std::size_t length, std::size_t at, T &value) {
    if (length < sizeof value || at > length - sizeof value) {
        return false;
    }
    std::memcpy(&value, payload + at, sizeof value);
    return true;
}

void read_record(KernelDescription &kernel, std::uint16_t type, const unsigned char *payload, std::size_t length) {
    std::uint32_t number = 0;
    KernelParameter parameter{};
    switch (type) {
        case kKernelType:
            if (take(payload, length, 0, number) && number < std::size(kKernelTypes)) {
                kernel.type = kKernelTypes[number];
            }
            break;
        case kRatio:
            take(payload, length, 0, kernel.cube_ratio);
            take(payload, length, sizeof kernel.cube_ratio, kernel.vector_ratio);
            break;
        case kParameters:
            kernel.parameters.emplace();  // records of the parameters follow
            break;
        case kParameter:
            if (take(payload, length, 8, parameter.offset) && take(payload, length, 12, parameter.size)) {
                kernel.parameters = std::move(kernel.parameters).value_or(std::vector<KernelParameter>());
                kernel.parameters->push_back(parameter);
            }
            break;
        default:
            break;
    }
}

// Returns the number in the suffix _NUMBER of the name, or 0 if it has none.
std::uint64_t entry_of(const std::string &name) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    const bool has_number = digits > 0 && digits < name.size() && name[digits - 1] == '_';
    return has_number ? std::strtoull(name.c_str() + digits, nullptr, 10) : 0;
}

bool ends_with(const std::string &text, const char *end) {
    const std::size_t length = std::strlen(end);
    return text.size() > length && text.compare(text.size() - length, length, end) == 0;
}

// Places the loaded sections one after the other.
class ElfLayout {
  public:
    explicit ElfLayout(const Elf &file) {
        for (const Elf::Section &section : file.sections()) {
            offsets_.push_back(add(section));
        }
        image_.resize(size_);
        for (std::size_t i = 0; i < offsets_.size(); ++i) {
            const Elf::Section &section = file.sections()[i];
            if (section.is_loaded && section.content != nullptr) {
                std::copy_n(section.content, section.size, image_.begin() + static_cast<std::ptrdiff_t>(offsets_[i]));
            }
        }
    }
    ImagePart part(const Elf::Symbol &symbol) const { return {offsets_[symbol.section] + symbol.offset, symbol.size}; }
    bool is_zero(const ImagePart &part) const {
        const std::uint64_t begin = std::min<std::uint64_t>(part.offset, image_.size());
        const std::uint64_t size = std::min<std::uint64_t>(part.size, image_.size() - begin);
        const auto first = image_.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto last = first + static_cast<std::ptrdiff_t>(size);
        return first != last && std::all_of(first, last, [](unsigned char it) { return it == 0; });
    }
    std::vector<unsigned char> take_image() { return std::move(image_); }

  private:
    std::uint64_t add(const Elf::Section &section) {
        if (!section.is_loaded) {
            return 0;
        }
        const std::uint64_t alignment = std::min(section.alignment, kLargestAlignment);
        const std::uint64_t offset = (size_ + alignment - 1) / alignment * alignment;
        if (section.size > kLargestImage || offset + section.size > kLargestImage) {
            throw ElfError{"its code and data take more than " + std::to_string(kLargestImage >> 20) + " MiB"};
        }
        size_ = offset + section.size;
        return offset;
    }

    std::vector<std::uint64_t> offsets_;  // by section
    std::uint64_t size_ = 0;
    std::vector<unsigned char> image_;
};

}  // namespace

void read_metadata(const Elf &file, KernelDescription &kernel, const std::string &symbol) {
    const Elf::Section *section = file.find_section(kMetadata + symbol);
    if (section == nullptr || section->content == nullptr) {
        return;
    }
    kernel.has_metadata = true;
    for (std::uint64_t at = 0; section->size - at >= kRecordHeader;) {
        std::uint16_t type = 0;
        std::uint16_t length = 0;
        std::memcpy(&type, section->content + at, sizeof type);
        std::memcpy(&length, section->content + at + sizeof type, sizeof length);
        at += kRecordHeader;
        if (length > section->size - at) {
            throw ElfError{"the metadata of kernel " + symbol + " ends inside a record"};
        }
        read_record(kernel, type, section->content + at, length);
        at += length;
    }
}

DeviceObject read_device_object(const Elf &file, std::uint32_t magic) {
    DeviceObject object;
    ElfLayout layout(file);
    std::map<std::string, std::size_t> numbers;  // numbers of kernels by name
    for (const Elf::Symbol &symbol : file.symbols(Elf::Table::Linker)) {
        const std::string name(symbol.name);
        if (name.empty()) {
            continue;
        }
        if (symbol.type == Elf::SymbolType::Object) {
            object.variables.push_back({name, layout.part(symbol)});
        }
        if (symbol.type != Elf::SymbolType::Function) {
            continue;
        }
        // Two symbols represent a kernel for both kinds of cores.
        const bool is_cube_half = ends_with(name, kCubeSuffix);
        const bool is_half = is_cube_half || ends_with(name, kVectorSuffix);
        const std::string kernel_name = is_half ? name.substr(0, name.size() - std::strlen(kCubeSuffix)) : name;
        const auto [found, is_new] = numbers.try_emplace(kernel_name, object.kernels.size());
        if (is_new) {
            object.kernels.emplace_back();
            object.kernels.back().name = kernel_name;
            object.kernels.back().type = is_half ? ACL_KERNEL_TYPE_MIX : type_by_magic(magic);
            object.kernels.back().entry = entry_of(kernel_name);
            object.kernels.back().is_empty = true;
        }
        KernelDescription &kernel = object.kernels[found->second];
        read_metadata(file, kernel, name);
        const ImagePart code = layout.part(symbol);
        const bool is_cube = is_half ? is_cube_half : kernel.type != ACL_KERNEL_TYPE_VECTOR;
        (is_cube ? kernel.cube_code : kernel.vector_code) = code;
        kernel.is_empty = kernel.is_empty && layout.is_zero(code);
    }
    if (object.kernels.empty()) {
        throw ElfError{"it contains no kernel: no global function"};
    }
    object.image = layout.take_image();
    return object;
}

}  // namespace aclsim
