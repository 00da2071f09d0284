// SPDX-License-Identifier: Apache-2.0
// Objects shared by processes: on a host without room or without descriptors, in different containers, and after the
// end of one process. Each case runs in a separate process, because it changes the limits or namespaces of its process.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "api/simulator.h"
#include "check.h"
#include "latch.h"
#include "memory/memory.h"
#include "memory/page_file.h"

namespace {

constexpr std::size_t kKeySize = 65;
constexpr std::size_t kSize = 4 << 20;
constexpr int kSkipped = 77;

struct Key {
    char text[kKeySize];
};

// Pipe between two processes: one sends, the other receives.
class Channel {
  public:
    Channel() { CHECK(pipe(ends_) == 0); }
    template <class T>
    void send(const T &value) const {
        CHECK(write(ends_[1], &value, sizeof value) == sizeof value);
    }
    template <class T>
    T receive() const {
        T value{};
        CHECK(read(ends_[0], &value, sizeof value) == sizeof value);
        return value;
    }

  private:
    int ends_[2] = {};
};

pid_t start(const std::function<void()> &body) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);  // ends the process if it hangs
        body();
        _exit(0);
    }
    return child;
}

int status_of(pid_t child) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

void run(const std::function<void()> &body) { CHECK(status_of(start(body)) == 0); }

bool mount_in_own_namespace(const char *type, const char *directory, const char *options) {
    return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount(type, directory, type, 0, options) == 0;
}

void make_own_shm() { CHECK(unshare(CLONE_NEWNS) == 0 && mount_in_own_namespace("tmpfs", "/dev/shm", "size=64k")); }

// Runs the body as process 1 of a new namespace, as in a container.
void run_in_container(const std::function<void()> &body) {
    CHECK(unshare(CLONE_NEWNS | CLONE_NEWPID) == 0);  // the PID namespace is for children
    run([&] {
        CHECK(mount_in_own_namespace("proc", "/proc", nullptr));
        CHECK(getpid() == 1);
        body();
    });
}

bool host_permits_namespaces() {
    return status_of(start([] {
               const bool has_shm =
                   unshare(CLONE_NEWNS | CLONE_NEWPID) == 0 && mount_in_own_namespace("tmpfs", "/dev/shm", "size=64k");
               const auto mount_proc = [] { _exit(mount_in_own_namespace("proc", "/proc", nullptr) ? 0 : 1); };
               _exit(has_shm && status_of(start(mount_proc)) == 0 ? 0 : 1);
           })) == 0;
}

bool says(const std::string &text, std::initializer_list<const char *> words) {
    for (const char *word : words) {
        if (text.find(word) == std::string::npos) {
            std::fprintf(stderr, "not in the text: %s\n%s\n", word, text.c_str());
            return false;
        }
    }
    return true;
}

void *new_memory() {
    void *memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
    return memory;
}

aclrtEvent new_ipc_event() {
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    return event;
}

aclError export_memory(void *memory, Key &key) {
    return aclrtIpcMemGetExportKey(memory, kSize, key.text, kKeySize,
                                   ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
}

// --- /dev/shm without room -------------------------------------------------------------------------------------------

// Fills /dev/shm for the lifetime of the object.
class Filler {
  public:
    Filler() : file_(open("/dev/shm/filler", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600)) {
        CHECK(file_ >= 0);
        const std::vector<char> page(4096);
        while (write(file_, page.data(), page.size()) > 0) {
        }
    }
    ~Filler() {
        close(file_);
        unlink("/dev/shm/filler");
    }
    Filler(const Filler &) = delete;
    Filler &operator=(const Filler &) = delete;

  private:
    const int file_;
};

bool says_that_shm_is_full() { return says(recent_text(), {"/dev/shm is full", "of 64 KiB", "--shm-size"}); }

void exports_fail_without_room_and_work_with_it() {
    make_own_shm();
    CHECK_OK(aclrtSetDevice(0));
    aclrtNotify notify = nullptr;
    CHECK_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    void *memory = new_memory();
    aclrtEvent event = nullptr;
    Key key{};
    const auto export_notify = [&] {
        return aclrtNotifyGetExportKey(notify, key.text, kKeySize, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION);
    };
    {
        const Filler filler;
        CHECK_CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
        CHECK(says_that_shm_is_full());
        CHECK_CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, export_notify());
        CHECK(says_that_shm_is_full());
        CHECK_CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, export_memory(memory, key));
        CHECK(says_that_shm_is_full());
    }
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    CHECK_OK(export_notify());
    CHECK_OK(export_memory(memory, key));
}

