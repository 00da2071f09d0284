// SPDX-License-Identifier: Apache-2.0
// Strict reader of JSON, and the quoting of strings, the only difficult part of writing it. A library would be one more
// dependency at build time, on every machine where pip builds this package, for a configuration file of a few lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aclsim {

struct Json {
    enum class Type { Null, Boolean, Number, String, Array, Object };

    // Returns the member of an object; nullptr if this is not an object or has no such member.
    const Json *find(const std::string &name) const;

    Type type = Type::Null;
    std::string text;  // value of a string, or source text of a number or boolean
    std::vector<Json> items;
    std::vector<std::pair<std::string, Json>> members;  // the last of each name
};

struct JsonError {
    std::size_t line;      // starts at 1
    std::size_t position;  // bytes from the beginning of the text, starting at 0
    std::string what;

    std::string text() const;  // the error and its place
};

// Limits that keep the memory for a text below 256 MiB. Callers that read a file enforce the length.
constexpr std::size_t kLongestJson = 16 << 20;
constexpr std::size_t kMostJsonValues = 1 << 19;

// Limits the nesting of objects and of arrays to the depth each. Throws JsonError.
Json parse_json(std::string_view text, std::size_t depth);

// Returns the shortened text of the value, or its type.
std::string written(const Json &value);

// Returns the value of a number, independent of the decimal point and thousands separator of the program's locale.
double number_of(const Json &number);

// Returns the text as a JSON string. Bytes that are not UTF-8 become U+0080 to U+00FF.
std::string quoted(const std::string &text);
// The same for text that contains names of files: such bytes become the surrogates by which Python keeps them (PEP
// 383).
std::string quoted_with_names(const std::string &text);

}  // namespace aclsim
