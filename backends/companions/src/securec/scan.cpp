// SPDX-License-Identifier: Apache-2.0
// Bounded functions that scan. The C library scans into memory of these functions first; strings, whose length is not
// known before, into memory that it allocates (modifier "m" of POSIX). The values are then copied to the arguments.
#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <string>
#include <utility>

#include "securec.h"

namespace {

constexpr int kFailed = -1;
constexpr std::size_t kMostItems = 64;  // limit for a format

constexpr long kNotReached = -1;

union Value {
    void *text;
    long position;
    unsigned char bytes[sizeof(long double)];
};
using Values = std::array<Value, kMostItems>;
using Addresses = std::array<void *, kMostItems>;

// A conversion that assigns.
struct Item {
    enum class Kind { kNumber, kPosition, kString, kCharacters } kind;
    std::size_t width;  // in bytes: of a number or a character
    std::size_t count;  // of the characters of %c
    void *target;
    std::size_t capacity;  // in characters

    bool is_text() const { return kind == Kind::kString || kind == Kind::kCharacters; }

    // Ends the string, which the vendor's library does with one that does not fit, too.
    void reset() const {
        if (is_text() && target != nullptr && capacity > 0) {
            std::memset(target, 0, width);
        }
    }

    // Returns false if the text does not fit.
    bool assign(const Value &value) const {
        if (!is_text()) {
            std::memcpy(target, value.bytes, width);
            return true;
        }
        std::size_t stored = count;
        if (kind == Kind::kString) {
            stored = 1 + (width == 1 ? std::strlen(static_cast<const char *>(value.text))
                                     : std::wcslen(static_cast<const wchar_t *>(value.text)));
        }
        if (stored > capacity || capacity > SECUREC_STRING_MAX_LEN / width) {
            reset();
            return false;
        }
        std::memcpy(target, value.text, stored * width);
        return true;
    }
};

std::size_t number_width(char type, const std::string &modifier) {
    if (std::strchr("aAeEfFgG", type) != nullptr) {
        const bool is_longest = modifier == "L" || modifier == "ll" || modifier == "q";
        const bool is_plain = modifier.find_first_not_of('h') == std::string::npos;
        return is_longest ? sizeof(long double) : is_plain ? sizeof(float) : sizeof(double);
    }
    if (modifier.empty() && type != 'p') {
        return sizeof(int);
    }
    return modifier == "hh" ? sizeof(char) : modifier == "h" ? sizeof(short) : sizeof(long);
}

// A format for the C library, and the arguments to assign to.
template <class Char>
class Format {
  public:
    Format(const Char *format, va_list arguments) {
        va_copy(arguments_, arguments);
        for (rest_ = format; *rest_ != 0 && !is_refused();) {
            text_ += *rest_;
            if (*rest_++ == '%') {
                read_conversion();
            }
        }
        va_end(arguments_);
    }

    bool is_refused() const { return is_unknown_ || count_ > kMostItems; }
    bool has_memory(const Addresses &addresses) const {
        return std::find(addresses.begin(), addresses.begin() + count_, nullptr) == addresses.begin() + count_;
    }
    const Char *text() const { return text_.c_str(); }

    void reset_first() const {
        if (count_ > 0) {
            items_[0].reset();
        }
    }

    // Memory for what is scanned.
    Values values() const {
        Values values = {};
        for (std::size_t i = 0; i < count_; ++i) {
            if (items_[i].kind == Item::Kind::kPosition) {
                values[i].position = kNotReached;
            } else if (items_[i].kind == Item::Kind::kCharacters && items_[i].count <= SECUREC_STRING_MAX_LEN) {
                values[i].text = std::calloc(items_[i].count, items_[i].width);
            }
        }
        return values;
    }

    Addresses addresses(Values &values) const {
        Addresses addresses = {};
        for (std::size_t i = 0; i < count_; ++i) {
            addresses[i] = items_[i].kind == Item::Kind::kCharacters ? values[i].text : values[i].bytes;
        }
        return addresses;
    }

    // Assigns as many values as were scanned, or fewer: up to an argument that is NULL or too small.
    int assign(const Values &values, int scanned) const {
        int assigned = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            const bool is_position = items_[i].kind == Item::Kind::kPosition;
            if (is_position ? values[i].position == kNotReached : assigned == scanned) {
                break;
            }
            if (items_[i].target == nullptr) {
                return kFailed;
            }
            if (!items_[i].assign(values[i])) {
                break;
            }
            assigned += is_position ? 0 : 1;
        }
        return assigned;
    }

    void release(const Values &values) const {
        for (std::size_t i = 0; i < count_; ++i) {
            std::free(items_[i].is_text() ? values[i].text : nullptr);
        }
    }

  private:
    template <class Condition>
    std::string take_while(Condition condition) {
        std::string taken;
        while (*rest_ != 0 && condition(*rest_)) {
            taken += static_cast<char>(*rest_++);
        }
        return taken;
    }

    void copy_set() {
        for (const char first : {'^', ']'}) {
            if (*rest_ == static_cast<Char>(first)) {
                text_ += *rest_++;
            }
        }
        while (*rest_ != 0 && *rest_ != ']') {
            text_ += *rest_++;
        }
        if (*rest_ != 0) {
            text_ += *rest_++;
        }
    }