// The slots for records of an event, and the list of permitted processes, get their pages when they grow.
void what_is_exported_grows_only_with_room() {
    make_own_shm();
    CHECK_OK(aclrtSetDevice(0));
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    const aclrtEvent event = new_ipc_event();
    void *memory = new_memory();
    Key key{};
    CHECK_OK(aclrtIpcMemGetExportKey(memory, kSize, key.text, kKeySize, ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT));
    std::vector<std::int32_t> processes(2000, getpid());
    {
        const Filler filler;
        aclError code = ACL_SUCCESS;
        for (int i = 0; i < 1000 && code == ACL_SUCCESS; ++i) {
            code = aclrtRecordEvent(event, stream);
        }
        CHECK(code == ACL_ERROR_RT_RESOURCE_ALLOC_FAIL && says_that_shm_is_full());
        CHECK_OK(aclrtSynchronizeEvent(event));  // for the last record that succeeded
        CHECK_CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
                   aclrtIpcMemSetImportPid(key.text, processes.data(), processes.size()));
        CHECK(says_that_shm_is_full());
    }
    for (int i = 0; i < 1000; ++i) {
        CHECK_OK(aclrtRecordEvent(event, stream));
    }
    CHECK_OK(aclrtSynchronizeEvent(event));
    CHECK_OK(aclrtIpcMemSetImportPid(key.text, processes.data(), processes.size()));
}

// --- few descriptors -------------------------------------------------------------------------------------------------

// Prevents the process from opening files for the lifetime of the object.
class NoDescriptors {
  public:
    NoDescriptors() {
        CHECK(getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const rlimit none = {0, before_.rlim_max};
        CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    }
    ~NoDescriptors() { CHECK(setrlimit(RLIMIT_NOFILE, &before_) == 0); }
    NoDescriptors(const NoDescriptors &) = delete;
    NoDescriptors &operator=(const NoDescriptors &) = delete;

  private:
    rlimit before_{};
};

bool says_that_descriptors_are_used_up() { return says(recent_text(), {"0 open files", "ulimit -n"}); }

[[maybe_unused]] void exports_fail_without_descriptors_and_work_with_them() {
    CHECK_OK(aclrtSetDevice(0));
    aclrtNotify notify = nullptr;
    CHECK_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    aclrtEvent event = nullptr;
    void *memory = nullptr;
    {
        const NoDescriptors none;
        for (int i = 0; i < 300; ++i) {  // a failure must not keep addresses; there are 128 TiB
            CHECK_CODE(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtMalloc(&memory, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
        }
        CHECK(says_that_descriptors_are_used_up());
        CHECK_CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
        CHECK(says_that_descriptors_are_used_up());
    }
    memory = new_memory();
    event = new_ipc_event();
    Key key{};
    {
        const NoDescriptors none;
        CHECK_CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, export_memory(memory, key));
        CHECK(says_that_descriptors_are_used_up());
        CHECK_CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, aclrtNotifyGetExportKey(notify, key.text, kKeySize, 0));
        CHECK(says_that_descriptors_are_used_up());
    }
    CHECK_OK(aclrtNotifyGetExportKey(notify, key.text, kKeySize, 0));
    CHECK_OK(export_memory(memory, key));
}

// The error must be the lack of descriptors, not an unknown name.
[[maybe_unused]] void imports_fail_without_descriptors_and_work_with_them() {
    const Channel keys;
    const Channel end;
    const pid_t exporter = start([&] {
        CHECK_OK(aclrtSetDevice(0));
        Key key{};
        CHECK_OK(export_memory(new_memory(), key));
        keys.send(key);
        aclrtIpcEventHandle handle{};
        CHECK_OK(aclrtIpcGetEventHandle(new_ipc_event(), &handle));
        keys.send(handle);
        end.receive<char>();
    });
    const auto key = keys.receive<Key>();
    const auto handle = keys.receive<aclrtIpcEventHandle>();
    CHECK_OK(aclrtSetDevice(0));
    new_memory();
    void *imported = nullptr;
    aclrtEvent event = nullptr;
    {
        const NoDescriptors none;
        CHECK_CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, aclrtIpcMemImportByKey(&imported, key.text, 0));
        CHECK(says_that_descriptors_are_used_up());
        CHECK_CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, aclrtIpcOpenEventHandle(handle, &event));
        CHECK(says_that_descriptors_are_used_up());
    }
    CHECK_OK(aclrtIpcMemImportByKey(&imported, key.text, 0));
    CHECK_OK(aclrtIpcOpenEventHandle(handle, &event));
    end.send('e');
    CHECK(status_of(exporter) == 0);
}

