// SPDX-License-Identifier: Apache-2.0
// Versions and features of the installation (device_context_init_errors.md section 10), read from ASCEND_HOME_PATH and
// the directories around the library. Without an installation, or if the user names a release, a release is simulated
// with the packages below and all features, but without a driver.
#include <dlfcn.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "api/entry.h"
#include "support/file.h"
#include "support/json.h"
#include "support/uncancelled.h"

using namespace aclsim;

namespace {

constexpr char kInstallInfo[] = "/etc/ascend_install.info";
constexpr char kVersionKey[] = "Version=";
constexpr char kNewestRelease[] = "9.2.0-beta.1";  // newest release known to the declarations
constexpr int kParents = 8;                        // directories above the library to search for its data
constexpr std::size_t kJsonDepth = 10;

// Packages in the order of aclCANNPackageName.
constexpr const char *kPackages[] = {"runtime",   "runtime",    "bisheng-compiler", "hccl",
                                     "oam-tools", "ops-legacy", "ops-legacy",       "driver"};

struct SystemPackage {
    const char *name;
    const char *key;  // key of its directory in /etc/ascend_install.info
};
constexpr SystemPackage kSystemPackages[] = {
    {"driver", "Driver_Install_Path_Param="},
    {"firmware", "Firmware_Install_Path_Param="},
};

struct Stage {
    const char *name;
    std::int64_t offset;
};
constexpr Stage kStages[] = {{"alpha", -300}, {"beta", -200}, {"rc", -100}};

struct CannAttribute {
    aclCannAttr id;
    const char *name;             // name in swFeatureList.json
    const char *const *products;  // products that have it; nullptr: all
};
constexpr const char *kNewerProducts[] = {"910B", "910C", "950", nullptr};
constexpr CannAttribute kCannAttributes[] = {
    {ACL_CANN_ATTR_INF_NAN, "INF_NAN", kNewerProducts},
    {ACL_CANN_ATTR_BF16, "BF16", kNewerProducts},
    {ACL_CANN_ATTR_JIT_COMPILE, "JIT_COMPILE", nullptr},
};

std::string trimmed(const std::string &text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Returns the rest of the first line that contains the key; empty if no line does, or the file cannot be read.
std::string read_value(const std::string &path, const char *key) {
    const Uncancelled uncancelled;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const std::size_t found = line.find(key);
        if (found != std::string::npos) {
            return trimmed(line.substr(found + std::strlen(key)));
        }
    }
    return "";
}

// Returns the path in ASCEND_HOME_PATH; empty if it is not set, or names a simulated toolkit.
std::string installation() {
    const Uncancelled uncancelled;
    const char *home = std::getenv("ASCEND_HOME_PATH");
    const std::string path = home == nullptr ? "" : home;
    return std::ifstream(path + "/simulated") ? "" : path;
}

std::string directory_of(const std::string &package) {
    for (const SystemPackage &system : kSystemPackages) {
        if (package == system.name) {
            return read_value(kInstallInfo, system.key);
        }
    }
    const std::string home = installation();
    return home.empty() ? "" : home + "/share/info";
}

std::string with_other_dashes(std::string name) {
    const bool has_dash = name.find('-') != std::string::npos;
    std::replace(name.begin(), name.end(), has_dash ? '-' : '_', has_dash ? '_' : '-');
    return name;
}

// Returns the simulated release; empty if the installation answers instead.
std::string simulated_release() { return config().cann_release.value_or(installation().empty() ? kNewestRelease : ""); }

bool is_simulated_package(const std::string &package) {
    const auto is_it = [&](const char *name) { return package == name || with_other_dashes(package) == name; };
    const auto *system = std::end(kPackages) - 1;  // the driver
    return std::any_of(std::begin(kPackages), system, is_it);
}

std::string require_version(const std::string &package) {
    const std::string release = simulated_release();
    if (!release.empty() && is_simulated_package(package)) {
        return release;
    }
    const std::string directory = directory_of(package);
    for (const std::string &name : {package, with_other_dashes(package)}) {
        const std::string version =
            directory.empty() ? "" : read_value(directory + "/" + name + "/version.info", kVersionKey);
        if (!version.empty()) {
            return version;
        }
    }
    fail_unremembered(ACL_ERROR_INVALID_FILE,
                      "no version of the package \"%s\" is installed where ASCEND_HOME_PATH or %s says, and none is "
                      "simulated",
                      package.c_str(), kInstallInfo);
}

template <std::size_t Size>
void copy_text(const std::string &text, char (&target)[Size]) {
    target[text.copy(target, Size - 1)] = '\0';
}

std::vector<std::string> split(const std::string &text) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == '.') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

// Converts "9.1.0-beta.1" to 9.1.0.beta1, a version of four parts.
std::string dotted(const std::string &version) {
    const std::size_t dash = version.find('-');
    if (dash == std::string::npos) {
        return version;
    }
    std::string stage = version.substr(dash + 1);
    stage.erase(std::remove(stage.begin(), stage.end(), '.'), stage.end());
    return version.substr(0, dash) + "." + stage;
}

