// SPDX-License-Identifier: Apache-2.0
#include "hccl/collectives.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "hccl/data_type.h"

namespace hccl {
namespace {

constexpr std::size_t kPiece = std::size_t{512} << 10;  // bytes that are reduced at once; they stay in the cache
constexpr std::size_t kSegment = std::size_t{1} << 20;  // Gloo's largest segment
constexpr std::uint16_t kResults = 0x8000;              // first step after a reduction, which has one for each piece
constexpr std::uint16_t kAgreement = 0xFFFF;

std::size_t divide_up(std::size_t number, std::size_t by) { return (number + by - 1) / by; }

std::size_t round_up(std::size_t number, std::size_t to) { return divide_up(number, to) * to; }

const char *at(const void *data, std::size_t offset) { return static_cast<const char *>(data) + offset; }

char *at(void *data, std::size_t offset) { return static_cast<char *>(data) + offset; }

void copy(void *to, const void *from, std::size_t size) {
    if (to != from && size > 0) {
        std::memmove(to, from, size);
    }
}

// Cuts the data into the chunks of the ranks.
std::vector<Slice> chunks_of(std::uint32_t ranks, std::size_t total, std::size_t segment, std::size_t segments) {
    const std::size_t chunk = segments / ranks * segment;
    std::vector<Slice> chunks;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const std::size_t begin = std::min(rank * chunk, total);
        chunks.push_back({begin, std::min(begin + chunk, total) - begin});
    }
    return chunks;
}

// The chunks of Gloo's all-reduce.
std::vector<Slice> chunks_of_all_reduce(std::uint32_t ranks, std::size_t total, std::size_t width) {
    const std::size_t longest = kSegment / width * width;
    const std::size_t segments =
        round_up(std::max(divide_up(total, longest), std::size_t{2} * ranks), std::size_t{ranks});
    return chunks_of(ranks, total, round_up(divide_up(total, segments), width), segments);
}

// The chunks of Gloo's reduce, which are others.
std::vector<Slice> chunks_of_reduce(std::uint32_t ranks, std::size_t total, std::size_t width) {
    const std::size_t longest = kSegment / width * width;
    const std::size_t segment =
        std::max(round_up(std::min(divide_up(total, std::size_t{2} * ranks), longest), width), width);
    const std::size_t segments =
        round_up(std::max(divide_up(total, segment), std::size_t{2} * ranks), std::size_t{ranks});
    return chunks_of(ranks, total, segment, segments);
}

// Size of the pieces of a chunk. Those of more than 16 GiB have larger ones, because steps are numbered with 16 bits.
std::size_t piece_size(std::size_t chunk) { return std::max(round_up(divide_up(chunk, kResults), kPiece), kPiece); }

std::size_t pieces_of(std::size_t chunk) { return std::max<std::size_t>(divide_up(chunk, piece_size(chunk)), 1); }

Slice piece_of(std::size_t chunk, std::size_t index) {
    const std::size_t size = piece_size(chunk);
    const std::size_t begin = std::min(index * size, chunk);
    return {begin, std::min(begin + size, chunk) - begin};
}

// Sends each rank its part, piece by piece.
void send_parts(const Run &run, Transfers &transfers, const void *from, const std::vector<Slice> &parts) {
    for (std::uint32_t other = 0; other < run.network.size(); ++other) {
        for (std::size_t i = 0; other != run.network.rank() && i < pieces_of(parts[other].size); ++i) {
            const Slice piece = piece_of(parts[other].size, i);
            transfers.send(other, static_cast<std::uint16_t>(i), at(from, parts[other].offset + piece.offset),
                           piece.size);
        }
    }
}

// Collects the part of this rank from all ranks, piece by piece, and reduces it, while they do the same with theirs.
// The order of the operands is that of the chunk in which a part lies.
class PartReduction {
  public:
    // The part begins at that offset of all that is reduced.
    PartReduction(Run &run, const void *from, const std::vector<Slice> &parts, const std::vector<Slice> &chunks,
                  const Reduction &reduction, std::size_t begin)
        : run_(run),
          from_(from),
          parts_(parts),
          chunks_(chunks),
          reduction_(reduction),
          width_(width_of(reduction.type)),
          size_(run.network.size()),
          rank_(run.network.rank()),
          begin_(begin),
          scratch_size_(std::min(parts[rank_].size, piece_size(parts[rank_].size))) {}

    void reduce_to(void *to) {
        const std::size_t pieces = pieces_of(parts_[rank_].size);
        receive(0);
        for (std::size_t i = 0; i < pieces; ++i) {
            if (i + 1 < pieces) {
                receive(i + 1);
            }
            receivings_[i % 2]->wait();
            reduce_piece(i, to);
            receivings_[i % 2].reset();
        }
    }