// --- containers ------------------------------------------------------------------------------------------------------

void only_the_file_that_was_exported_is_opened() {
    const auto exported = aclsim::PageFile::create(kSize);
    const auto other = aclsim::PageFile::create(kSize);
    const aclsim::FileIdentity identity = exported->identity();
    CHECK(aclsim::PageFile::open(getpid(), exported->descriptor(), identity) != nullptr);
    CHECK(aclsim::PageFile::open(getpid(), other->descriptor(), identity) == nullptr);
    int ends[2] = {};
    CHECK(pipe(ends) == 0);
    CHECK(aclsim::PageFile::open(getpid(), ends[0], identity) == nullptr);
    CHECK(aclsim::PageFile::open(getpid(), 1 << 20, identity) == nullptr);
}

void a_page_file_cannot_be_cut() {
    const auto file = aclsim::PageFile::create(kSize);
    CHECK(ftruncate(file->descriptor(), 0) != 0);
    CHECK(file->identity().size == kSize);
}

// Two containers share /dev/shm. The exporter is process 1, but process 1 of the importer's container is another one.
void another_pid_namespace_is_the_reason_given() {
    const Channel keys;
    const Channel end;
    const pid_t exporter = start([&] {
        run_in_container([&] {
            CHECK_OK(aclrtSetDevice(0));
            Key key{};
            CHECK_OK(export_memory(new_memory(), key));
            keys.send(key);
            end.receive<char>();
        });
    });
    run_in_container([&] {
        CHECK_OK(aclrtSetDevice(0));
        const auto key = keys.receive<Key>();
        void *imported = nullptr;
        CHECK_CODE(ACL_ERROR_RT_PARAM_INVALID, aclrtIpcMemImportByKey(&imported, key.text, 0));
        CHECK(says(recent_text(), {"PID namespace", "docker run --pid"}));
        end.send('e');
    });
    CHECK(status_of(exporter) == 0);
}

// --- the end of an exporter ------------------------------------------------------------------------------------------

bool is_orphaned(const void *address) {
    aclsim::Simulator &sim = aclsim::Simulator::get();
    const aclsim::Lock lock = sim.core.acquire();
    return sim.memory.space().is_orphaned(address);
}

struct Exports {
    Key key;
    std::uint64_t shareable;
};

enum class End { Frees, Closes, Resets, Exits, IsKilled };