void fill(aclCANNPackageVersion &out, const std::string &version) {
    std::vector<std::string> parts = split(version);
    if (parts.size() < 2) {
        fail_unremembered(ACL_ERROR_INVALID_FILE, "\"%s\" is not a version", version.c_str());
    }
    parts.resize(std::max<std::size_t>(parts.size(), 4), "0");
    out = {};
    copy_text(version, out.version);
    copy_text(parts[0], out.majorVersion);
    copy_text(parts[1], out.minorVersion);
    copy_text(parts[2], out.releaseVersion);
    copy_text(parts[3], out.patchVersion);
}

// Parser that reads a version from its start.
class VersionReader {
  public:
    explicit VersionReader(const std::string &version) : at_(version.c_str()) {}
    bool is_at_end() const { return *at_ == '\0'; }
    bool skip_one_of(const char *characters) {
        const bool is_there = !is_at_end() && std::strchr(characters, *at_) != nullptr;
        at_ += is_there ? 1 : 0;
        return is_there;
    }
    bool read_number(std::size_t most_digits, std::int64_t &value) {
        const std::size_t digits = std::strspn(at_, "0123456789");
        if (digits == 0 || digits > most_digits) {
            return false;
        }
        value = std::atoll(at_);
        at_ += digits;
        return true;
    }
    // Reads the stage before a release, ignoring case.
    const Stage *stage() {
        for (const Stage &stage : kStages) {
            if (strncasecmp(at_, stage.name, std::strlen(stage.name)) == 0) {
                at_ += std::strlen(stage.name);
                return &stage;
            }
        }
        return nullptr;
    }

  private:
    const char *at_;
};

// Reads a stage such as "-beta.1", "beta1" or ".RC2"; its number may be missing. The offset ranks the stage below the
// release.
bool read_stage(VersionReader &reader, std::int64_t &offset) {
    offset = 0;
    if (reader.is_at_end()) {
        return true;
    }
    reader.skip_one_of("-.+_ ");
    const Stage *stage = reader.stage();
    std::int64_t number = 0;
    if (stage != nullptr && !reader.is_at_end()) {
        reader.skip_one_of(".-");
        if (!reader.read_number(9, number)) {
            return false;
        }
    }
    offset = stage == nullptr ? 0 : stage->offset + number;
    return stage != nullptr && reader.is_at_end();
}

// Computes the number of a version (section 1.4): major * 10^7 + minor * 10^5 + patch * 10^3, less for a stage before
// the release.
std::int32_t version_number(const std::string &version) {
    VersionReader reader(version);
    std::int64_t major = 0;
    std::int64_t minor = 0;
    std::int64_t patch = 0;
    std::int64_t offset = 0;
    const bool is_release = reader.read_number(3, major) && reader.skip_one_of(".") && reader.read_number(9, minor) &&
                            reader.skip_one_of(".") && reader.read_number(9, patch);
    if (!is_release || !read_stage(reader, offset)) {
        fail_unremembered(ACL_ERROR_INTERNAL_ERROR, "\"%s\" has no number", version.c_str());
    }
    const std::int64_t number = major * 10'000'000 + minor * 100'000 + patch * 1000 + offset;
    if (number > INT32_MAX) {
        fail_unremembered(ACL_ERROR_INTERNAL_ERROR, "the number of \"%s\" is too large", version.c_str());
    }
    return static_cast<std::int32_t>(number);
}

// --- features of the installation ------------------------------------------------------------------------------------

std::string library_directory() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void *>(&aclGetCannAttribute), &info) == 0) {
        return "";
    }
    char *resolved = realpath(info.dli_fname, nullptr);
    const std::string path = resolved == nullptr ? "" : resolved;
    std::free(resolved);
    return path.substr(0, path.rfind('/'));
}

// Finds a file by its relative path in one of the directories above the library; returns empty if there is none.
std::string find_above_library(const char *place) {
    const Uncancelled uncancelled;
    std::string directory = library_directory();
    for (int i = 0; i < kParents && !directory.empty(); ++i) {
        directory.erase(directory.rfind('/'));
        const std::string path = directory + "/" + place;
        if (std::ifstream(path)) {
            return path;
        }
    }
    return "";
}

using MajorMinor = std::pair<std::int64_t, std::int64_t>;

MajorMinor require_major_minor(const std::string &version) {
    char *end = nullptr;
    const std::int64_t major = std::strtoll(version.c_str(), &end, 10);
    if (end == version.c_str() || *end != '.') {
        fail_unremembered(ACL_ERROR_INTERNAL_ERROR, "\"%s\" is not a version", version.c_str());
    }
    return {major, std::strtoll(end + 1, nullptr, 10)};
}

