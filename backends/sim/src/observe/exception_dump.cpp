// SPDX-License-Identifier: Apache-2.0
#include "observe/exception_dump.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "memory/memory.h"
#include "support/descriptor.h"
#include "support/error.h"
#include "support/file.h"
#include "support/file_limit.h"
#include "support/json.h"
#include "support/standard_error.h"
#include "support/text.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

constexpr std::uint64_t kMostOfOnePiece = 64ULL << 20;
constexpr std::size_t kChunk = 1 << 20;
constexpr std::size_t kScannedArguments = 4096;
constexpr char kMagic[] = "ASCDUMP1";  // last 8 bytes of a file

// Reads memory of this process through the kernel, because another thread may unmap it meanwhile.
class OwnMemory {
  public:
    OwnMemory() : file_(open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {}
    ~OwnMemory() {
        if (file_ >= 0) {
            close(file_);
        }
    }
    OwnMemory(const OwnMemory &) = delete;
    OwnMemory &operator=(const OwnMemory &) = delete;
    // Returns the number of bytes read from the beginning.
    std::size_t read(const void *address, void *into, std::size_t size) const {
        const ssize_t got = pread(file_, into, size, static_cast<off_t>(as_integer(address)));
        return got < 0 ? 0 : static_cast<std::size_t>(got);
    }

  private:
    const int file_;
};

// Destination of the contents.
class Sink {
  public:
    virtual ~Sink() = default;
    virtual bool put(const void *data, std::size_t size, bool is_last) = 0;
    virtual std::string error() const = 0;
};

class FileSink final : public Sink {
  public:
    // Takes a later millisecond if another dump has the name.
    FileSink(const std::string &stem, std::uint64_t time) {
        do {
            path_ = stem + "." + std::to_string(time++);
            file_ = above_standard_files(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
            error_ = file_ < 0 ? errno : 0;
        } while (error_ == EEXIST);
    }
    ~FileSink() override {
        if (file_ >= 0) {
            close(file_);
            if (error_ != 0) {
                unlink(path_.c_str());
            }
        }
    }
    bool put(const void *data, std::size_t size, bool) override {
        const auto *bytes = static_cast<const char *>(data);
        size_ += size;
        if (!file_limit_problem(size_).empty()) {
            error_ = EFBIG;
        }
        while (size > 0 && error_ == 0) {
            const ssize_t written = ::write(file_, bytes, size);
            if (written < 0 && errno != EINTR) {
                error_ = errno;
            }
            bytes += std::max<ssize_t>(written, 0);
            size -= static_cast<std::size_t>(std::max<ssize_t>(written, 0));
        }
        return error_ == 0;
    }
    std::string error() const override {
        return error_ == 0 ? "" : "cannot write " + path_ + ": " + std::strerror(error_);
    }

  private:
    std::string path_;
    int file_ = -1;
    std::uint64_t size_ = 0;
    int error_ = 0;
};

// Terminates if the callback throws, as exception callbacks do.
class CallbackSink final : public Sink {
  public:
    CallbackSink(std::string path, DumpCallback callback)
        : path_(std::move(path)), callback_(callback), chunk_(sizeof(acldumpChunk) + kChunk) {}
    bool put(const void *data, std::size_t size, bool is_last) noexcept override {
        auto *const chunk = reinterpret_cast<acldumpChunk *>(chunk_.data());
        std::memset(chunk, 0, sizeof *chunk);
        std::snprintf(chunk->fileName, sizeof chunk->fileName, "%s", path_.c_str());
        chunk->bufLen = static_cast<std::uint32_t>(size);
        chunk->isLastChunk = is_last ? 1 : 0;
        chunk->offset = -1;  // append
        std::memcpy(chunk->dataBuf, data, size);
        answer_ = callback_(chunk, static_cast<std::int32_t>(sizeof *chunk + size));
        return answer_ == 0;
    }
    std::string error() const override {
        return answer_ == 0 ? "" : "the callback of acldumpRegCallback answered " + std::to_string(answer_);
    }

  private:
    const std::string path_;
    const DumpCallback callback_;
    std::vector<char> chunk_;
    std::int32_t answer_ = 0;
};

std::string member(const char *name, std::uint64_t value) {
    return ",\"" + std::string(name) + "\":" + std::to_string(value);
}

}  // namespace

std::string DumpFile::header(const std::vector<std::uint64_t> &sizes) const {
    std::string text = "{" + description_ + ",\"pieces\":[";
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        const Piece &piece = pieces_[i];
        text += (i == 0 ? "" : ",") + std::string("{\"kind\":") + quoted(piece.kind) +
                member("address", as_integer(piece.address)) + member("size", piece.size) + member("stored", sizes[i]) +
                piece.description + "}";
    }
    return text + "]}";
}

