#include "task.h"

#include <new>

namespace aclsim {
namespace {

struct Block {
    Block *next;
};

constexpr std::size_t kStep = 32;
constexpr std::size_t kLargest = 256;
Block *g_returned[kLargest / kStep + 1];  // by size; guarded by the engine's lock

constexpr std::size_t size_class(std::size_t size) { return (size + kStep - 1) / kStep; }

// The address sanitizer should see every use of a freed task.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kRecycles = false;
#else
constexpr bool kRecycles = true;
#endif

}  // namespace

void *Task::operator new(std::size_t size) {
    if (!kRecycles || size > kLargest) {
        return ::operator new(size);
    }
    Block *&returned = g_returned[size_class(size)];
    if (returned == nullptr) {
        return ::operator new(size_class(size) * kStep);
    }
    Block *block = returned;
    returned = block->next;
    return block;
}

void Task::operator delete(void *block, std::size_t size) {
    if (!kRecycles || size > kLargest) {
        ::operator delete(block);
        return;
    }
    Block *&returned = g_returned[size_class(size)];
    returned = new (block) Block{returned};
}

}  // namespace aclsim
