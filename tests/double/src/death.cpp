#include "death.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "settings.h"

namespace unforgiving {
namespace {

// In one step, so that lines of several processes stay whole.
void write_line(int file, const std::string &line) {
    if (write(file, line.data(), line.size()) < 0) {
        return;  // standard error may be closed, and there is no other place to report to
    }
}

void write_to_log(const std::string &line) {
    const std::string &path = settings().log;
    const int file = path.empty() ? -1 : open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file >= 0) {
        const char *const test = std::getenv("PYTEST_CURRENT_TEST");
        write_line(file, (test == nullptr ? "" : std::string(test) + ": ") + line);
        close(file);
    }
}

}  // namespace

void die(const char *function, const std::string &reason) {
    const std::string line =
        std::string("double: ") + function + ": the official library would end the process here: " + reason + "\n";
    write_line(STDERR_FILENO, line);
    write_to_log(line);
    std::abort();
}

void say(const char *function, const std::string &text) {
    write_line(STDERR_FILENO, std::string("double: ") + function + ": " + text + "\n");
}

std::string text_of(const void *address) {
    char text[32];
    std::snprintf(text, sizeof text, "%#" PRIxPTR, reinterpret_cast<std::uintptr_t>(address));
    return text;
}

}  // namespace unforgiving
