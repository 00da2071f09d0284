/* SPDX-License-Identifier: Apache-2.0 */
/* Shared queues and their buffers (API reference 17-02, 17-03, 25-03). */
/* @library libacl_tdt_queue.so: the functions that the runtime's own library does not have */
/* @refused on a host, API reference 17-02: acltdtAttachQueue, acltdtDequeue, acltdtEnqueue, acltdtGrantQueue */
/* @refused on a host, API reference 17-03: acltdtAllocBuf, acltdtAppendBufChain, acltdtCopyBufRef, acltdtFreeBuf,
 * acltdtGetBufChainNum, acltdtGetBufData, acltdtGetBufDataLen, acltdtGetBufFromChain, acltdtGetBufUserData,
 * acltdtSetBufDataLen, acltdtSetBufUserData */
#pragma once

#include "base.h"

/* @flags QueuePermission: permissions of a process on a queue */
#define ACL_TDT_QUEUE_PERMISSION_MANAGE 0x1
#define ACL_TDT_QUEUE_PERMISSION_DEQUEUE 0x2
#define ACL_TDT_QUEUE_PERMISSION_ENQUEUE 0x4

/* @enum QueueRouteStatus: the state of a route */
#define ACL_TDT_QUEUE_ROUTE_UNBIND 0
#define ACL_TDT_QUEUE_ROUTE_BIND 1
#define ACL_TDT_QUEUE_ROUTE_BIND_ABNORMAL 2

typedef struct acltdtQueueRouteList acltdtQueueRouteList;

typedef struct acltdtQueueRoute acltdtQueueRoute;

typedef void *acltdtBuf;

typedef struct tagMemQueueAttr acltdtQueueAttr;

typedef struct acltdtQueueRouteQueryInfo acltdtQueueRouteQueryInfo;

typedef enum acltdtQueueAttrType {
    ACL_TDT_QUEUE_NAME_PTR = 0,
    ACL_TDT_QUEUE_DEPTH_UINT32 = 1,
} acltdtQueueAttrType;

typedef enum acltdtQueueRouteParamType {
    ACL_TDT_QUEUE_ROUTE_SRC_UINT32 = 0,
    ACL_TDT_QUEUE_ROUTE_DST_UINT32 = 1,
    ACL_TDT_QUEUE_ROUTE_STATUS_INT32 = 2,
} acltdtQueueRouteParamType;

typedef enum acltdtQueueRouteQueryInfoParamType {
    ACL_TDT_QUEUE_ROUTE_QUERY_MODE_ENUM = 0,
    ACL_TDT_QUEUE_ROUTE_QUERY_SRC_ID_UINT32 = 1,
    ACL_TDT_QUEUE_ROUTE_QUERY_DST_ID_UINT32 = 2,
} acltdtQueueRouteQueryInfoParamType;

typedef enum acltdtAllocBufType {
    ACL_TDT_NORMAL_MEM = 0,
    ACL_TDT_DVPP_MEM = 1,
} acltdtAllocBufType;

typedef enum acltdtQueueRouteQueryMode {
    ACL_TDT_QUEUE_ROUTE_QUERY_SRC = 0,
    ACL_TDT_QUEUE_ROUTE_QUERY_DST = 1,
    ACL_TDT_QUEUE_ROUTE_QUERY_SRC_AND_DST = 2,
    ACL_TDT_QUEUE_ROUTE_QUERY_ABNORMAL = 100,
} acltdtQueueRouteQueryMode;

