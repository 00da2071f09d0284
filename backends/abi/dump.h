/* SPDX-License-Identifier: Apache-2.0 */
/* Dumping operator data (API reference 18). */
/* @library libascend_dump.so: the functions that the runtime's own library does not have */
#pragma once

#include "base.h"

#define ACL_DUMP_MAX_FILE_PATH_LENGTH 4096
#define ACL_DUMP_MAX_SHAPE_NUM 25

/* @flags OpDump: data that aclopStartDumpArgs dumps */
#define ACL_OP_DUMP_OP_AICORE_ARGS 0x1

typedef enum acldumpType {
    AIC_ERR_BRIEF_DUMP = 1,
    AIC_ERR_NORM_DUMP = 2,
    AIC_ERR_DETAIL_DUMP = 3,
    DATA_DUMP = 4,
    OVERFLOW_DUMP = 5,
} acldumpType;

typedef struct acldumpChunk {
    char fileName[4096];
    uint32_t bufLen;
    uint32_t isLastChunk;
    int64_t offset;
    int32_t flag;
    __extension__ uint8_t dataBuf[]; /* C++ has no flexible arrays */
} acldumpChunk;

typedef enum acldumpTensorType {
    ACL_DUMP_TENSOR_INPUT = 0,
    ACL_DUMP_TENSOR_OUTPUT = 1,
    ACL_DUMP_TENSOR_WORKSPACE = 2,
} acldumpTensorType;

typedef enum acldumpTensorAddressType {
    ACL_DUMP_ADDR_PTR = 0,
    ACL_DUMP_ADDR_PTR_PTR = 1,
    ACL_DUMP_ADDR_RAW = 2,
} acldumpTensorAddressType;

typedef enum acldumpTensorPlacement {
    ACL_DUMP_PLACEMENT_DEVICE = 0,
    ACL_DUMP_PLACEMENT_HOST = 1,
    ACL_DUMP_PLACEMENT_END = 2,
} acldumpTensorPlacement;

typedef struct acldumpTensorInfo {
    acldumpTensorType type;
    size_t tensorSize;
    int32_t format;
    int32_t dataType;
    int64_t *tensorAddr;
    acldumpTensorAddressType addrType;
    acldumpTensorPlacement placement;
    uint32_t argsOffset;
    uint32_t shapeNum;
    uint32_t originShapeNum;
    uint64_t shape[25];
    uint64_t originShape[25];
} acldumpTensorInfo;

aclError acldumpGetExceptionInfoPath(char *path, size_t maxLen); /* since master-2026-08 */
const char *acldumpGetPath(acldumpType dumpType); /* since 9.0.0-beta.1, 910B 910C 950 */
aclError acldumpRegCallback(int32_t (*const messageCallback)(const acldumpChunk *, int32_t), int32_t flag);
aclError acldumpSaveExceptionInfo(
    const char *fileName, const char *userTag, const acldumpTensorInfo *tensors, size_t tensorCount); /* since master-2026-08 */
void acldumpUnregCallback(void);
aclError aclmdlFinalizeDump(void);
aclError aclmdlInitDump(void);
aclError aclmdlSetDump(const char *dumpCfgPath);
aclError aclopStartDumpArgs(uint32_t dumpType, const char *path); /* 910B 910C 910 950 */
aclError aclopStopDumpArgs(uint32_t dumpType); /* 910B 910C 910 950 */
