// SPDX-License-Identifier: Apache-2.0
// Attributes of an operator: named values, each stored with its type.
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl_op_compiler.h"
#include "live_objects.h"
#include "refusal.h"

using companions::checked;
using companions::refuse;
using companions::require;

namespace {

template <class Value>
using List = std::vector<Value>;

using Value = std::variant<bool, std::int64_t, float, std::string, aclDataType, List<std::uint8_t>, List<std::int64_t>,
                           List<float>, List<std::string>, List<aclDataType>, List<List<std::int64_t>>>;

}  // namespace

struct aclopAttr {
    std::map<std::string, Value> values;
};

namespace {

companions::LiveObjects<aclopAttr> &attributes() {
    // Never destroyed, because threads may use it until the process ends.
    static auto *const live = new companions::LiveObjects<aclopAttr>("set of attributes");
    return *live;
}

// Sets an attribute to the result of make(), which is called after the checks of attr and name and may refuse its
// own arguments.
template <class Make>
aclError set(const char *function, aclopAttr *attr, const char *name, Make make) {
    return checked(function, [&] {
        aclopAttr &found = attributes().at(attr, "attr");
        require(name, "attrName");
        found.values[name] = make();
    });
}

template <class Element, class Source>
List<Element> list_of(int count, const Source *values) {
    if (count > 0) {
        require(values, "values");
    }
    return {values, values + (count > 0 ? count : 0)};
}

void require_each(int count, const void *const *pointers) {
    if (count < 0) {
        refuse(ACL_ERROR_INVALID_PARAM, "the number of values is " + std::to_string(count));
    }
    for (int i = 0; i < count; ++i) {
        require(pointers, "values");
        require(pointers[i], "one of the values");
    }
}

}  // namespace

aclopAttr *aclopCreateAttr(void) {
    aclopAttr *created = nullptr;
    checked("aclopCreateAttr", [&] { created = attributes().add(std::make_unique<aclopAttr>()); });
    return created;
}

void aclopDestroyAttr(const aclopAttr *attr) {
    checked("aclopDestroyAttr", [&] {
        if (attr != nullptr) {
            attributes().remove(attr);
        }
    });
}

aclError aclopSetAttrBool(aclopAttr *attr, const char *attrName, uint8_t attrValue) {
    return set("aclopSetAttrBool", attr, attrName, [&] { return Value(attrValue != 0); });
}

aclError aclopSetAttrInt(aclopAttr *attr, const char *attrName, int64_t attrValue) {
    return set("aclopSetAttrInt", attr, attrName, [&] { return Value(attrValue); });
}

aclError aclopSetAttrFloat(aclopAttr *attr, const char *attrName, float attrValue) {
    return set("aclopSetAttrFloat", attr, attrName, [&] { return Value(attrValue); });
}

aclError aclopSetAttrString(aclopAttr *attr, const char *attrName, const char *attrValue) {
    return set("aclopSetAttrString", attr, attrName, [&] {
        require(attrValue, "attrValue");
        return Value(std::string(attrValue));
    });
}

aclError aclopSetAttrDataType(aclopAttr *attr, const char *attrName, aclDataType attrValue) {
    return set("aclopSetAttrDataType", attr, attrName, [&] { return Value(attrValue); });
}

aclError aclopSetAttrListBool(aclopAttr *attr, const char *attrName, int numValues, const uint8_t *values) {
    return set("aclopSetAttrListBool", attr, attrName, [&] { return Value(list_of<std::uint8_t>(numValues, values)); });
}

aclError aclopSetAttrListInt(aclopAttr *attr, const char *attrName, int numValues, const int64_t *values) {
    return set("aclopSetAttrListInt", attr, attrName, [&] { return Value(list_of<std::int64_t>(numValues, values)); });
}

aclError aclopSetAttrListFloat(aclopAttr *attr, const char *attrName, int numValues, const float *values) {
    return set("aclopSetAttrListFloat", attr, attrName, [&] { return Value(list_of<float>(numValues, values)); });
}

aclError aclopSetAttrListDataType(aclopAttr *attr, const char *attrName, int numValues, const aclDataType *values) {
    return set("aclopSetAttrListDataType", attr, attrName,
               [&] { return Value(list_of<aclDataType>(numValues, values)); });
}

aclError aclopSetAttrListString(aclopAttr *attr, const char *attrName, int numValues, const char **values) {
    return set("aclopSetAttrListString", attr, attrName, [&] {
        require_each(numValues, reinterpret_cast<const void *const *>(values));
        return Value(list_of<std::string>(numValues, values));
    });
}

aclError aclopSetAttrListListInt(aclopAttr *attr, const char *attrName, int numLists, const int *numValues,
                                 const int64_t *const *values) {
    return set("aclopSetAttrListListInt", attr, attrName, [&] {
        require(numValues, "numValues");
        require_each(numLists, reinterpret_cast<const void *const *>(values));
        List<List<std::int64_t>> lists;
        for (int i = 0; i < numLists; ++i) {
            lists.push_back(list_of<std::int64_t>(numValues[i], values[i]));
        }
        return Value(std::move(lists));
    });
}
