// SPDX-License-Identifier: Apache-2.0
#include "tasks/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "memory/memory.h"
#include "support/number_format.h"
#include "support/own_view.h"

namespace aclsim {
namespace {

constexpr std::uint64_t kDrawnAtOnce = 1 << 20;  // elements between two checks for an abort
constexpr int kRounds = 10;
constexpr double kTruncation = 2;  // standard deviations
constexpr double kRootOfTwoPi = 2.50662827463100050242;

// Words of a sequence, in order.
class Words {
  public:
    Words(const PhiloxBlock &counter, std::uint64_t key) : counter_(counter), key_(key) {}
    std::uint32_t next() {
        if (used_ == block_.size()) {
            block_ = philox(counter_, key_);
            used_ = 0;
            for (std::uint32_t &word : counter_) {
                if (++word != 0) {  // otherwise carry into the next word
                    break;
                }
            }
        }
        return block_[used_++];
    }
    std::uint64_t next_two() {
        const std::uint64_t low = next();
        return static_cast<std::uint64_t>(next()) << 32 | low;
    }
    double next_fraction() { return (next() >> 8) * 0x1p-24; }  // in [0, 1)

  private:
    PhiloxBlock counter_;
    std::uint64_t key_;
    PhiloxBlock block_{};
    std::size_t used_ = 4;
};

// Standard normal distribution, by the Box-Muller method.
class Normal {
  public:
    double next(Words &words) {
        if (has_second_) {
            has_second_ = false;
            return second_;
        }
        constexpr double kTwoPi = kRootOfTwoPi * kRootOfTwoPi;
        const double radius = std::sqrt(-2 * std::log((words.next() + 1.0) * 0x1p-32));
        const double angle = kTwoPi * (words.next() * 0x1p-32);
        second_ = radius * std::sin(angle);
        has_second_ = true;
        return radius * std::cos(angle);
    }

  private:
    double second_ = 0;
    bool has_second_ = false;
};

double normal_share(double below) { return std::erfc(-below / std::sqrt(2.0)) / 2; }

// Normal distribution within two standard deviations, sampled by its distribution function, whose value is uniform.
// Newton's method on the upper half, where the function is concave, converges from one side.
class TruncatedNormal {
  public:
    double next(Words &words) const {
        const double share = within_ * (words.next_fraction() - 0.5);  // relative to the middle
        double x = std::abs(share) * kRootOfTwoPi;
        for (int i = 0; i < 6; ++i) {
            x += (std::abs(share) - (normal_share(x) - 0.5)) * kRootOfTwoPi * std::exp(x * x / 2);
        }
        return std::copysign(std::min(x, kTruncation), share);
    }

  private:
    const double within_ = normal_share(kTruncation) - normal_share(-kTruncation);
};

template <class T, class Make>
bool write(void *result, std::uint64_t count, const Interruption &interruption, Make make) {
    auto *to = own_view(static_cast<T *>(result));
    for (std::uint64_t i = 0; i < count; ++i) {
        if (i % kDrawnAtOnce == 0 && interruption.is_requested()) {
            return false;
        }
        to[i] = make();
    }
    return true;
}

struct Draw {
    aclrtRandomNumFuncType function;
    void *result;
    std::uint64_t count;
    const std::uint64_t (&parameters)[2];
    Words words;
    const Interruption &interruption;

    template <class Format>
    bool write_reals() {
        const auto parameter = [this](int i) {
            typename Format::Stored stored;
            std::memcpy(&stored, &parameters[i], sizeof stored);
            return static_cast<double>(Format::load(stored));
        };
        const double first = parameter(0);
        const double second = parameter(1);
        const auto scaled = [&](auto make) {
            return write<typename Format::Stored>(result, count, interruption, [&] {
                return Format::store(static_cast<float>(first + make() * second));
            });
        };
        switch (function) {
            case ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK:
                return write_mask(first);
            case ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS:
                return scaled([this, normal = Normal()]() mutable { return normal.next(words); });
            case ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS:
                return scaled([this, normal = TruncatedNormal()] { return normal.next(words); });
            default:
                return write<typename Format::Stored>(result, count, interruption, [&] {
                    return Format::store(static_cast<float>(first + words.next_fraction() * (second - first)));
                });
        }
    }

