// SPDX-License-Identifier: Apache-2.0
// Streams, and waits of the host for them and for devices.
#include "call.h"

using namespace aclsim::wrapped;

namespace {

// Learns of the tasks that were the newest before the call, if its code, or what it has written, says that they are
// over.
template <auto *kFunction, class Newest, class Over, class... Arguments>
[[gnu::always_inline]] inline aclError synchronize(const char *name, Newest newest, Over are_over,
                                                   Arguments &&...arguments) {
    return forward_if<kFunction>(
        name, are_over, newest, [](Check &check, const Points &tasks) { check.learn(tasks); }, arguments...);
}
constexpr auto kOfDevice = [](Check &check) { return check.newest_of_device({}); };
constexpr auto of_stream(aclrtStream stream) {
    return [stream](Check &check) { return check.newest_of(stream); };
}

}  // namespace

aclError aclrtSynchronizeStream(aclrtStream stream) {
    return synchronize<aclrtSynchronizeStream>("aclrtSynchronizeStream", of_stream(stream), kIsEndOfWait, stream);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    return synchronize<aclrtSynchronizeStreamWithTimeout>("aclrtSynchronizeStreamWithTimeout", of_stream(stream),
                                                          kIsEndOfWait, stream, timeout);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status) {
    const auto is_over = [&](aclError code) { return code == ACL_SUCCESS && *status == ACL_STREAM_STATUS_COMPLETE; };
    return forward_if<aclrtStreamQuery>(
        "aclrtStreamQuery", is_over, of_stream(stream),
        [](Check &check, const Points &tasks) { check.learn(tasks, check.how_query_is_made()); }, stream, status);
}

aclError aclrtSynchronizeDevice() {
    return synchronize<aclrtSynchronizeDevice>("aclrtSynchronizeDevice", kOfDevice, kIsEndOfWait);
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    return synchronize<aclrtSynchronizeDeviceWithTimeout>("aclrtSynchronizeDeviceWithTimeout", kOfDevice, kIsEndOfWait,
                                                          timeout);
}

// Aborted tasks are over, too.

constexpr auto kLearnOfAbort = [](Check &check, const Points &tasks) {
    check.learn(tasks);
    check.note_abort(tasks);
};

aclError aclrtStreamAbort(aclrtStream stream) {
    return forward_if<aclrtStreamAbort>("aclrtStreamAbort", kIsEndOfWait, of_stream(stream), kLearnOfAbort, stream);
}

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
    const auto newest = [=](Check &check) { return check.newest_of_device(static_cast<std::uint32_t>(deviceId)); };
    return forward_if<aclrtDeviceTaskAbort>("aclrtDeviceTaskAbort", kIsEndOfWait, newest, kLearnOfAbort, deviceId,
                                            timeout);
}

// Ends are noted first: as soon as a handle is destroyed, another object may get it.

aclError aclrtDestroyStream(aclrtStream stream) {
    return FORWARD_AFTER_NOTE(aclrtDestroyStream, check.end_stream(stream), stream);
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
    return FORWARD_AFTER_NOTE(aclrtDestroyStreamForce, check.end_stream(stream), stream);
}

aclError aclrtDestroyContext(aclrtContext context) {
    return FORWARD_AFTER_NOTE(aclrtDestroyContext, check.end_context(context), context);
}

aclError aclrtResetDevice(int32_t deviceId) {
    return FORWARD_AFTER_NOTE(aclrtResetDevice, check.end_device(static_cast<std::uint32_t>(deviceId)), deviceId);
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
    return FORWARD_AFTER_NOTE(aclrtResetDeviceForce, check.end_device(static_cast<std::uint32_t>(deviceId)), deviceId);
}
