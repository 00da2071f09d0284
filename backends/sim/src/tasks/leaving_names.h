// SPDX-License-Identifier: Apache-2.0
// Task handles that leave the registry after their model.
#pragma once

#include <cstddef>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "engine/sliced_work.h"
#include "tasks/model.h"

namespace aclsim {

// Names of tasks of models that are gone.
class LeavingNames final : public SlicedWork {
  public:
    using Names = std::map<std::size_t, Ref<ModelTask>>;
    using SlicedWork::SlicedWork;
    // Adds names, or removes them now if there is no memory for the list.
    void add(Model &model, Names names) REQUIRES(engine_lock) {
        try {
            of_streams_.emplace_back();
        } catch (const std::bad_alloc &) {
            while (!names.empty()) {
                remove_first(names);
            }
            return;
        }
        of_streams_.back() = {Ref<Model>(model), std::move(names)};
    }
    bool do_slice() override REQUIRES(engine_lock) {
        for (std::size_t done = 0; !of_streams_.empty(); of_streams_.pop_back(), ++done) {
            for (Names &names = of_streams_.back().names; !names.empty(); ++done) {
                if (is_enough(done)) {
                    return true;
                }
                remove_first(names);
            }
        }
        return false;
    }

  private:
    struct OfStream {
        Ref<Model> model;  // model that the names refer to
        Names names;
    };
    void remove_first(Names &names) REQUIRES(engine_lock) {
        core_.registry().remove(*names.begin()->second);
        names.erase(names.begin());
    }

    std::vector<OfStream> of_streams_;
};

}  // namespace aclsim