    // Continues behind the percent sign. An item too many takes no argument: the call may have passed none. A
    // conversion that is not known here could assign to the memory of another.
    void read_conversion() {
        const bool assigns = *rest_ != '*' && *rest_ != '%';
        if (*rest_ == '*') {
            text_ += *rest_++;
        }
        const std::string width = take_while([](Char it) { return it >= '0' && it <= '9'; });
        const std::string modifier =
            take_while([](Char it) { return it < 128 && std::strchr("hlLqjzt", static_cast<char>(it)) != nullptr; });
        const char type = *rest_ < 128 ? static_cast<char>(*rest_) : '\0';
        const bool is_characters = type == 'c' || type == 'C';
        const bool is_string = type == 's' || type == 'S' || type == '[';
        text_.append(width.begin(), width.end());
        if (assigns && is_string) {
            text_ += 'm';
        }
        if (type == 'n') {
            text_ += 'l';  // as the memory for positions
        } else {
            text_.append(modifier.begin(), modifier.end());
        }
        if (type == 0 || std::strchr("diouxXnpaAeEfFgGcCsS[%", type) == nullptr) {
            is_unknown_ = true;
            return;
        }
        text_ += *rest_++;
        if (type == '[') {
            copy_set();
        }
        if (assigns && (is_characters || is_string)) {
            // The C library takes each modifier but h for that of wide characters, and the width 0 for none.
            const std::size_t count = std::max(1UL, std::strtoul(width.c_str(), nullptr, 10));
            const bool is_wide = type == 'S' || type == 'C' || modifier.find_first_not_of('h') != std::string::npos;
            add({is_string ? Item::Kind::kString : Item::Kind::kCharacters, is_wide ? sizeof(wchar_t) : 1, count,
                 nullptr, 0});
        } else if (assigns && type != '%') {
            add({type == 'n' ? Item::Kind::kPosition : Item::Kind::kNumber, number_width(type, modifier), 0, nullptr,
                 0});
        }
    }

    void add(Item item) {
        if (count_ < kMostItems) {
            item.target = va_arg(arguments_, void *);
            item.capacity = item.is_text() ? va_arg(arguments_, std::size_t) : 0;
            items_[count_] = item;
        }
        ++count_;
    }

    const Char *rest_;
    va_list arguments_;
    std::basic_string<Char> text_;
    std::array<Item, kMostItems> items_;
    std::size_t count_ = 0;
    bool is_unknown_ = false;
};

template <class Scan, std::size_t... index>
int scan_into(Scan scan, const Addresses &addresses, std::index_sequence<index...>) {
    return scan(addresses[index]...);
}

// Scans by a function of the C library, which is given the format and the addresses of the values.
template <class Char, class Scan>
int scan_by(const Char *text, va_list arguments, bool is_empty, Scan scan) {
    const Format<Char> format(text, arguments);
    if (format.is_refused() || is_empty) {
        format.reset_first();
        return kFailed;
    }
    Values values = format.values();
    const Addresses addresses = format.addresses(values);
    int assigned = kFailed;
    if (format.has_memory(addresses)) {
        const int scanned = scan_into([&](auto... all) { return scan(format.text(), all...); }, addresses,
                                      std::make_index_sequence<kMostItems>());
        assigned = scanned < 0 ? kFailed : format.assign(values, scanned);
    }
    format.release(values);
    return assigned;
}

}  // namespace

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"

int vsscanf_s(const char *buffer, const char *format, va_list argList) {
    if (buffer == nullptr || format == nullptr) {
        return kFailed;
    }
    return scan_by(format, argList, *buffer == 0, [&](auto... values) { return std::sscanf(buffer, values...); });
}

int vfscanf_s(FILE *stream, const char *format, va_list argList) {
    if (stream == nullptr || format == nullptr) {
        return kFailed;
    }
    return scan_by(format, argList, false, [&](auto... values) { return std::fscanf(stream, values...); });
}

int vswscanf_s(const wchar_t *buffer, const wchar_t *format, va_list argList) {
    if (buffer == nullptr || format == nullptr) {
        return kFailed;
    }
    return scan_by(format, argList, *buffer == 0, [&](auto... values) { return std::swscanf(buffer, values...); });
}

int vfwscanf_s(FILE *stream, const wchar_t *format, va_list argList) {
    if (stream == nullptr || format == nullptr) {
        return kFailed;
    }
    return scan_by(format, argList, false, [&](auto... values) { return std::fwscanf(stream, values...); });
}

int vscanf_s(const char *format, va_list argList) { return vfscanf_s(stdin, format, argList); }

int vwscanf_s(const wchar_t *format, va_list argList) { return vfwscanf_s(stdin, format, argList); }

#define WITH_LIST(function, last, ...)                         \
    {                                                          \
        va_list arguments;                                     \
        va_start(arguments, last);                             \
        const int assigned = function(__VA_ARGS__, arguments); \
        va_end(arguments);                                     \
        return assigned;                                       \
    }

int sscanf_s(const char *buffer, const char *format, ...)
    WITH_LIST(vsscanf_s, format, buffer, format) int fscanf_s(FILE *stream, const char *format, ...)
        WITH_LIST(vfscanf_s, format, stream, format) int scanf_s(const char *format, ...)
            WITH_LIST(vscanf_s, format, format) int swscanf_s(const wchar_t *buffer, const wchar_t *format, ...)
                WITH_LIST(vswscanf_s, format, buffer, format) int fwscanf_s(FILE *stream, const wchar_t *format, ...)
                    WITH_LIST(vfwscanf_s, format, stream, format) int wscanf_s(const wchar_t *format, ...)
                        WITH_LIST(vwscanf_s, format, format)

                            char *gets_s(char *buffer, size_t destMax) {
    if (buffer == nullptr || destMax == 0 || destMax > SECUREC_STRING_MAX_LEN ||
        std::fgets(buffer, static_cast<int>(destMax), stdin) == nullptr) {
        return nullptr;
    }
    buffer[std::strcspn(buffer, "\r\n")] = '\0';
    return buffer;
}