aclrtDrvMemHandle new_physical_memory() {
    aclrtPhysicalMemProp properties{};
    properties.memAttr = ACL_HBM_MEM_HUGE;
    properties.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    aclrtDrvMemHandle physical = nullptr;
    CHECK_OK(aclrtMallocPhysical(&physical, kSize, &properties, 0));
    return physical;
}

void export_until(End how, const Channel &exports, const Channel &commands, const Channel &done) {
    CHECK_OK(aclrtSetDevice(0));
    void *memory = new_memory();
    const aclrtDrvMemHandle physical = new_physical_memory();
    Exports own{};
    CHECK_OK(export_memory(memory, own.key));
    CHECK_OK(aclrtMemExportToShareableHandle(physical, ACL_MEM_HANDLE_TYPE_NONE,
                                             ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION, &own.shareable));
    exports.send(own);
    commands.receive<char>();
    switch (how) {
        case End::Frees:
            CHECK_OK(aclrtFree(memory));
            CHECK_OK(aclrtFreePhysical(physical));
            break;
        case End::Closes:
            CHECK_OK(aclrtIpcMemClose(own.key.text));
            CHECK_OK(aclrtFreePhysical(physical));
            break;
        case End::Resets:
            CHECK_OK(aclrtResetDeviceForce(0));
            break;
        case End::Exits:
            exit(0);
        case End::IsKilled:
            raise(SIGKILL);
    }
    done.send('d');
    commands.receive<char>();
}

void imported_memory_is_orphaned_when(End how) {
    const Channel exports;
    const Channel commands;
    const Channel done;
    const pid_t exporter = start([&] { export_until(how, exports, commands, done); });
    const auto there = exports.receive<Exports>();
    CHECK_OK(aclrtSetDevice(0));
    void *imported = nullptr;
    CHECK_OK(aclrtIpcMemImportByKey(&imported, there.key.text, 0));
    aclrtDrvMemHandle physical = nullptr;
    CHECK_OK(aclrtMemImportFromShareableHandle(there.shareable, 0, &physical));
    void *mapped = nullptr;
    CHECK_OK(aclrtReserveMemAddress(&mapped, kSize, 0, nullptr, 0));
    CHECK_OK(aclrtMapMem(mapped, kSize, 0, physical, 0));
    void *own = new_memory();
    const auto last_byte_of = [](void *address) { return static_cast<char *>(address) + kSize - 1; };
    CHECK(!is_orphaned(imported) && !is_orphaned(last_byte_of(imported)) && !is_orphaned(mapped) && !is_orphaned(own));
    commands.send('g');
    const bool goes_on = how == End::Frees || how == End::Closes || how == End::Resets;
    if (goes_on) {
        done.receive<char>();
    } else {
        const int status = status_of(exporter);
        CHECK(how == End::IsKilled ? WIFSIGNALED(status) : status == 0);
    }
    CHECK(is_orphaned(imported) && is_orphaned(last_byte_of(imported)) && is_orphaned(mapped) && !is_orphaned(own));
    if (goes_on) {
        commands.send('e');
        CHECK(status_of(exporter) == 0);
    }
}

}  // namespace

int main() {
#ifdef __linux__
#ifndef __SANITIZE_ADDRESS__  // comes with the undefined behaviour sanitizer, which opens pipes to examine objects
    run(exports_fail_without_descriptors_and_work_with_them);
    run(imports_fail_without_descriptors_and_work_with_them);
#endif
    run(only_the_file_that_was_exported_is_opened);
    run(a_page_file_cannot_be_cut);
    for (const End how : {End::Frees, End::Closes, End::Resets, End::Exits, End::IsKilled}) {
        run([how] { imported_memory_is_orphaned_when(how); });
    }
    if (!host_permits_namespaces()) {
        return kSkipped;  // skips the remaining cases
    }
    run(exports_fail_without_room_and_work_with_it);
    run(what_is_exported_grows_only_with_room);
    run(another_pid_namespace_is_the_reason_given);
    return 0;
#else
    return kSkipped;
#endif
}
