// A strict reader of JSON, and the one thing that is hard to write. A library for it would be one more thing to find at
// build time, on every machine where pip builds this package, for a configuration file of a few lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aclsim {

struct Json {
    enum class Type { Null, Boolean, Number, String, Array, Object };

    // The member of an object; nullptr if this is not an object or has no such member.
    const Json *find(const std::string &name) const;

    Type type = Type::Null;
    std::string text;  // of a string its value, of a number or a boolean what is written
    std::vector<Json> items;
    std::vector<std::pair<std::string, Json>> members;  // of several with a name the last
};

struct JsonError {
    std::size_t line;      // from 1
    std::size_t position;  // in bytes from the beginning of the text, from 0
    std::string what;

    std::string text() const;  // what, and where
};

// Limits that keep the memory for a text below 256 MiB. The text's is for those who read it.
constexpr std::size_t kLongestJson = 16 << 20;
constexpr std::size_t kMostJsonValues = 1 << 19;

// Objects and arrays may each be nested that deep. Throws JsonError.
Json parse_json(std::string_view text, std::size_t depth);

// The text of the value, shortened, or its type.
std::string written(const Json &value);

// What a number is, whatever the program's locale has as decimal point and between thousands.
double number_of(const Json &number);

// The text as JSON has it. Bytes from 0x80 on are of UTF-8, or become U+0080 to U+00FF.
std::string quoted(const std::string &text);

}  // namespace aclsim
