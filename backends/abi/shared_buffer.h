/* SPDX-License-Identifier: Apache-2.0 */
/* Shared buffers, reserved (API reference 20). */
#pragma once

#include "base.h"

typedef void *aclrtMbuf;

aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size); /* since 8.5.0-beta.1, undocumented */
aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf); /* since 8.5.0-beta.1, undocumented */
aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf); /* since 8.5.0-beta.1, undocumented */
aclError aclrtFreeBuf(aclrtMbuf buf); /* since 8.5.0-beta.1, undocumented */
aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num); /* since 8.5.0-beta.1, undocumented */
aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size); /* since 8.5.0-beta.1, undocumented */
aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t *len); /* since 8.5.0-beta.1, undocumented */
aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf); /* since 8.5.0-beta.1, undocumented */
aclError aclrtGetBufUserData(
    const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset); /* since 8.5.0-beta.1, undocumented */
aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len); /* since 8.5.0-beta.1, undocumented */
aclError aclrtSetBufUserData(
    aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset); /* since 8.5.0-beta.1, undocumented */