std::string DumpFile::write() const {
    const Uncancelled uncancelled;
    std::string error;
    dumps_.with_callback([&](DumpCallback callback) {
        const std::string time = time_stamp_with_milliseconds();
        std::unique_ptr<Sink> sink;
        if (callback != nullptr) {
            sink = std::make_unique<CallbackSink>(stem_ + "." + time, callback);
        } else {
            sink = std::make_unique<FileSink>(stem_, std::stoull(time));
        }
        const OwnMemory memory;
        std::vector<char> buffer(kChunk);
        std::vector<std::uint64_t> sizes;
        bool is_taken = true;  // false: the destination takes no more
        for (const Piece &piece : pieces_) {
            std::uint64_t stored = 0;
            const std::uint64_t wanted = std::min(piece.size, kMostOfOnePiece);
            while (is_taken && stored < wanted) {
                const auto *const next = static_cast<const char *>(piece.address) + stored;
                const std::size_t got =
                    memory.read(next, buffer.data(), std::min<std::uint64_t>(kChunk, wanted - stored));
                if (got == 0) {
                    break;
                }
                is_taken = sink->put(buffer.data(), got, false);
                stored += got;
            }
            sizes.push_back(stored);
        }
        std::string end = header(sizes);
        const std::uint64_t length = end.size();
        for (unsigned shift = 0; shift < 64; shift += 8) {  // little-endian on every host
            end += static_cast<char>(length >> shift & 0xFF);
        }
        end += kMagic;
        for (std::size_t at = 0; is_taken && at < end.size(); at += kChunk) {
            const std::size_t size = std::min(kChunk, end.size() - at);
            is_taken = sink->put(end.data() + at, size, at + size == end.size());
        }
        error = sink->error();
    });
    return error;
}

std::vector<DumpFile::Piece> ExceptionDumps::pieces_of(const FailedKernel &kernel) {
    std::vector<DumpFile::Piece> pieces{{kernel.arguments, kernel.arguments_size, "arguments", ""}};
    std::vector<std::uintptr_t> words(std::min<std::size_t>(kernel.arguments_size, kScannedArguments) /
                                      sizeof(std::uintptr_t));
    const std::size_t known = OwnMemory().read(kernel.arguments, words.data(), words.size() * sizeof(std::uintptr_t)) /
                              sizeof(std::uintptr_t);
    for (std::size_t i = 0; i < known; ++i) {
        const auto *const address = reinterpret_cast<const void *>(words[i]);
        const auto block = memory_.space().find(address);
        const bool is_known =
            std::any_of(pieces.begin(), pieces.end(), [&](const DumpFile::Piece &it) { return it.address == address; });
        if (!block || is_known) {
            continue;
        }
        const std::uint64_t size = block->address + block->size - words[i];
        pieces.push_back({address, size, "memory", member("offset", i * sizeof(std::uintptr_t))});
    }
    return pieces;
}

std::function<void()> ExceptionDumps::prepare(const rtExceptionInfo &info) {
    if (info.kernel.function == nullptr) {
        return {};
    }
    const std::string directory = dumps_.exception_directory() + "/" + std::to_string(info.device);
    const std::string stem = directory + "/" + file_part(info.kernel.name) + "." + std::to_string(info.stream) + "." +
                             std::to_string(info.task);
    const std::string description = "\"version\":1,\"kernel\":" + quoted(info.kernel.name) +
                                    member("blocks", info.kernel.blocks) + member("device", info.device) +
                                    member("stream", info.stream) + member("task", info.task) +
                                    member("thread", info.thread) + member("code", info.code) +
                                    member("process", static_cast<std::uint64_t>(getpid()));
    const auto file = std::make_shared<const DumpFile>(dumps_, stem, description, pieces_of(info.kernel));
    const auto owner = info.kernel.owner;
    return [file, directory, owner] {
        const Uncancelled uncancelled;
        std::string error;
        try {
            make_directories(directory, ACL_ERROR_INVALID_FILE);
            error = file->write();
        } catch (const Failure &) {
            error = "cannot make the directory " + directory;
        } catch (const std::bad_alloc &) {
            print_error("ascend_rt simulator, dump of a failed kernel: the host is out of memory\n");
        }
        if (!error.empty()) {
            print_error("ascend_rt simulator, dump of a failed kernel: %s\n", error.c_str());
        }
    };
}

}  // namespace aclsim
