// SPDX-License-Identifier: Apache-2.0
// Bounded functions of libc_sec: values, codes, and what is left in a destination that was refused.
#include "securec.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "check.h"

namespace {

constexpr std::size_t kTooLarge = SECUREC_MEM_MAX_LEN + 1;
constexpr std::ptrdiff_t kNone = -1;  // NULL

// A call with a destination and a source in one array.
struct Call {
    int line;
    std::string array;
    std::ptrdiff_t dest;
    std::size_t size;
    std::ptrdiff_t src;
    std::size_t count;
    errno_t code;
    std::string after;
};

char *at(char *array, std::ptrdiff_t offset) { return offset == kNone ? nullptr : array + offset; }

template <class Function>
void check_calls(const Call *calls, std::size_t count, Function function) {
    for (const Call *call = calls; call != calls + count; ++call) {
        char array[32] = {};
        std::memcpy(array, call->array.data(), call->array.size());
        const errno_t code = function(at(array, call->dest), call->size, at(array, call->src), call->count);
        if (code != call->code || std::memcmp(array, call->after.data(), call->after.size()) != 0) {
            std::fprintf(stderr, "%s:%d: %d, not %d; \"%s\"\n", __FILE__, call->line, code, call->code, array);
            std::abort();
        }
    }
}

using namespace std::string_literals;

void memory() {
    const Call calls[] = {
        {__LINE__, "abcdefgh", 4, 4, 0, 3, EOK, "abcdabch"},
        {__LINE__, "abcdefgh", 4, 4, 0, 0, EOK, "abcdefgh"},
        {__LINE__, "abcdefgh", 4, 4, 4, 4, EOK, "abcdefgh"},
        {__LINE__, "abcdefgh", 4, 4, 0, 5, ERANGE_AND_RESET, "abcd\0\0\0\0"s},
        {__LINE__, "abcdefgh", 4, 0, 0, 0, ERANGE, "abcdefgh"},
        {__LINE__, "abcdefgh", 4, kTooLarge, 0, 2, ERANGE, "abcdefgh"},
        {__LINE__, "abcdefgh", kNone, 4, 0, 2, EINVAL, "abcdefgh"},
        {__LINE__, "abcdefgh", 4, 2, kNone, 2, EINVAL_AND_RESET, "abcd\0\0gh"s},
    };
    check_calls(calls, std::size(calls), memcpy_s);
    check_calls(calls, std::size(calls), memmove_s);
    const Call overlaps[] = {
        {__LINE__, "abcdefgh", 2, 5, 0, 3, EOVERLAP_AND_RESET, "ab\0\0\0\0\0h"s},
        {__LINE__, "abcdefgh", 0, 3, 2, 3, EOVERLAP_AND_RESET, "\0\0\0defgh"s},
        {__LINE__, "abcdefgh", 2, 5, 0, 2, EOK, "ababefgh"},
    };
    check_calls(overlaps, std::size(overlaps), memcpy_s);
    const Call moves[] = {
        {__LINE__, "abcdefgh", 2, 5, 0, 3, EOK, "ababcfgh"},
        {__LINE__, "abcdefgh", 0, 3, 2, 3, EOK, "cdedefgh"},
    };
    check_calls(moves, std::size(moves), memmove_s);
    const Call fills[] = {
        {__LINE__, "abcdefgh", 2, 4, kNone, 3, EOK, "abxxxfgh"},
        {__LINE__, "abcdefgh", 2, 4, kNone, 5, ERANGE_AND_RESET, "abxxxxgh"},
        {__LINE__, "abcdefgh", 2, 0, kNone, 0, EOK, "abcdefgh"},
        {__LINE__, "abcdefgh", 2, 0, kNone, 1, ERANGE, "abcdefgh"},
        {__LINE__, "abcdefgh", 2, kTooLarge, kNone, 1, ERANGE, "abcdefgh"},
        {__LINE__, "abcdefgh", kNone, 4, kNone, 1, EINVAL, "abcdefgh"},
    };
    check_calls(fills, std::size(fills), [](char *dest, std::size_t size, char *, std::size_t count) {
        return memset_s(dest, size, 'x', count);
    });
}

void strings() {
    const Call copies[] = {
        {__LINE__, "ab\0defgh"s, 4, 3, 0, 0, EOK, "ab\0dab\0h"s},
        {__LINE__, "ab\0defgh"s, 4, 2, 0, 0, ERANGE_AND_RESET, "ab\0d\0fgh"s},
        {__LINE__, "ab\0defgh"s, 2, 4, 0, 0, EOVERLAP_AND_RESET, "ab\0defgh"s},
        {__LINE__, "ab\0defgh"s, 0, 4, 0, 0, EOK, "ab\0defgh"s},
        {__LINE__, "ab\0defgh"s, 4, 0, 0, 0, ERANGE, "ab\0defgh"s},
        {__LINE__, "ab\0defgh"s, 4, kTooLarge, 0, 0, ERANGE, "ab\0defgh"s},
        {__LINE__, "ab\0defgh"s, 4, 3, kNone, 0, EINVAL_AND_RESET, "ab\0d\0fgh"s},
        {__LINE__, "ab\0defgh"s, kNone, 3, 0, 0, EINVAL, "ab\0defgh"s},
    };
    check_calls(copies, std::size(copies),
                [](char *dest, std::size_t size, char *src, std::size_t) { return strcpy_s(dest, size, src); });
    const Call parts[] = {
        {__LINE__, "abcdefgh", 4, 4, 0, 2, EOK, "abcdab\0h"s},
        {__LINE__, "abcdefgh", 4, 4, 0, 0, EOK, "abcd\0fgh"s},
        {__LINE__, "a\0cdefgh"s, 4, 4, 0, 3, EOK, "a\0cda\0gh"s},
        {__LINE__, "abcdefgh", 4, 2, 0, 2, ERANGE_AND_RESET, "abcd\0fgh"s},
        {__LINE__, "abcdefgh", 4, 4, 0, kTooLarge, ERANGE_AND_RESET, "abcd\0fgh"s},
        {__LINE__, "abcdefgh", 1, 6, 0, 3, EOVERLAP_AND_RESET, "a\0cdefgh"s},
        {__LINE__, "abcdefgh", 4, 0, 0, 2, ERANGE, "abcdefgh"},
        {__LINE__, "abcdefgh", 4, 4, kNone, 2, EINVAL_AND_RESET, "abcd\0fgh"s},
        {__LINE__, "abcdefgh", kNone, 4, 0, 2, EINVAL, "abcdefgh"},
    };
    check_calls(parts, std::size(parts), strncpy_s);
    const Call appended[] = {
        {__LINE__, "ab\0d\0fgh"s, 3, 4, 0, 2, EOK, "ab\0dab\0h"s},
        {__LINE__, "ab\0d\0fgh"s, 3, 4, 0, 1, EOK, "ab\0da\0gh"s},
        {__LINE__, "ab\0d\0fgh"s, 3, 3, 0, 2, ERANGE_AND_RESET, "ab\0\0\0fgh"s},
        {__LINE__, "ab\0defgh"s, 3, 3, 0, 2, EINVAL_AND_RESET, "ab\0\0efgh"s},
        {__LINE__, "ab\0d\0fgh"s, 1, 6, 0, 2, EOVERLAP_AND_RESET, "a\0\0d\0fgh"s},
        {__LINE__, "ab\0d\0fgh"s, 3, 4, 0, kTooLarge, ERANGE_AND_RESET, "ab\0\0\0fgh"s},
        {__LINE__, "ab\0d\0fgh"s, 3, 0, 0, 2, ERANGE, "ab\0d\0fgh"s},
        {__LINE__, "ab\0d\0fgh"s, 3, 4, kNone, 2, EINVAL_AND_RESET, "ab\0\0\0fgh"s},
        {__LINE__, "ab\0d\0fgh"s, kNone, 4, 0, 2, EINVAL, "ab\0d\0fgh"s},
    };
    check_calls(appended, std::size(appended), strncat_s);
    char text[8] = "ab";
    CHECK(strcat_s(text, sizeof text, "cdefg") == EOK && std::string(text) == "abcdefg");
    CHECK(strcat_s(text, sizeof text, "h") == ERANGE_AND_RESET && text[0] == '\0');
}

void wide() {
    wchar_t text[8] = L"ab";
    CHECK(wcscpy_s(text, 8, L"abc") == EOK && std::wstring(text) == L"abc");
    CHECK(wcscat_s(text, 8, L"def") == EOK && std::wstring(text) == L"abcdef");
    CHECK(wcsncat_s(text, 8, L"ghi", 1) == EOK && std::wstring(text) == L"abcdefg");
    CHECK(wcscat_s(text, 8, L"h") == ERANGE_AND_RESET && text[0] == 0);
    CHECK(wcsncpy_s(text, 8, L"abcdefgh", 3) == EOK && std::wstring(text) == L"abc");
    CHECK(wcsncpy_s(text, 3, L"abc", 3) == ERANGE_AND_RESET && text[0] == 0);
    CHECK(wmemcpy_s(text, 8, L"uvwxyz", 7) == EOK && std::wstring(text) == L"uvwxyz");
    CHECK(wmemcpy_s(text + 1, 4, text, 2) == EOVERLAP_AND_RESET && text[0] == L'u' && text[4] == 0 && text[5] == L'z');
    CHECK(wmemmove_s(text, 2, text + 5, 1) == EOK && text[0] == L'z');
    CHECK(wmemcpy_s(text, 2, L"abc", 3) == ERANGE_AND_RESET && text[0] == 0 && text[1] == 0);
    CHECK(wmemcpy_s(text, SECUREC_WCHAR_MEM_MAX_LEN + 1, L"a", 1) == ERANGE);
    CHECK(wmemcpy_s(text, 2, L"abc", SIZE_MAX) == ERANGE_AND_RESET);
    CHECK(swprintf_s(text, 8, L"%d-%ls", 12, L"xyz") == 6 && std::wstring(text) == L"12-xyz");
    CHECK(swprintf_s(text, 6, L"%d-%ls", 12, L"xyz") == -1 && text[0] == 0);
}

void tokens() {
    char text[] = ",,a,;b;";
    char *rest = nullptr;
    CHECK(std::string(strtok_s(text, ",;", &rest)) == "a");
    CHECK(std::string(strtok_s(nullptr, ",;", &rest)) == "b");
    CHECK(strtok_s(nullptr, ",;", &rest) == nullptr);
    CHECK(strtok_s(nullptr, ",;", &rest) == nullptr);
    CHECK(strtok_s(text, nullptr, &rest) == nullptr);
    CHECK(strtok_s(text, ",", nullptr) == nullptr);
    rest = nullptr;
    CHECK(strtok_s(nullptr, ",", &rest) == nullptr);
    wchar_t wide_text[] = L"a b";
    wchar_t *wide_rest = nullptr;
    CHECK(std::wstring(wcstok_s(wide_text, L" ", &wide_rest)) == L"a");
    CHECK(std::wstring(wcstok_s(nullptr, L" ", &wide_rest)) == L"b");
}

void printing() {
    char text[8] = "before";
    CHECK(sprintf_s(text, sizeof text, "%d-%s", 12, "abcd") == 7 && std::string(text) == "12-abcd");
    CHECK(sprintf_s(text, sizeof text, "%d-%s", 12, "abcde") == -1 && text[0] == '\0');
    CHECK(snprintf_s(text, sizeof text, 3, "%s", "abc") == 3 && std::string(text) == "abc");
    CHECK(snprintf_s(text, sizeof text, 3, "%s", "abcd") == -1 && std::string(text) == "abc");
    CHECK(snprintf_s(text, sizeof text, sizeof text, "%s", "abcdefgh") == -1 && text[0] == '\0');
    CHECK(snprintf_truncated_s(text, sizeof text, "%s", "abcdefgh") == 7 && std::string(text) == "abcdefg");
    const char *const no_format = nullptr;
    CHECK(sprintf_s(text, sizeof text, no_format) == -1 && text[0] == '\0');
    CHECK(sprintf_s(nullptr, 8, "%d", 1) == -1);
    std::strcpy(text, "before");
    CHECK(sprintf_s(text, 0, "%d", 1) == -1 && text[0] == 'b');
    CHECK(sprintf_s(text, kTooLarge, "%d", 1) == -1 && text[0] == 'b');
    CHECK(snprintf_s(text, sizeof text, SECUREC_STRING_MAX_LEN, "%d", 1) == -1 && text[0] == '\0');
}

void scanning() {
    int number = 0;
    short small = 0;
    double real = 0;
    long long large = 0;
    char text[8] = "before", set[4] = {}, characters[3] = {'x', 'x', 'x'};
    wchar_t wide_text[4] = {};
    CHECK(sscanf_s("12 34 5.5 -6", "%d %hd %lf %lld", &number, &small, &real, &large) == 4);
    CHECK(number == 12 && small == 34 && real == 5.5 && large == -6);
    CHECK(sscanf_s("abc:7 xy", "%[a-z]:%d %2c", set, sizeof set, &number, characters, sizeof characters) == 3);
    CHECK(std::string(set) == "abc" && number == 7 && std::memcmp(characters, "xyx", 3) == 0);
    CHECK(sscanf_s("a]b", "%[]a]%s", set, sizeof set, text, sizeof text) == 2);
    CHECK(std::string(set) == "a]" && std::string(text) == "b");
    // The string that does not fit is emptied, and nothing behind it is assigned.
    CHECK(sscanf_s("1 abcd 2", "%d %s %d", &number, set, sizeof set, &number) == 1);
    CHECK(number == 1 && set[0] == '\0');
    CHECK(sscanf_s("abc", "%s", text, std::size_t{0}) == 0);
    CHECK(sscanf_s("5 abc", "%*d %ls", wide_text, std::size_t{4}) == 1 && std::wstring(wide_text) == L"abc");
    int position = -1, behind = -1;
    CHECK(sscanf_s("12ab", "%d%n%d%n", &number, &position, &small, &behind) == 1 && position == 2 && behind == -1);
    CHECK(sscanf_s("50%", "%d%%", &number) == 1 && number == 50);
    std::string long_text(255, ' ');
    signed char low = 0;
    CHECK(sscanf_s((long_text + "7").c_str(), " %n%d", &position, &number) == 1 && position == 255 && number == 7);
    CHECK(sscanf_s((long_text + "7").c_str(), " %hhn%d", &low, &number) == 1 && low == -1);
    CHECK(sscanf_s("xy", "%0c", text, sizeof text) == 1 && text[0] == 'x');
    CHECK(sscanf_s("xy", "%Lc", wide_text, std::size_t{4}) == 1 && wide_text[0] == L'x');
    float reals[2] = {0, 9};
    CHECK(sscanf_s("2.5", "%hf", reals) == 1 && reals[0] == 2.5F && reals[1] == 9);
    // Conversions of the C library that are none here.
    for (const char *const format : {"%ms", "%'d", "%Id", "%1$d", "%y", "%", "%l", "%*y"}) {
        CHECK(sscanf_s("12", format, &number, sizeof number) == -1);
    }
    std::strcpy(text, "before");
    CHECK(sscanf_s("", "%s", text, sizeof text) == -1 && text[0] == '\0');
    CHECK(sscanf_s("1", "%d", static_cast<int *>(nullptr)) == -1);
    CHECK(sscanf_s("a", "%s", static_cast<char *>(nullptr), std::size_t{4}) == -1);
    CHECK(sscanf_s(nullptr, "%d", &number) == -1);
    CHECK(sscanf_s("1", nullptr) == -1);
    CHECK(swscanf_s(L"7 abc", L"%d %s", &number, text, sizeof text) == 2 && number == 7 && std::string(text) == "abc");
    CHECK(sscanf_s("1", "%9223372036854775807c", text, sizeof text) == -1);  // more than memory
}

template <std::size_t... index>
void more_items_than_are_supported(std::index_sequence<index...>) {
    std::string format, input;
    int numbers[sizeof...(index)] = {};
    for (std::size_t i = 0; i < sizeof...(index); ++i) {
        format += "%d";
        input += "1 ";
    }
    CHECK(sscanf_s(input.c_str(), format.c_str(), &numbers[index]...) == -1);
    CHECK(numbers[0] == 0);
    CHECK(sscanf_s(input.c_str(), format.substr(2).c_str(), &numbers[index]...) == sizeof...(index) - 1);
}

void files() {
    std::FILE *file = std::tmpfile();
    std::fputs("17 word\n", file);
    std::rewind(file);
    int number = 0;
    char text[5] = {};
    CHECK(fscanf_s(file, "%d %s", &number, text, sizeof text) == 2 && number == 17 && std::string(text) == "word");
    CHECK(fscanf_s(file, "%d", &number) == -1);
    CHECK(fscanf_s(nullptr, "%d", &number) == -1);
    std::rewind(file);
    CHECK(dup2(fileno(file), 0) == 0);
    char line[5];
    CHECK(gets_s(line, sizeof line) == line && std::string(line) == "17 w");
    CHECK(scanf_s("%3s", text, sizeof text) == 1 && std::string(text) == "ord");
    CHECK(gets_s(line, sizeof line) == line && line[0] == '\0');
    CHECK(gets_s(line, sizeof line) == nullptr);
    CHECK(gets_s(nullptr, 4) == nullptr && gets_s(line, 0) == nullptr);
    std::fclose(file);
}

// --- random calls against what they must do --------------------------------------------------------------------------

constexpr std::ptrdiff_t kMargin = 8;
constexpr std::size_t kMost = 24;
constexpr char kUntouched = '\x5A';

// A destination inside memory that must not change.
struct Guarded {
    char array[kMost + 2 * kMargin];
    char *const dest = array + kMargin;

