// SPDX-License-Identifier: Apache-2.0
#include "support/json.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <locale>
#include <set>
#include <sstream>
#include <utility>

#include "support/text.h"

namespace aclsim {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string &text, std::uint32_t code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
        return;
    }
    const int rest = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr std::uint8_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
    text += static_cast<char>(kLead[rest] | (code >> (6 * rest)));
    for (int shift = 6 * (rest - 1); shift >= 0; shift -= 6) {
        text += static_cast<char>(0x80 | ((code >> shift) & 0x3F));
    }
}

using Members = std::vector<std::pair<std::string, Json>>;

// Keeps only the last of members with the same name.
void drop_repeated(Members &members) {
    std::set<std::string_view> names;
    std::vector<bool> is_last(members.size());
    for (std::size_t i = members.size(); i-- > 0;) {
        is_last[i] = names.insert(members[i].first).second;
    }
    if (names.size() < members.size()) {
        Members kept;
        for (std::size_t i = 0; i < members.size(); ++i) {
            if (is_last[i]) {
                kept.push_back(std::move(members[i]));
            }
        }
        members = std::move(kept);
    }
}

class JsonReader {
  public:
    JsonReader(std::string_view text, std::size_t depth) : text_(text), depth_(depth) {}

    Json read() {
        Json value = read_value();
        skip_space();
        if (position_ != text_.size()) {
            fail("something follows the value");
        }
        return value;
    }

  private:
    [[noreturn]] void fail(const std::string &what) const {
        const std::string_view before = text_.substr(0, position_);
        const auto lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
        throw JsonError{lines + 1, position_, what};
    }

    char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

    void skip_space() {
        while (position_ < text_.size() && std::strchr(" \t\r\n", text_[position_]) != nullptr) {
            ++position_;
        }
    }

    bool accept(char c) {
        skip_space();
        if (position_ == text_.size() || text_[position_] != c) {
            return false;
        }
        ++position_;
        return true;
    }

    void expect(char c, const char *what) {
        if (!accept(c)) {
            fail(what);
        }
    }

    Json read_value() {
        skip_space();
        if (++values_ > kMostJsonValues) {
            fail("there are more than " + std::to_string(kMostJsonValues) + " values");
        }
        switch (peek()) {
            case '{':
                return read_object();
            case '[':
                return read_array();
            case '"':
                return {Json::Type::String, read_string(), {}, {}};
            case 't':
                return read_word("true", Json::Type::Boolean);
            case 'f':
                return read_word("false", Json::Type::Boolean);
            case 'n':
                return read_word("null", Json::Type::Null);
            default:
                return read_number();
        }
    }

    void enter(std::size_t &depth, const char *what) {
        if (++depth > depth_) {
            fail(what + (" are nested deeper than " + std::to_string(depth_)));
        }
        ++position_;
    }

    Json read_object() {
        Json object{Json::Type::Object, {}, {}, {}};
        enter(objects_, "objects");
        if (!accept('}')) {
            do {
                skip_space();
                std::string name = read_string();
                expect(':', "':' expected");
                object.members.emplace_back(std::move(name), read_value());
            } while (accept(','));
            expect('}', "',' or '}' expected");
        }
        drop_repeated(object.members);
        --objects_;
        return object;
    }

    Json read_array() {
        Json array{Json::Type::Array, {}, {}, {}};
        enter(arrays_, "arrays");
        if (!accept(']')) {
            do {
                array.items.push_back(read_value());
            } while (accept(','));
            expect(']', "',' or ']' expected");
        }
        --arrays_;
        return array;
    }

    Json read_word(const char *word, Json::Type type) {
        if (text_.compare(position_, std::strlen(word), word) != 0) {
            fail("a value expected");
        }
        position_ += std::strlen(word);
        return {type, word, {}, {}};
    }

    void read_digits() {
        if (!is_digit(peek())) {
            fail("a value expected");
        }
        while (is_digit(peek())) {
            ++position_;
        }
    }

    Json read_number() {
        const std::size_t begin = position_;
        position_ += peek() == '-' ? 1 : 0;
        if (peek() == '0') {
            ++position_;
        } else {
            read_digits();
        }
        if (peek() == '.') {
            ++position_;
            read_digits();
        }
        if (peek() == 'e' || peek() == 'E') {
            ++position_;
            position_ += peek() == '+' || peek() == '-' ? 1 : 0;
            read_digits();
        }
        return {Json::Type::Number, std::string(text_.substr(begin, position_ - begin)), {}, {}};
    }

