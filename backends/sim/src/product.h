// Product profiles: what distinguishes the simulated chips, as data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace aclsim {

struct Product {
    const char *name;      // as in ASCEND_RT_SIM_PRODUCT
    const char *soc_name;  // as aclrtGetSocName answers
    std::uint64_t memory_bytes;
    std::uint64_t l2_bytes;
    std::uint32_t cube_cores;
    std::uint32_t vector_cores;
    std::uint32_t aicpu_cores;
    std::uint32_t streams;      // per device, the default streams included
    std::uint32_t events;       // hardware event ids per device
    std::uint32_t notifies;     // per device
    std::uint32_t queue_depth;  // tasks that a stream takes before a submit blocks
    std::uint32_t nanoseconds_per_tick;
    std::uint64_t timeout_interval_us;  // an operator's time limit is 1 to 254 of these
    bool is_stars;                      // hardware task scheduler: 950, 910C, 910B, 310B
    bool has_control_queue;             // NULL means the default stream in control calls: 950, 910C, 910B
    bool has_ipc_events;
    bool has_wait_timeout;  // timed waits are timed: not on 310P and 910
    bool has_huge1g_pages;
};

// The profile of that name, or nullptr.
const Product *find_product(const std::string &name);
// Is the function documented for that product? (acl_api.json; what no document tells of is.)
bool is_documented_for(const char *function, const Product &product);
// "910B, 910C, ...", for messages.
std::string product_names();

}  // namespace aclsim
