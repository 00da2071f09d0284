// SPDX-License-Identifier: Apache-2.0
// Findings of the checks: every process has a file of whole lines, which are JSON whatever the program's names are, and
// a file that cannot be written disturbs nothing.
#include "support/findings.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "support/json.h"
#include "support/text.h"

namespace {

using aclsim::Json;

std::string g_directory;

std::string text_of_file(const std::string &path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

std::vector<std::string> lines_of(pid_t process) {
    std::istringstream text(text_of_file(g_directory + "/" + std::to_string(process) + ".jsonl"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
        lines.push_back(line);
    }
    return lines;
}

struct Ended {
    pid_t process;
    int status;
    std::string errors;
};

// Runs the function in a process with that directory for findings.
Ended run(const std::string &directory, const std::function<void()> &body) {
    const std::string errors = g_directory + "/errors";
    const pid_t process = fork();
    CHECK(process >= 0);
    if (process == 0) {
        CHECK(std::freopen(errors.c_str(), "w", stderr) != nullptr);
        setenv("ASCEND_RT_SIM_CHECK", "memory", 1);
        setenv("ASCEND_RT_SIM_CHECK_DIRECTORY", directory.c_str(), 1);
        body();
        std::exit(0);
    }
    int status = 0;
    CHECK(waitpid(process, &status, 0) == process);
    return {process, status, text_of_file(errors)};
}

void a_process_has_a_first_and_a_last_line() {
    const Ended ended = run(g_directory, [] { CHECK_OK(aclrtSetDevice(0)); });
    CHECK(ended.status == 0 && ended.errors.empty());
    const std::string first = R"({"kind":"process","format":1,"pid":)" + std::to_string(ended.process) +
                              R"(,"product":"910B","checks":["memory"]})";
    CHECK((lines_of(ended.process) == std::vector<std::string>{first, R"({"kind":"end"})"}));
}

void a_mistake_is_a_line() {
    const Ended ended = run(g_directory, [] {
        void *memory = nullptr;
        CHECK_OK(aclrtSetDevice(0));
        CHECK_OK(aclrtMalloc(&memory, 100, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK_OK(aclrtMemset(memory, 110, 0, 110));
        CHECK(aclsimGetCheckReports() == 1);
        _exit(0);
    });
    CHECK(ended.status == 0 && ended.errors.empty());
    const auto lines = lines_of(ended.process);
    CHECK(lines.size() == 2);
    const Json finding = aclsim::parse_json(lines[1], 8);
    CHECK(finding.find("kind")->text == "memory" && finding.find("id")->text == "1");
    CHECK(finding.find("text")->text.find("10 of them past the end of 100 bytes") != std::string::npos);
    CHECK(!finding.find("frames")->items.empty());
}

void a_forked_child_has_its_file() {
    static int to_parent[2];
    CHECK(pipe(to_parent) == 0);
    const Ended ended = run(g_directory, [] {
        aclsim::write_finding(R"({"of":"parent"})");
        const pid_t child = fork();
        if (child == 0) {
            aclsim::write_finding(R"({"of":"child"})");
            _exit(0);
        }
        CHECK(waitpid(child, nullptr, 0) == child);
        CHECK(write(to_parent[1], &child, sizeof child) == sizeof child);
    });
    pid_t child = 0;
    CHECK(read(to_parent[0], &child, sizeof child) == sizeof child);
    CHECK(lines_of(ended.process).size() == 3 && lines_of(ended.process)[1] == R"({"of":"parent"})");
    CHECK(lines_of(child).size() == 2 && lines_of(child)[1] == R"({"of":"child"})");
    CHECK(lines_of(child)[0].find("\"pid\":" + std::to_string(child) + ",") != std::string::npos);
}

void lines_of_many_threads_stay_whole() {
    constexpr int kThreads = 4, kLines = 200;
    const std::string line = "{\"text\":\"" + std::string(3000, 'x') + "\"}";
    const Ended ended = run(g_directory, [&] {
        std::vector<std::thread> threads;
        for (int i = 0; i < kThreads; ++i) {
            threads.emplace_back([&] {
                for (int count = 0; count < kLines; ++count) {
                    aclsim::write_finding(line);
                }
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    });
    const auto lines = lines_of(ended.process);
    CHECK(lines.size() == kThreads * kLines + 2);
    for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
        CHECK(lines[i] == line);
    }
}

std::size_t count_of(const std::string &part, const std::string &text) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

void a_full_file_is_noted_once() {
    const Ended ended = run(g_directory, [] {
        std::signal(SIGXFSZ, SIG_IGN);
        aclsim::write_finding("{}");
        const rlim_t size = 200;
        rlimit limit{size, RLIM_INFINITY};
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        for (int count = 0; count < 3; ++count) {
            aclsim::write_finding("{\"text\":\"" + std::string(300, 'x') + "\"}");
        }
        limit.rlim_cur = RLIM_INFINITY;
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        aclsim::write_finding(R"({"kind":"late"})");
    });
    CHECK(ended.status == 0);
    CHECK(count_of("a finding cannot be written", ended.errors) == 1 && count_of("\n", ended.errors) == 1);
    const auto lines = lines_of(ended.process);
    CHECK(lines.size() == 5 && lines[3] == R"({"kind":"late"})");  // behind the part of the line that was cut
}

void a_missing_directory_is_noted_once() {
    const Ended ended = run(g_directory + "/missing", [] {
        CHECK_OK(aclrtSetDevice(0));
        aclsim::write_finding("{}");
        aclsim::write_finding("{}");
    });
    CHECK(ended.status == 0);
    CHECK(count_of("cannot be written: No such file or directory", ended.errors) == 1);
    CHECK(count_of("\n", ended.errors) == 1);
}

// A path may have any bytes, and JSON is UTF-8: bytes that are not become characters.
void any_name_is_utf8() {
    for (const char *const name :
         {"plain \"\\\n\t\x01", "\xC3\xA9", "\xFF\xFE", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
        const std::string text = aclsim::quoted(name);
        CHECK(aclsim::is_utf8(text));
        CHECK(aclsim::parse_json(text, 1).type == Json::Type::String);
    }
    CHECK(aclsim::parse_json(aclsim::quoted("\xC3\xA9"), 1).text == "\xC3\xA9");
    CHECK(aclsim::parse_json(aclsim::quoted("\xED\xA0\x80"), 1).text == "\xC3\xAD\xC2\xA0\xC2\x80");
    CHECK(aclsim::quoted_with_names("p\xFF/\xC3\xA9.py") == "\"p\\udcff/\xC3\xA9.py\"");
}

}  // namespace

int main() {
    char directory[] = "/tmp/findings-XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    g_directory = directory;
    any_name_is_utf8();
    a_process_has_a_first_and_a_last_line();
    a_mistake_is_a_line();
    a_forked_child_has_its_file();
    lines_of_many_threads_stay_whole();
    a_full_file_is_noted_once();
    a_missing_directory_is_noted_once();
    CHECK(std::system(("rm -r " + g_directory).c_str()) == 0);
    std::puts("native findings: all passed");
    return 0;
}