aclError acltdtAddQueueRoute(acltdtQueueRouteList *routeList, const acltdtQueueRoute *route);
aclError acltdtAllocBuf(size_t size, uint32_t type, acltdtBuf *buf); /* 310B */
aclError acltdtAppendBufChain(acltdtBuf headBuf, acltdtBuf buf); /* 310B */
aclError acltdtAttachQueue(uint32_t qid, int32_t timeout, uint32_t *permission); /* none */
aclError acltdtBindQueueRoutes(acltdtQueueRouteList *qRouteList);
aclError acltdtCopyBufRef(const acltdtBuf buf, acltdtBuf *newBuf); /* 310B */
aclError acltdtCreateQueue(const acltdtQueueAttr *attr, uint32_t *qid);
acltdtQueueAttr *acltdtCreateQueueAttr(void);
acltdtQueueRoute *acltdtCreateQueueRoute(uint32_t srcId, uint32_t dstId);
acltdtQueueRouteList *acltdtCreateQueueRouteList(void);
acltdtQueueRouteQueryInfo *acltdtCreateQueueRouteQueryInfo(void);
aclError acltdtDequeue(uint32_t qid, acltdtBuf *buf, int32_t timeout); /* none */
aclError acltdtDequeueData(
    uint32_t qid, void *data, size_t dataSize, size_t *retDataSize, void *userData, size_t userDataSize,
    int32_t timeout);
aclError acltdtDestroyQueue(uint32_t qid);
aclError acltdtDestroyQueueAttr(const acltdtQueueAttr *attr);
aclError acltdtDestroyQueueRoute(const acltdtQueueRoute *route);
aclError acltdtDestroyQueueRouteList(const acltdtQueueRouteList *routeList);
aclError acltdtDestroyQueueRouteQueryInfo(const acltdtQueueRouteQueryInfo *info);
aclError acltdtEnqueue(uint32_t qid, acltdtBuf buf, int32_t timeout); /* none */
aclError acltdtEnqueueData(
    uint32_t qid, const void *data, size_t dataSize, const void *userData, size_t userDataSize, int32_t timeout,
    uint32_t rsv);
aclError acltdtFreeBuf(acltdtBuf buf); /* 310B */
aclError acltdtGetBufChainNum(acltdtBuf headBuf, uint32_t *num); /* 310B */
aclError acltdtGetBufData(const acltdtBuf buf, void **dataPtr, size_t *size); /* 310B */
aclError acltdtGetBufDataLen(acltdtBuf buf, size_t *len); /* 310B */
aclError acltdtGetBufFromChain(acltdtBuf headBuf, uint32_t index, acltdtBuf *buf); /* 310B */
aclError acltdtGetBufUserData(const acltdtBuf buf, void *dataPtr, size_t size, size_t offset); /* 310B */
aclError acltdtGetQueueAttr(
    const acltdtQueueAttr *attr, acltdtQueueAttrType type, size_t len, size_t *paramRetSize, void *param);
aclError acltdtGetQueueRoute(const acltdtQueueRouteList *routeList, size_t index, acltdtQueueRoute *route);
size_t acltdtGetQueueRouteNum(const acltdtQueueRouteList *routeList);
aclError acltdtGetQueueRouteParam(
    const acltdtQueueRoute *route, acltdtQueueRouteParamType type, size_t len, size_t *paramRetSize, void *param);
aclError acltdtGrantQueue(uint32_t qid, int32_t pid, uint32_t permission, int32_t timeout); /* none */
aclError acltdtQueryQueueRoutes(const acltdtQueueRouteQueryInfo *queryInfo, acltdtQueueRouteList *qRouteList);
aclError acltdtSetBufDataLen(acltdtBuf buf, size_t len); /* 310B */
aclError acltdtSetBufUserData(acltdtBuf buf, const void *dataPtr, size_t size, size_t offset); /* 310B */
aclError acltdtSetQueueAttr(acltdtQueueAttr *attr, acltdtQueueAttrType type, size_t len, const void *param);
aclError acltdtSetQueueRouteQueryInfo(
    acltdtQueueRouteQueryInfo *param, acltdtQueueRouteQueryInfoParamType type, size_t len, const void *value);
aclError acltdtUnbindQueueRoutes(acltdtQueueRouteList *qRouteList);