    // Keeps an element for each bit that is set.
    bool write_mask(double ratio) {
        return write<std::uint8_t>(result, (count + 7) / 8, interruption, [&, at = std::uint64_t{0}]() mutable {
            unsigned byte = 0;
            for (unsigned bit = 0; bit < 8 && at < count; ++bit, ++at) {
                byte |= (words.next_fraction() >= ratio ? 1U : 0U) << bit;
            }
            return static_cast<std::uint8_t>(byte);
        });
    }

    // Excludes the upper limit.
    template <class T>
    bool write_integers() {
        using Unsigned = std::make_unsigned_t<T>;
        const auto low = static_cast<Unsigned>(parameters[0]);
        const auto range = static_cast<Unsigned>(static_cast<Unsigned>(parameters[1]) - low);
        return write<T>(result, count, interruption, [&] {
            if constexpr (sizeof(T) == sizeof(std::uint64_t)) {
                __extension__ using Wide = unsigned __int128;
                return static_cast<T>(low + static_cast<Unsigned>(Wide{words.next_two()} * range >> 64));
            } else {
                return static_cast<T>(low + static_cast<Unsigned>(std::uint64_t{words.next()} * range >> 32));
            }
        });
    }
};

struct RandomType {
    aclDataType type;
    std::size_t size;
    bool (*write)(Draw &draw);
};
constexpr RandomType kRandomTypes[] = {
    {ACL_FLOAT, 4, [](Draw &draw) { return draw.write_reals<Plain<float>>(); }},
    {ACL_FLOAT16, 2, [](Draw &draw) { return draw.write_reals<Half>(); }},
    {ACL_BF16, 2, [](Draw &draw) { return draw.write_reals<Bfloat16>(); }},
    {ACL_INT32, 4, [](Draw &draw) { return draw.write_integers<std::int32_t>(); }},
    {ACL_UINT32, 4, [](Draw &draw) { return draw.write_integers<std::uint32_t>(); }},
    {ACL_INT64, 8, [](Draw &draw) { return draw.write_integers<std::int64_t>(); }},
    {ACL_UINT64, 8, [](Draw &draw) { return draw.write_integers<std::uint64_t>(); }},
};

const RandomType *find_random_type(aclDataType type) {
    const auto *found = std::find_if(std::begin(kRandomTypes), std::end(kRandomTypes),
                                     [type](const RandomType &candidate) { return candidate.type == type; });
    return found == std::end(kRandomTypes) ? nullptr : found;
}

}  // namespace

PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) {
    auto low = static_cast<std::uint32_t>(key);
    auto high = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
        const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
        counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ low, static_cast<std::uint32_t>(second),
                   static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ high, static_cast<std::uint32_t>(first)};
        low += 0x9E3779B9;
        high += 0xBB67AE85;
    }
    return counter;
}

std::size_t random_element_size(aclDataType type) {
    const RandomType *found = find_random_type(type);
    return found == nullptr ? 0 : found->size;
}

std::uint64_t random_result_size(const aclrtRandomNumTaskInfo &info, std::uint64_t count) {
    const bool is_mask = info.randomNumFuncParaInfo.funcType == ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK;
    const std::uint64_t size = is_mask ? 1 : random_element_size(info.dataType);
    const std::uint64_t elements = is_mask ? count / 8 + (count % 8 != 0 ? 1 : 0) : count;
    return elements > UINT64_MAX / size ? UINT64_MAX : elements * size;
}

std::size_t random_value_size(const aclrtRandomParaInfo &parameter, std::size_t size) {
    return std::min<std::size_t>(parameter.size, size);
}

std::uint64_t random_value(const aclrtRandomParaInfo &parameter, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, parameter.valueOrAddr,
                parameter.isAddr != 0 ? sizeof value : random_value_size(parameter, size));
    return value;
}