    Guarded() { std::memset(array, kUntouched, sizeof array); }

    bool is_kept(std::size_t size) const {
        return std::count(array, array + kMargin, kUntouched) == kMargin &&
               std::count(array + kMargin + size, array + sizeof array, kUntouched) ==
                   static_cast<std::ptrdiff_t>(kMost - size) + kMargin;
    }
};

// Checks a function on strings: the text that it must leave, unless the text with its end is longer than the size.
void check_text(const Guarded &guarded, std::size_t size, errno_t code, const std::string &text) {
    CHECK(guarded.is_kept(size));
    if (size == 0) {
        CHECK(code == ERANGE);
        return;
    }
    CHECK(code == (text.size() < size ? EOK : ERANGE_AND_RESET));
    CHECK(std::string(guarded.dest) == (code == EOK ? text : ""));
}

void random_calls() {
    std::minstd_rand random(37);
    const auto below = [&](std::size_t end) { return random() % end; };
    for (int round = 0; round < 20'000; ++round) {
        const std::size_t size = below(kMost + 1), count = below(kMost + 4);
        const std::string text(below(kMost + 4), static_cast<char>('a' + below(26)));
        // On the heap, where a sanitizer sees reads behind it. The first has no end, which counts must not pass.
        const std::vector<char> open(text.begin(), text.end());
        const std::string present(size == 0 ? 0 : below(size), '-');
        const std::string part = text.substr(0, count);
        Guarded set, copied, moved, whole, some, joined, joined_part, printed;

        const errno_t set_code = memset_s(set.dest, size, 'x', count);
        CHECK(set.is_kept(size) && set_code == (count <= size ? EOK : size == 0 ? ERANGE : ERANGE_AND_RESET));
        CHECK(std::count(set.dest, set.dest + size, 'x') == static_cast<std::ptrdiff_t>(std::min(size, count)));

        const errno_t fits = size == 0 ? ERANGE : text.size() <= size ? EOK : ERANGE_AND_RESET;
        CHECK(memcpy_s(copied.dest, size, open.empty() ? "" : open.data(), open.size()) == fits);
        CHECK(memmove_s(moved.dest, size, open.empty() ? "" : open.data(), open.size()) == fits);
        for (const Guarded *const each : {&copied, &moved}) {
            CHECK(each->is_kept(size));
            CHECK(fits == EOK ? std::equal(text.begin(), text.end(), each->dest)
                              : fits == ERANGE || std::count(each->dest, each->dest + size, '\0') ==
                                                      static_cast<std::ptrdiff_t>(size));
        }

        check_text(whole, size, strcpy_s(whole.dest, size, text.c_str()), text);
        const bool is_open = count <= open.size() && !open.empty();
        check_text(some, size, strncpy_s(some.dest, size, is_open ? open.data() : text.c_str(), count), part);
        std::strcpy(joined.dest, present.c_str());
        std::strcpy(joined_part.dest, present.c_str());
        if (size > 0) {
            check_text(joined, size, strcat_s(joined.dest, size, text.c_str()), present + text);
            check_text(joined_part, size,
                       strncat_s(joined_part.dest, size, is_open ? open.data() : text.c_str(), count), present + part);
        }

        const int length = snprintf_s(printed.dest, size, count, "%s", text.c_str());
        const bool is_cut = count < size;
        CHECK(printed.is_kept(size));
        CHECK(length == (size == 0 || text.size() > (is_cut ? count : size - 1) ? -1 : static_cast<int>(text.size())));
        CHECK(size == 0 || std::string(printed.dest) == (length >= 0 ? text : is_cut ? part : ""));
    }
}

}  // namespace

int main() {
    memory();
    strings();
    wide();
    tokens();
    printing();
    scanning();
    more_items_than_are_supported(std::make_index_sequence<65>());
    random_calls();
    files();
    unsigned short number = 0;
    CHECK(GetHwSecureCVersion(&number) != nullptr && number == 0x510);
    return 0;
}
