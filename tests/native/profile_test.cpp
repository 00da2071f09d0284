// SPDX-License-Identifier: Apache-2.0
// Profiles of cards (ASCEND_RT_SIM_PROFILE): error texts for invalid files, and the content read from valid ones.
#include "support/profile.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <locale>
#include <string>

#include "check.h"
#include "latch.h"
#include "support/json.h"

using namespace aclsim;

namespace {

// Temporary file with the given content.
class File {
  public:
    explicit File(const std::string &content) {
        const int descriptor = mkstemp(path_);
        CHECK(descriptor >= 0);
        CHECK(write(descriptor, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
        close(descriptor);
    }
    ~File() { std::remove(path_); }
    File(const File &) = delete;
    File &operator=(const File &) = delete;
    std::string path() const { return path_; }

  private:
    char path_[40] = "/tmp/aclsim-profile-XXXXXX";
};

// Returns the error text for a report, without the name of the file; "" if the report is valid.
std::string problem_of(const std::string &report, const char *product = nullptr) {
    const File file(report);
    CardProfile profile;
    try {
        read_profile(file.path(), product == nullptr ? nullptr : find_product(product), profile);
    } catch (const ProfileError &error) {
        const std::string start = "ASCEND_RT_SIM_PROFILE=" + file.path() + ": ";
        CHECK(error.text.compare(0, start.size(), start) == 0);
        return error.text.substr(start.size());
    }
    return "";
}

std::string report_of(const std::string &members) {
    return R"({"tool": "verify", "profile": {"format": 1)" + (members.empty() ? "" : ", " + members) + "}}";
}

struct Row {
    std::string report;
    std::string problem;
};

const std::string kUnknownLimit =
    R"(profile.limits has an unknown member "stream"; allowed are memory_bytes, free_memory_bytes, pinned_bytes, )"
    R"(streams, events, notifies, queue_depth, cube_cores, vector_cores, aicpu_cores, l2_bytes)";
const std::string kNoProfile = R"(it is not a JSON object with a member "profile")";
const std::string kStreams = "; allowed is a whole number from 3 to 65536";
const std::string kCost = "; allowed is a number from 0 to 1e+12";
const std::string kRate = "; allowed is a number from 1 to 1e+09";
const std::string kCode = "; allowed is a whole number from 1 to 2147483647";

const Row kRows[] = {
    // the file
    {"", "it is not JSON: a value expected, in line 1, at byte 0 of the file"},
    {R"({"profile": {"format": 1)", "it is not JSON: ',' or '}' expected, in line 1, at byte 24 of the file"},
    {"[1, 2]", kNoProfile},
    {R"({"tool": "verify"})", kNoProfile},
    {R"({"profile": 1})", "profile is 1; allowed is an object"},
    // the format
    {R"({"profile": {}})", "profile.format is missing; 1 is allowed"},
    {R"({"profile": {"format": 2}})", "profile.format is 2; allowed is 1"},
    {R"({"profile": {"format": "1"}})", R"(profile.format is "1"; allowed is 1)"},
    // names
    {report_of(R"("formats": 1)"),
     R"(profile has an unknown member "formats"; allowed are format, product, soc_name, cann_version, limits, codes, )"
     "costs"},
    {report_of(R"("product": "910D")"),
     R"(profile.product is "910D"; allowed is one of 910B, 910C, 310B, 310P, 910, 950)"},
    {report_of(R"("product": 910)"), "profile.product is 910; allowed is one of 910B, 910C, 310B, 310P, 910, 950"},
    {report_of(R"("soc_name": "")"), R"(profile.soc_name is ""; allowed is the name of a chip, of at most 63 bytes)"},
    {report_of(R"("soc_name": null)"), "profile.soc_name is null; allowed is the name of a chip, of at most 63 bytes"},
    {report_of(R"("cann_version": 8.5)"), "profile.cann_version is 8.5; allowed is a release like 8.1.RC1 or 8.5.0"},
    // limits
    {report_of(R"("limits": [])"), "profile.limits is an array; allowed is an object"},
    {report_of(R"("limits": {"stream": 7})"), kUnknownLimit},
    {report_of(R"("limits": {"streams": 2})"), "profile.limits.streams is 2" + kStreams},
    {report_of(R"("limits": {"streams": 65537})"), "profile.limits.streams is 65537" + kStreams},
    {report_of(R"("limits": {"streams": -5})"), "profile.limits.streams is -5" + kStreams},
    {report_of(R"("limits": {"streams": 1e3})"), "profile.limits.streams is 1e3" + kStreams},
    {report_of(R"("limits": {"streams": 99999999999999999999})"),
     "profile.limits.streams is 99999999999999999999" + kStreams},
    {report_of(R"("limits": {"streams": "64"})"), R"(profile.limits.streams is "64")" + kStreams},
    {report_of(R"("limits": {"streams": {}})"), "profile.limits.streams is an object" + kStreams},
    {report_of(R"("limits": {"free_memory_bytes": 2147483649, "memory_bytes": 2147483648})"),
     "profile.limits.free_memory_bytes is 2147483649; allowed is a whole number from 2097152 to 2147483648"},
    // codes
    {report_of(R"("codes": 1)"), "profile.codes is 1; allowed is an object"},
    {report_of(R"("codes": {"aclrtMallocs": {}})"),
     R"(profile.codes has an unknown member "aclrtMallocs"; allowed are functions of the C API; did you mean aclrtMalloc?)"},
    {report_of(R"("codes": {"aclsimHold": {"0": 1}})"),
     R"(profile.codes has an unknown member "aclsimHold"; allowed are functions of the C API)"},
    {report_of(R"("codes": {"aclrtMalloc": 207001})"), "profile.codes.aclrtMalloc is 207001; allowed is an object"},
    {report_of(R"("codes": {"aclrtMalloc": {"ACL": 1}})"),
     R"(profile.codes.aclrtMalloc has an unknown member "ACL"; allowed are codes that the simulator answers, and 0)"},
    {report_of(R"("codes": {"aclrtMalloc": {"4294967296": 1}})"),
     R"(profile.codes.aclrtMalloc has an unknown member "4294967296"; allowed are codes that the simulator answers, )"
     "and 0"},
    {report_of(R"("codes": {"aclrtMalloc": {"107000": 0}})"), "profile.codes.aclrtMalloc.107000 is 0" + kCode},
    {report_of(R"("codes": {"aclrtMalloc": {"0": 0}})"), "profile.codes.aclrtMalloc.0 is 0" + kCode},
    {report_of(R"("codes": {"aclrtMalloc": {"0": 2147483648}})"), "profile.codes.aclrtMalloc.0 is 2147483648" + kCode},
    // costs
    {report_of(R"("costs": null)"), "profile.costs is null; allowed is an object"},
    {report_of(R"("costs": {"copy": {"ns": 1}})"),
     R"(profile.costs has an unknown member "copy"; allowed are record, wait, copy_host_to_device, )"
     "copy_device_to_host, copy_device_to_device, fill, host_function, kernel, kernels"},
    {report_of(R"("costs": {"record": 1500})"), "profile.costs.record is 1500; allowed is an object"},
    {report_of(R"("costs": {"record": {"bytes_per_us": 1}})"),
     R"(profile.costs.record has an unknown member "bytes_per_us"; allowed are ns)"},
    {report_of(R"("costs": {"fill": {"us": 1}})"),
     R"(profile.costs.fill has an unknown member "us"; allowed are ns, bytes_per_us)"},
    {report_of(R"("costs": {"fill": {"ns": -1}})"), "profile.costs.fill.ns is -1" + kCost},
    {report_of(R"("costs": {"fill": {"ns": 1e13}})"), "profile.costs.fill.ns is 1e13" + kCost},
    {report_of(R"("costs": {"fill": {"ns": "1"}})"), R"(profile.costs.fill.ns is "1")" + kCost},
    {report_of(R"("costs": {"fill": {"bytes_per_us": 0}})"), "profile.costs.fill.bytes_per_us is 0" + kRate},
    {report_of(R"("costs": {"fill": {"bytes_per_us": 1e999}})"), "profile.costs.fill.bytes_per_us is 1e999" + kRate},
    {report_of(R"("costs": {"kernel": {"us": 1}})"),
     R"(profile.costs.kernel has an unknown member "us"; allowed are ns, bytes_per_us)"},
    {report_of(R"("costs": {"kernels": []})"), "profile.costs.kernels is an array; allowed is an object"},
    {report_of(R"("costs": {"kernels": {"ns": 1}})"), "profile.costs.kernels.ns is 1; allowed is an object"},
    {report_of(R"("costs": {"kernels": {"add": {"ns": -1}}})"), "profile.costs.kernels.add.ns is -1" + kCost},
    {report_of(R"("costs": {"kernels": {"add": {"blocks": 1}}})"),
     R"(profile.costs.kernels.add has an unknown member "blocks"; allowed are ns, bytes_per_us)"},
};

void require_same(const std::string &report, const std::string &found, const std::string &expected) {
    if (found != expected) {
        std::fprintf(stderr, "%s\n  says %s\n  not  %s\n", report.c_str(), found.c_str(), expected.c_str());
        std::abort();
    }
}

void a_wrong_file_is_explained() {
    for (const Row &row : kRows) {
        require_same(row.report, problem_of(row.report), row.problem);
    }
}

void a_file_that_cannot_be_read_is_explained() {
    const Row rows[] = {
        {"no/such/file.json",
         "ASCEND_RT_SIM_PROFILE=no/such/file.json: the file cannot be read: No such file or directory"},
        {".", "ASCEND_RT_SIM_PROFILE=.: the file cannot be read: Is a directory"},
        {"/dev/zero", "ASCEND_RT_SIM_PROFILE=/dev/zero: the file is longer than 16 MiB"},
    };
    for (const Row &row : rows) {
        CardProfile profile;
        std::string text;
        try {
            read_profile(row.report, nullptr, profile);
        } catch (const ProfileError &error) {
            text = error.text;
        }
        require_same(row.report, text, row.problem);
    }
}

void a_report_without_a_profile_can_get_one() {
    const File file(R"({"ascend_rt_report": 1})");
    CardProfile profile;
    std::string text;
    try {
        read_profile(file.path(), nullptr, profile);
    } catch (const ProfileError &error) {
        text = error.text;
    }
    require_same("a report", text,
                 "ASCEND_RT_SIM_PROFILE=" + file.path() +
                     ": it is a report without a profile, which ascend-rt verify " + "--compare " + file.path() +
                     " --profile " + file.path() + " adds to it");
}

void the_product_is_the_one_that_was_chosen() {
    CHECK(problem_of(report_of(R"("product": "910C")"), "910C").empty());
    CHECK(problem_of(report_of(""), "310P").empty());
    CHECK(problem_of(report_of(R"("product": "910C")"), "910B") ==
          "profile.product is 910C, but ASCEND_RT_SIM_PRODUCT=910B");
}

void a_profile_is_read() {
    const File file(report_of(
        R"("product": "910C", "soc_name": "Ascend910_9392", "cann_version": "8.5.0",
        "limits": {"free_memory_bytes": 20000000000, "memory_bytes": 30000000000, "streams": 34, "l2_bytes": 0},
        "codes": {"aclrtMalloc": {"207001": 207018}, "aclrtFree": {"0": 207000}},
        "costs": {"fill": {"ns": 100.5, "bytes_per_us": 2000}, "record": {"ns": 7},
                  "kernel": {"ns": 10, "bytes_per_us": 1000}, "kernels": {"add": {"bytes_per_us": 100}, "empty": {}}})"));
    CardProfile profile;
    read_profile(file.path(), nullptr, profile);
    const Product &product = profile.product;
    CHECK(std::string(product.name) == "910C");
    CHECK(std::string(product.soc_name) == "Ascend910_9392");
    CHECK(profile.cann_version == "8.5.0");
    CHECK(product.memory_bytes == 30000000000);
    CHECK(product.memory_bytes - product.used_bytes == 20000000000 / (2 << 20) * (2ULL << 20));
    CHECK(product.streams == 34);
    CHECK(product.l2_bytes == 0);
    CHECK(product.events == find_product("910C")->events);

    CHECK(profile.refuses_functions);
    CHECK(profile.answer(find_function("aclrtMalloc"), 207001) == 207018);
    CHECK(profile.answer(find_function("aclrtMalloc"), 107000) == 107000);
    CHECK(profile.answer(find_function("aclrtMalloc"), 0) == 0);
    CHECK(profile.answer(find_function("aclrtFree"), 0) == 207000);
    CHECK(profile.answer(find_function("aclrtMallocHost"), 207001) == 207001);

    CHECK(profile.has_costs);
    CHECK(profile.duration({Cost::Fill, 4000}).count() == 2101);  // 100.5 ns and 2 us, to the nearest nanosecond
    CHECK(profile.duration({Cost::Record}).count() == 7);
    CHECK(profile.duration({Cost::Wait}).count() == 0);
    CHECK(profile.duration({}).count() == 0);
    const std::string add = "add", empty = "empty", other = "mul";
    CHECK(profile.duration({Cost::Kernel, 500, &add}).count() == 5000);  // only the entry of its name counts
    CHECK(profile.duration({Cost::Kernel, 500, &empty}).count() == 0);
    CHECK(profile.duration({Cost::Kernel, 500, &other}).count() == 510);
    CHECK(profile.duration({Cost::Kernel, UINT64_MAX, &add}) == std::chrono::hours(278));  // kernels may report it
}

// Limits of different objects must not be combined: the total could be less than the amount in use.
void of_members_with_the_same_name_the_last_counts() {
    const File file(report_of(
        R"("limits": {"memory_bytes": 1099511627776, "free_memory_bytes": 2097152}, "limits": {"streams": 34})"));
    CardProfile profile;
    read_profile(file.path(), nullptr, profile);
    const Product &usual = *find_product("910B");
    CHECK(profile.product.memory_bytes == usual.memory_bytes && profile.product.used_bytes == usual.used_bytes);
    CHECK(profile.product.streams == 34);
}

class DecimalComma : public std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

void numbers_are_those_of_json_in_every_locale() {
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new DecimalComma));
    const File file(report_of(R"("limits": {"streams": 1234}, "costs": {"record": {"ns": 1234.75}})"));
    CardProfile profile;
    read_profile(file.path(), nullptr, profile);
    const std::string problem = problem_of(report_of(R"("limits": {"streams": 70000})"));
    std::locale::global(before);
    CHECK(profile.product.streams == 1234);
    CHECK(profile.duration({Cost::Record}).count() == 1235);
    require_same("70000 streams", problem, "profile.limits.streams is 70000" + kStreams);
}

void an_empty_profile_changes_nothing() {
    const File file(report_of(""));
    CardProfile profile;
    read_profile(file.path(), nullptr, profile);
    const Product &usual = *find_product("910B");
    CHECK(profile.product.bit == usual.bit && profile.product.soc_name == usual.soc_name);
    CHECK(profile.product.memory_bytes == usual.memory_bytes && profile.product.streams == usual.streams);
    CHECK(profile.codes.empty() && !profile.refuses_functions && !profile.has_costs);
}

std::string repeated(std::size_t times, const std::string &text) {
    std::string result;
    for (std::size_t i = 0; i < times; ++i) {
        result += text;
    }
    return result;
}

void a_text_beyond_a_limit_is_refused() {
    const std::string nested = R"({"other":)" + repeated(65, "\n[") + repeated(65, "]") + "}";
    CHECK(problem_of(nested) ==
          "it is not JSON: arrays are nested deeper than 64, in line 66, at byte 138 of the file");
    const std::string objects = R"({"other":)" + repeated(64, R"({"":)") + "0" + repeated(65, "}");
    CHECK(problem_of(objects) ==
          "it is not JSON: objects are nested deeper than 64, in line 1, at byte 261 of the file");
    const std::string many = R"({"other": [)" + repeated(kMostJsonValues, "0,\n") + "0]}";
    const std::string expected = "it is not JSON: there are more than 524288 values, in line 524287, ";
    require_same("many values", problem_of(many).substr(0, expected.size()), expected);
}

// Repeats a member nearly as often as a text may. A comparison of each member with all others would take minutes.
void repeated_members_take_no_time() {
    const Watchdog watchdog("a profile that repeats a member", kLongEnough);
    CHECK(problem_of(R"({"profile": {)" + repeated(400000, R"("format": 1, )") + R"("format": 1}})").empty());
}

}  // namespace

int main() {
    a_wrong_file_is_explained();
    a_file_that_cannot_be_read_is_explained();
    a_report_without_a_profile_can_get_one();
    the_product_is_the_one_that_was_chosen();
    a_profile_is_read();
    of_members_with_the_same_name_the_last_counts();
    a_text_beyond_a_limit_is_refused();
    repeated_members_take_no_time();
    numbers_are_those_of_json_in_every_locale();
    an_empty_profile_changes_nothing();
    return 0;
}