    std::string read_string() {
        if (peek() != '"') {
            fail("a string expected");
        }
        ++position_;
        std::string value;
        while (peek() != '"') {
            if (static_cast<unsigned char>(peek()) < 0x20) {  // includes the end of the text
                fail("a string does not end, or holds a control character");
            }
            if (peek() == '\\') {
                read_escape(value);
            } else {
                value += text_[position_++];
            }
        }
        ++position_;
        return value;
    }

    void read_escape(std::string &value) {
        static constexpr char kNames[] = "\"\\/bfnrt";
        static constexpr char kValues[] = "\"\\/\b\f\n\r\t";
        ++position_;
        if (peek() == 'u') {
            append_utf8(value, read_code_point());
            return;
        }
        const char *name = peek() == '\0' ? nullptr : std::strchr(kNames, peek());
        if (name == nullptr) {
            fail("unknown escape");
        }
        value += kValues[name - kNames];
        ++position_;
    }

    std::uint32_t read_hex() {  // reads the four digits after \u
        ++position_;
        std::uint32_t code = 0;
        for (int i = 0; i < 4; ++i, ++position_) {
            static constexpr char kDigits[] = "0123456789abcdefABCDEF";
            const char *digit = peek() == '\0' ? nullptr : std::strchr(kDigits, peek());
            if (digit == nullptr) {
                fail("four hexadecimal digits expected");
            }
            const auto value = static_cast<std::uint32_t>(digit - kDigits);
            code = code * 16 + (value < 16 ? value : value - 6);
        }
        return code;
    }

    std::uint32_t read_code_point() {
        const std::uint32_t first = read_hex();
        if (first < 0xD800 || first > 0xDFFF) {
            return first;
        }
        if (first > 0xDBFF || text_.compare(position_, 2, "\\u") != 0) {
            fail("half of a surrogate pair");
        }
        ++position_;
        const std::uint32_t second = read_hex();
        if (second < 0xDC00 || second > 0xDFFF) {
            fail("half of a surrogate pair");
        }
        return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    }

    const std::string_view text_;
    const std::size_t depth_;
    std::size_t values_ = 0;
    std::size_t position_ = 0;
    std::size_t objects_ = 0;
    std::size_t arrays_ = 0;
};

}  // namespace

const Json *Json::find(const std::string &name) const {
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const auto &member) { return member.first == name; });
    return found == members.end() ? nullptr : &found->second;
}

std::string JsonError::text() const {
    return what + ", in line " + std::to_string(line) + ", at byte " + std::to_string(position) + " of the file";
}

Json parse_json(std::string_view text, std::size_t depth) { return JsonReader(text, depth).read(); }

std::string written(const Json &value) {
    switch (value.type) {
        case Json::Type::Object:
            return "an object";
        case Json::Type::Array:
            return "an array";
        case Json::Type::Null:
            return "null";
        case Json::Type::String:
            return quoted(value.text.substr(0, 40));
        default:
            return value.text.substr(0, 40);
    }
}

double number_of(const Json &number) {
    double value = 0;
    std::istringstream text(number.text);
    text.imbue(std::locale::classic());
    text >> value;
    return value;
}

namespace {

std::string escape_of(unsigned code) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", code);
    return escape;
}

// Bytes that are not UTF-8 become characters from the first one on.
std::string quoted(const std::string &text, unsigned first) {
    std::string result = "\"";
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const std::size_t length = std::max<std::size_t>(utf8_length(text, i), 1);
        if (byte < 0x20) {
            result += escape_of(byte);
        } else if (byte >= 0x80 && length == 1) {
            result += escape_of(first + byte);
        } else {
            result += byte == '"' || byte == '\\' ? "\\" : "";
            result += text.substr(i, length);
        }
        i += length;
    }
    return result + "\"";
}

}  // namespace

std::string quoted(const std::string &text) { return quoted(text, 0); }

std::string quoted_with_names(const std::string &text) { return quoted(text, 0xDC00); }

}  // namespace aclsim
