// SPDX-License-Identifier: Apache-2.0
// Labels, positions inside a model to jump to (events_streams_sync.md section 7), and branches of its streams, which
// are tasks: jumps to labels and switches to other streams (section 3). Branches run on a worker, so that an endless
// loop does not block the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "abi/acl.h"
#include "engine/registry.h"
#include "engine/task.h"
#include "machine/machine.h"
#include "tasks/copy.h"

namespace aclsim {

class Model;

constexpr std::size_t kLabels = 65535;  // per process

struct Label final : public Object {
    static constexpr Kind kKind = Kind::Label;
    explicit Label(const Context &owner) : context(owner) {}
    const Context &context;  // owner, with which the label ends
    bool is_in_list GUARDED_BY(engine_lock) = false;
    // Position where it was set: the model's number, its stream, and the index of the task that follows.
    Ref<const Stream> stream GUARDED_BY(engine_lock);
    std::uint32_t model GUARDED_BY(engine_lock) = 0;
    std::size_t index GUARDED_BY(engine_lock) = 0;
};

struct LabelList final : public Object {
    static constexpr Kind kKind = Kind::LabelList;
    std::vector<Ref<Label>> labels GUARDED_BY(engine_lock);
    ~LabelList() override;
};

// Task that marks the position.
class LabelTask final : public Task {
  public:
    static constexpr TaskInfo kInfo{"TASK"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &) override REQUIRES(engine_lock) { return Start::Done; }
};

class BranchTask : public Task {
  public:
    static constexpr TaskInfo kInfo{"TASK", "a branch of a model", kIsBranch};
    const TaskInfo &info() const final { return kInfo; }
    Start start(Stream &stream) final REQUIRES(engine_lock) {
        stream_ = &stream;
        interruption_ = {stream, sequence};
        return Start::Run;
    }
    void finish() final REQUIRES(engine_lock);

  protected:
    explicit BranchTask(Model &model) : model_(model) {}
    virtual void branch(const Stream &stream, const Point &branch) REQUIRES(engine_lock) = 0;

    Model &model_;  // model that keeps this task

  private:
    Stream *stream_ = nullptr;
    Interruption interruption_;
};

// Jump to the label that a number in device memory selects from a list, or to the last one if the number is too large.
class JumpTask final : public BranchTask {
  public:
    JumpTask(Model &model, const void *index, Ref<LabelList> list)
        : BranchTask(model), index_(index), list_(std::move(list)) {}
    void run() override;

  protected:
    void branch(const Stream &stream, const Point &branch) override REQUIRES(engine_lock);

  private:
    const void *index_;
    Ref<LabelList> list_;
    std::uint32_t found_ = 0;
};

// Switch to another stream if a comparison of two numbers in device memory holds; leaves the current stream.
struct Comparison {
    const void *left;
    aclrtCondition condition;
    const void *right;
    aclrtCompareDataType type;

    std::size_t size() const;
    bool holds() const;
};

class SwitchTask final : public BranchTask {
  public:
    SwitchTask(Model &model, const Comparison &comparison, const Stream &other)
        : BranchTask(model), comparison_(comparison), other_(other) {}
    void run() override { holds_ = comparison_.holds(); }

  protected:
    void branch(const Stream &stream, const Point &branch) override REQUIRES(engine_lock);

  private:
    Comparison comparison_;
    const Stream &other_;  // stream of the same model
    bool holds_ = false;
};

class Labels final : public Resident {
  public:
    explicit Labels(Machine &machine);
    // Fails with ACL_ERROR_RT_INTERNAL_ERROR at the limit of the process.
    Ref<Label> create(const Context &context) REQUIRES(engine_lock);
    void remove(Label &label) REQUIRES(engine_lock);
    void context_closed(Context &context) override REQUIRES(engine_lock);

  private:
    Registry &registry_;
    std::size_t count_ GUARDED_BY(engine_lock) = 0;  // live labels
};

}  // namespace aclsim
