// SPDX-License-Identifier: Apache-2.0
// Rank tables: JSON files that list the servers and devices of a job.
#pragma once

#include <cstdint>
#include <string>

#include "hccl/rendezvous.h"

namespace hccl {

struct RankTable {
    std::uint32_t size;
    Root root;  // at rank 0
};

// Reads the file. Refuses with HCCL_E_OPEN_FILE_FAILURE or HCCL_E_PARA.
RankTable read_rank_table(const std::string &path);

}  // namespace hccl