  private:
    char *scratch(std::size_t index, std::uint32_t rank) { return scratch_[index % 2].get() + rank * scratch_size_; }
    void receive(std::size_t index) {
        if (!scratch_[index % 2]) {
            scratch_[index % 2].reset(new char[std::max<std::size_t>(size_ * scratch_size_, 1)]);
            pieces_[index % 2].resize(size_);
        }
        auto &receivings = receivings_[index % 2];
        receivings.emplace(run_);
        for (std::uint32_t other = 0; other < size_; ++other) {
            if (other != rank_) {
                receivings->receive_in_place(other, static_cast<std::uint16_t>(index), pieces_[index % 2][other],
                                             scratch(index, other), piece_of(parts_[rank_].size, index).size);
            }
        }
    }
    void reduce_piece(std::size_t index, void *to) {
        const Slice piece = piece_of(parts_[rank_].size, index);
        const std::size_t begin = begin_ + piece.offset, end = begin + piece.size;
        if (size_ == 1) {
            return copy(at(to, piece.offset), at(from_, parts_[rank_].offset + piece.offset), piece.size);
        }
        for (std::uint32_t chunk = 0; chunk < size_; ++chunk) {
            const std::size_t first = std::max(begin, chunks_[chunk].offset);
            const std::size_t last = std::min(end, chunks_[chunk].offset + chunks_[chunk].size);
            if (first < last) {
                reduce_in_order(index, chunk, {first - begin, last - first}, at(to, piece.offset + first - begin));
            }
        }
    }
    // The slice is one of the piece.
    void reduce_in_order(std::size_t index, std::uint32_t chunk, const Slice &slice, void *to) {
        const auto operand = [&](std::uint32_t distance) -> const char * {  // counted backwards from the chunk's rank
            const std::uint32_t rank = (chunk + size_ - distance) % size_;
            const std::size_t offset = parts_[rank_].offset + piece_of(parts_[rank_].size, index).offset;
            return (rank == rank_ ? at(from_, offset) : pieces_[index % 2][rank]) + slice.offset;
        };
        char *const sum = scratch(index, rank_) + slice.offset;  // the result may be one of the operands
        const char *so_far = operand(1);
        for (std::uint32_t distance = 2; distance <= size_; ++distance) {
            void *const result = distance == size_ ? to : sum;
            hccl::reduce(reduction_.type, reduction_.op, result, operand(distance), so_far, slice.size / width_);
            so_far = sum;
        }
    }

    Run &run_;
    const void *const from_;
    const std::vector<Slice> &parts_;
    const std::vector<Slice> &chunks_;
    const Reduction &reduction_;
    const std::size_t width_;
    const std::uint32_t size_;
    const std::uint32_t rank_;
    const std::size_t begin_;
    const std::size_t scratch_size_;
    std::array<std::unique_ptr<char[]>, 2> scratch_;
    std::array<std::vector<const char *>, 2> pieces_;  // by rank
    std::array<std::optional<Transfers>, 2> receivings_;
};

// Finds ranks that call something else, before an operation in which they might not hear from each other. Each asks all
// others: one that heard from its neighbour alone could succeed while the rest fails.
void agree(const Run &run, Transfers &transfers) {
    for (std::uint32_t other = 0; other < run.network.size(); ++other) {
        if (other != run.network.rank()) {
            transfers.send(other, kAgreement, nullptr, 0);
            transfers.receive(other, kAgreement, nullptr, 0);
        }
    }
    transfers.wait();
}

}  // namespace

std::size_t total_of(const std::vector<Slice> &slices) {
    return std::accumulate(slices.begin(), slices.end(), std::size_t{0},
                           [](std::size_t sum, const Slice &slice) { return sum + slice.size; });
}

std::vector<Slice> equal_slices(std::uint32_t ranks, std::size_t size) {
    std::vector<Slice> slices;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        slices.push_back({rank * size, size});
    }
    return slices;
}

Steps all_reduce(const void *from, void *to, const Reduction &reduction) {
    const std::size_t width = width_of(reduction.type), total = reduction.count * width;
    const auto open = [=](Run &run, Transfers &transfers) {
        send_parts(run, transfers, from, chunks_of_all_reduce(run.network.size(), total, width));
    };
    const auto finish = [=](Run &run, Transfers &sendings) {
        const std::uint32_t size = run.network.size(), rank = run.network.rank();
        const std::vector<Slice> chunks = chunks_of_all_reduce(size, total, width);
        PartReduction(run, from, chunks, chunks, reduction, chunks[rank].offset).reduce_to(at(to, chunks[rank].offset));
        // A result may overwrite what its rank was sent: it comes when that rank has taken it.
        Transfers transfers(run);
        for (std::uint32_t other = 0; other < size; ++other) {
            if (other != rank) {
                transfers.send(other, kResults, at(to, chunks[rank].offset), chunks[rank].size);
                transfers.receive(other, kResults, at(to, chunks[other].offset), chunks[other].size);
            }
        }
        transfers.wait();
        sendings.wait();
    };
    return {open, total, finish};
}