Json read_feature_list(const std::string &path) {
    const Uncancelled uncancelled;
    try {
        const std::string text = read_file(path, kLongestJson);
        return text.empty() ? Json() : parse_json(text, kJsonDepth);
    } catch (const FileError &error) {
        fail_unremembered(ACL_ERROR_PARSE_FILE, "%s: %s", path.c_str(), error.what.c_str());
    } catch (const JsonError &error) {
        fail_unremembered(ACL_ERROR_PARSE_FILE, "%s is not JSON: %s", path.c_str(), error.text().c_str());
    }
}

bool is_new_enough(const Json &features, const CannAttribute &attribute, const MajorMinor &runtime) {
    const Json *feature = features.find(attribute.name);
    const Json *needed = feature == nullptr ? nullptr : feature->find("runtimeVersion");
    return needed == nullptr || runtime >= require_major_minor(needed->text);
}

bool product_has(const CannAttribute &attribute) {
    for (const char *const *name = attribute.products; name != nullptr; ++name) {
        if (*name == nullptr) {
            return false;
        }
        if (std::strcmp(*name, config().product->name) == 0) {
            return true;
        }
    }
    return true;
}

struct AttributeList {
    std::array<aclCannAttr, std::size(kCannAttributes)> ids;
    std::size_t count = 0;
};

AttributeList read_attributes() {
    const std::string path = find_above_library("data/ascendcl_config/swFeatureList.json");
    const std::string runtime_path = find_above_library("share/info/runtime/version.info");
    const bool is_simulated = config().cann_release || (path.empty() && runtime_path.empty());
    if (path.empty() && !is_simulated) {
        fail_unremembered(ACL_ERROR_INVALID_FILE,
                          "there is no data/ascendcl_config/swFeatureList.json above the library");
    }
    const Json features = is_simulated ? Json() : read_feature_list(path);
    const MajorMinor runtime = is_simulated ? MajorMinor() : require_major_minor(read_value(runtime_path, kVersionKey));
    AttributeList list{};
    for (const CannAttribute &attribute : kCannAttributes) {
        if (is_new_enough(features, attribute, runtime) && product_has(attribute)) {
            list.ids[list.count++] = attribute.id;
        }
    }
    return list;
}

// Returns the list, which is kept once it could be read. Requires the engine lock.
const AttributeList &attributes() {
    static std::optional<AttributeList> list;
    if (!list) {
        list = read_attributes();
    }
    return *list;
}

}  // namespace

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion) {
    return checked_entry(Function::aclrtGetVersion, [&] {
        require(majorVersion, "majorVersion");
        require(minorVersion, "minorVersion");
        require(patchVersion, "patchVersion");
        *majorVersion = ACL_MAJOR_VERSION;
        *minorVersion = ACL_MINOR_VERSION;
        *patchVersion = ACL_PATCH_VERSION;
    });
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version) {
    return checked_entry(Function::aclsysGetCANNVersion, [&] {
        require(version, "version");
        const auto index = static_cast<std::size_t>(static_cast<unsigned>(name));
        if (index >= std::size(kPackages)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no package %d", static_cast<int>(name));
        }
        fill(*version, dotted(require_version(kPackages[index])));
    });
}

aclError aclsysGetVersionStr(char *pkgName, char *versionStr) {
    return checked_entry(Function::aclsysGetVersionStr, [&] {
        require(versionStr, "versionStr");
        require(pkgName, "pkgName");
        const std::string version = require_version(pkgName);
        if (version.size() >= ACL_PKG_VERSION_MAX_SIZE) {
            fail_unremembered(ACL_ERROR_INTERNAL_ERROR, "the version of %s does not fit into %d bytes", pkgName,
                              ACL_PKG_VERSION_MAX_SIZE);
        }
        std::strcpy(versionStr, version.c_str());
    });
}

aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum) {
    return checked_entry(Function::aclsysGetVersionNum, [&] {
        require(versionNum, "versionNum");
        require(pkgName, "pkgName");
        *versionNum = version_number(require_version(pkgName));
    });
}

aclError aclGetCannAttributeList(const aclCannAttr **cannAttrList, size_t *num) {
    return ungated_entry(Function::aclGetCannAttributeList, [&](Simulator &, Lock &) {
        require(cannAttrList, "cannAttrList");
        require(num, "num");
        const AttributeList &list = attributes();
        *cannAttrList = list.ids.data();
        *num = list.count;
    });
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value) {
    return ungated_entry(Function::aclGetCannAttribute, [&](Simulator &, Lock &) {
        require(value, "value");
        const AttributeList &list = attributes();
        const auto is_it = [&](const CannAttribute &attribute) { return attribute.id == cannAttr; };
        if (std::none_of(std::begin(kCannAttributes), std::end(kCannAttributes), is_it)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no attribute %d", static_cast<int>(cannAttr));
        }
        const auto end = list.ids.begin() + static_cast<std::ptrdiff_t>(list.count);
        *value = std::find(list.ids.begin(), end, cannAttr) == end ? 0 : 1;
    });
}