RandomTask::RandomTask(Memory &memory, const aclrtRandomNumTaskInfo &info)
    : DataTask(kUnknown), memory_(memory), info_(info) {}

Start RandomTask::start(Stream &stream) {
    if (!read(stream)) {
        result = ACL_ERROR_RT_DRV_INTERNAL_ERROR;
        return Start::Done;
    }
    return DataTask::start(stream);
}

void RandomTask::update(const aclrtRandomNumTaskInfo &info) {
    info_.randomParaAddr = info.randomParaAddr;
    info_.randomResultAddr = info.randomResultAddr;
    info_.randomCounterAddr = info.randomCounterAddr;
    info_.randomSeed = info.randomSeed;
    info_.randomNum = info.randomNum;
}

// Does not repeat the facts reported at submission.
bool RandomTask::read(const Stream &stream) {
    // The other parameter types have the same members.
    auto &function = info_.randomNumFuncParaInfo.paramInfo.uniformDisInfo;
    aclrtRandomParaInfo *const own[] = {&function.min, &function.max};
    const bool has_second = info_.randomNumFuncParaInfo.funcType != ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK;
    const std::size_t size = random_element_size(info_.dataType);
    const Access block{info_.randomParaAddr, kParametersSize, AccessMode::Read, "randomParaAddr"};
    const Access counter{info_.randomCounterAddr, kCounterSize, AccessMode::Read, "randomCounterAddr"};
    if ((info_.randomParaAddr != nullptr && !is_there(stream, block)) || !is_there(stream, counter)) {
        return false;
    }
    for (std::size_t i = 0; i < (has_second ? 2U : 1U); ++i) {
        aclrtRandomParaInfo parameter = *own[i];
        if (info_.randomParaAddr != nullptr) {
            std::memcpy(parameter.valueOrAddr, static_cast<const unsigned char *>(info_.randomParaAddr) + 8 * i, 8);
        }
        if (!read_value(stream, parameter, size, "parameter", parameters_[i])) {
            return false;
        }
    }
    if (!read_value(stream, info_.randomSeed, sizeof seed_, "randomSeed", seed_) ||
        !read_value(stream, info_.randomNum, sizeof count_, "randomNum", count_)) {
        return false;
    }
    std::memcpy(counter_.data(), info_.randomCounterAddr, kCounterSize);
    const std::uint64_t bytes = random_result_size(info_, count_);
    written_ = info_.randomResultAddr;
    const Access written{written_, bytes, AccessMode::Write, "randomResultAddr"};
    if (bytes != 0 && !is_there(stream, written)) {
        return false;
    }
    if (info_.randomNum.isAddr != 0) {  // count unknown at submission
        memory_.core.note_found(stream, *this, written, true);
    }
    return true;
}

bool RandomTask::read_value(const Stream &stream, const aclrtRandomParaInfo &parameter, std::size_t size,
                            const char *name, std::uint64_t &value) const {
    value = random_value(parameter, size);
    if (parameter.isAddr == 0) {
        return true;
    }
    const auto *address = reinterpret_cast<const void *>(static_cast<std::uintptr_t>(value));
    const std::size_t bytes = random_value_size(parameter, size);
    if (!is_there(stream, {address, bytes, AccessMode::Read, name})) {
        return false;
    }
    value = 0;
    std::memcpy(&value, address, bytes);
    return true;
}

bool RandomTask::is_there(const Stream &stream, const Access &access) const {
    const bool is_live = memory_.space().locate(access.address).place == Place::Device &&
                         memory_.space().is_live(access.address, access.size);
    if (!is_live) {
        memory_.core.note_found(stream, *this, access, false);
    }
    return is_live;
}

bool RandomTask::perform(const Interruption &interruption) const {
    Draw draw{
        info_.randomNumFuncParaInfo.funcType, written_, count_, parameters_, Words(counter_, seed_), interruption};
    return find_random_type(info_.dataType)->write(draw);
}

}  // namespace aclsim