Steps reduce(const void *from, void *to, const Reduction &reduction, std::uint32_t root) {
    const auto finish = [=](Run &run, Transfers &transfers) {
        agree(run, transfers);
        const std::uint32_t size = run.network.size(), rank = run.network.rank();
        const std::size_t width = width_of(reduction.type);
        const std::vector<Slice> chunks = chunks_of_reduce(size, reduction.count * width, width);
        std::unique_ptr<char[]> scratch;
        char *result = nullptr;
        if (rank == root) {
            result = at(to, chunks[rank].offset);
        } else {
            scratch.reset(new char[std::max<std::size_t>(chunks[rank].size, 1)]);
            result = scratch.get();
        }
        send_parts(run, transfers, from, chunks);
        PartReduction(run, from, chunks, chunks, reduction, chunks[rank].offset).reduce_to(result);
        if (rank != root) {
            transfers.send(root, kResults, result, chunks[rank].size);
        }
        for (std::uint32_t other = 0; rank == root && other < size; ++other) {
            if (other != rank) {
                transfers.receive(other, kResults, at(to, chunks[other].offset), chunks[other].size);
            }
        }
        transfers.wait();
    };
    return {nullptr, 0, finish};
}

Steps reduce_scatter(const void *from, std::vector<Slice> slices, void *to, const Reduction &reduction) {
    const std::size_t opening_size = total_of(slices);
    const auto parts = std::make_shared<const std::vector<Slice>>(std::move(slices));
    const auto open = [=](Run &run, Transfers &transfers) { send_parts(run, transfers, from, *parts); };
    const auto finish = [=](Run &run, Transfers &transfers) {
        const std::vector<Slice> chunks =
            chunks_of_all_reduce(run.network.size(), opening_size, width_of(reduction.type));
        // The order of the operands is that of parts without gaps, however they lie in the buffer of this rank.
        const auto own = parts->begin() + run.network.rank();
        const std::size_t begin = total_of({parts->begin(), own});
        PartReduction(run, from, *parts, chunks, reduction, begin).reduce_to(to);
        transfers.wait();
    };
    return {open, opening_size, finish};
}

Steps broadcast(void *data, std::size_t size, std::uint32_t root) {
    const auto finish = [=](Run &run, Transfers &transfers) {
        agree(run, transfers);
        for (std::uint32_t other = 0; run.network.rank() == root && other < run.network.size(); ++other) {
            if (other != root) {
                transfers.send(other, 0, data, size);
            }
        }
        if (run.network.rank() != root) {
            transfers.receive(root, 0, data, size);
        }
        transfers.wait();
    };
    return {nullptr, 0, finish};
}

Steps scatter(const void *from, void *to, std::size_t size, std::uint32_t root) {
    const auto finish = [=](Run &run, Transfers &transfers) {
        agree(run, transfers);
        for (std::uint32_t other = 0; run.network.rank() == root && other < run.network.size(); ++other) {
            if (other != root) {
                transfers.send(other, 0, at(from, other * size), size);
            }
        }
        if (run.network.rank() == root) {
            copy(to, at(from, root * size), size);
        } else {
            transfers.receive(root, 0, to, size);
        }
        transfers.wait();
    };
    return {nullptr, 0, finish};
}

Steps exchange(const void *from, std::vector<Slice> sent, void *to, std::vector<Slice> received) {
    const std::size_t opening_size = total_of(sent);
    const auto open = [=, sent = std::move(sent), received = std::move(received)](Run &run, Transfers &transfers) {
        const std::uint32_t size = run.network.size(), rank = run.network.rank();
        for (std::uint32_t distance = 1; distance < size; ++distance) {
            const std::uint32_t target = (rank + distance) % size, source = (rank + size - distance) % size;
            transfers.send(target, 0, at(from, sent[target].offset), sent[target].size);
            transfers.receive(source, 0, at(to, received[source].offset), received[source].size);
        }
        copy(at(to, received[rank].offset), at(from, sent[rank].offset),
             std::min(sent[rank].size, received[rank].size));
    };
    return {open, opening_size, nullptr};
}

Steps barrier(std::uint32_t ranks) {
    const std::vector<Slice> nothing(ranks, Slice{0, 0});
    return exchange(nullptr, nothing, nullptr, nothing);
}

Steps send_and_receive(std::vector<Message> messages) {
    std::size_t opening_size = 0;
    for (const Message &message : messages) {
        opening_size += message.is_sent ? message.size : 0;
    }
    const auto open = [messages = std::move(messages)](Run &run, Transfers &transfers) {
        std::deque<const Message *> to_itself;
        for (const Message &message : messages) {
            if (message.rank == run.network.rank()) {
                if (message.is_sent) {
                    to_itself.push_back(&message);
                }
            } else if (message.is_sent) {
                transfers.send_direct(message.rank, message.number, message.signature, message.data, message.size);
            } else {
                transfers.receive_direct(message.rank, message.number, message.signature, message.data, message.size);
            }
        }
        for (const Message &message : messages) {
            if (message.rank == run.network.rank() && !message.is_sent) {
                copy(message.data, to_itself.front()->data, message.size);
                to_itself.pop_front();
            }
        }
    };
    return {open, opening_size, nullptr};
}

}  // namespace hccl
