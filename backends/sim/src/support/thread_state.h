// SPDX-License-Identifier: Apache-2.0
// State of the calling thread that needs a destructor.
//
// A thread may call the library until its very end: from the destructors of its thread_local objects and, in the thread
// that ends the process, from static destructors and atexit functions. A thread_local object of the library may have
// been destroyed before. Here the thread_local is only a pointer to an object on the heap, which the destructor of a
// pthread key releases; those destructors run after those of all thread_local objects. State needed even later is
// created again. The thread that ends the process keeps its state.
#pragma once

#include <pthread.h>

#include <memory>

#include "support/expect.h"

namespace aclsim {

// One object for each thread and type. No other thread_local has a destructor.
template <class T>
class ThreadState {
  public:
    // Creates the state at the first use; throws std::bad_alloc.
    static T &get() { return likely(state_ != nullptr) ? *state_ : make(); }
    static T *find() { return state_; }  // nullptr if the thread has none

  private:
    struct Key {
        Key() : is_made(pthread_key_create(&key, end) == 0) {}
        pthread_key_t key{};
        const bool is_made;
    };
    [[gnu::noinline]] static T &make() {
        static const Key key;
        auto made = std::make_unique<T>();
        if (key.is_made) {
            pthread_setspecific(key.key, made.get());  // failure lets the state outlive its thread
        }
        state_ = made.release();
        return *state_;
    }
    static void end(void *state) {
        state_ = nullptr;
        delete static_cast<T *>(state);
    }

    static inline thread_local T *state_ = nullptr;
};

}  // namespace aclsim
