// SPDX-License-Identifier: Apache-2.0
// Shared objects with damaged tables: such an object is rejected, or loads if the damage has no effect, but never ends
// the process. The dynamic loader itself trusts the whole content of the file.
#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "check.h"

namespace {

using Bytes = std::vector<unsigned char>;

Bytes read_file(const char *path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
T at(const Bytes &bytes, std::size_t offset) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

struct Range {
    std::size_t begin;
    std::size_t end;
};

// Returns the ranges that control the loader: the program headers, and the loaded tables without code and data.
std::vector<Range> tables_of(const Bytes &object) {
    const auto header = at<Elf64_Ehdr>(object, 0);
    std::vector<Range> tables{{header.e_phoff, header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr)}};
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
        const auto section = at<Elf64_Shdr>(object, header.e_shoff + i * sizeof(Elf64_Shdr));
        if ((section.sh_flags & SHF_ALLOC) != 0 && section.sh_type != SHT_PROGBITS && section.sh_type != SHT_NOBITS) {
            tables.push_back({section.sh_offset, section.sh_offset + section.sh_size});
        }
    }
    return tables;
}

// Loads the object in a new process. Returns true if it was accepted.
bool loads(const Bytes &object, const std::string &damage) {
    const pid_t process = fork();
    CHECK(process >= 0);
    if (process == 0) {
        alarm(60);
        CHECK_OK(aclrtSetDevice(0));
        aclrtBinHandle binary = nullptr;
        const aclError code = aclrtBinaryLoadFromData(object.data(), object.size(), nullptr, &binary);
        if (code == ACL_SUCCESS) {
            aclrtFuncHandle function = nullptr;
            aclrtBinaryGetFunction(binary, "length", &function);  // may fail if the name is damaged
            CHECK_OK(aclrtBinaryUnLoad(binary));
        } else {
            CHECK(code == ACL_ERROR_RT_PARAM_INVALID);
            CHECK(std::string(aclGetRecentErrMsg()).size() > std::strlen("aclrtBinaryLoadFromData: "));
        }
        _exit(code == ACL_SUCCESS ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(process, &status, 0) == process);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
        std::fprintf(stderr, "%s: the process ended with status %#x\n", damage.c_str(), static_cast<unsigned>(status));
        std::abort();
    }
    return WEXITSTATUS(status) == 0;
}

void every_field_is_compared_with_the_file(const Bytes &object) {
    const std::uint64_t values[] = {~std::uint64_t{0}, std::uint64_t{1} << 45, object.size() + 4096};
    std::size_t refused = 0;
    for (const Range &table : tables_of(object)) {
        for (std::size_t field = table.begin; field + sizeof values[0] <= table.end; field += sizeof values[0]) {
            for (const std::uint64_t value : values) {
                Bytes damaged = object;
                std::memcpy(damaged.data() + field, &value, sizeof value);
                refused += loads(damaged, "field " + std::to_string(field) + " = " + std::to_string(value)) ? 0 : 1;
            }
        }
    }
    CHECK(refused > 100);
}

// Damages whole words: a change of one byte could redirect an address to another place in the code, where anything may
// happen.
void random_damage_is_survived(const Bytes &object) {
    constexpr int kTrials = 300;
    std::mt19937 random(20261125);
    const std::vector<Range> tables = tables_of(object);
    for (int trial = 0; trial < kTrials; ++trial) {
        Bytes damaged = object;
        for (std::size_t i = 1 + random() % 4; i > 0; --i) {
            const Range &table = tables[random() % tables.size()];
            const auto word = static_cast<std::uint32_t>(random());
            const std::size_t words = (table.end - table.begin) / sizeof word;
            std::memcpy(damaged.data() + table.begin + random() % words * sizeof word, &word, sizeof word);
        }
        loads(damaged, "trial " + std::to_string(trial));
    }
}

// The runtime ignores it too: only operators of AI CPUs need a description.
void a_broken_description_beside_it_is_ignored(const Bytes &object) {
    char folder[] = "/tmp/aclsim-object-XXXXXX";
    CHECK(mkdtemp(folder) != nullptr);
    const std::string path = std::string(folder) + "/kernels.o";
    const std::string description = std::string(folder) + "/kernels.json";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(object.data()), static_cast<std::streamsize>(object.size()));
    CHECK_OK(aclrtSetDevice(0));
    for (const char *text : {"", "{", "[1, 2]", "{\"magic\": 5}"}) {
        std::ofstream(description) << text;
        aclrtBinHandle binary = nullptr;
        CHECK_OK(aclrtBinaryLoadFromFile(path.c_str(), nullptr, &binary));
        CHECK_OK(aclrtBinaryUnLoad(binary));
    }
    CHECK(unlink(path.c_str()) == 0 && unlink(description.c_str()) == 0 && rmdir(folder) == 0);
}

}  // namespace

int main(int count, char **arguments) {
    CHECK(count == 2);
    const Bytes object = read_file(arguments[1]);
    CHECK(loads(object, "no damage"));
    every_field_is_compared_with_the_file(object);
    random_damage_is_survived(object);
    a_broken_description_beside_it_is_ignored(object);  // runs last, because the process must not fork after it
    std::puts("native host_object: all passed");
    return 0;
}
