/* SPDX-License-Identifier: Apache-2.0 */
/* Labels: jumps inside a model (API reference 10). */
#pragma once

#include "base.h"

typedef void *aclrtLabel;

typedef void *aclrtLabelList;

aclError aclrtCreateLabel(aclrtLabel *label); /* since 8.5.0-beta.1 */
aclError aclrtCreateLabelList(aclrtLabel *labels, size_t num, aclrtLabelList *labelList); /* since 8.5.0-beta.1 */
aclError aclrtDestroyLabel(aclrtLabel label); /* since 8.5.0-beta.1 */
aclError aclrtDestroyLabelList(aclrtLabelList labelList); /* since 8.5.0-beta.1 */
aclError aclrtSetLabel(aclrtLabel label, aclrtStream stream); /* since 8.5.0-beta.1 */
aclError aclrtSwitchLabelByIndex(
    void *ptr, uint32_t maxValue, aclrtLabelList labelList, aclrtStream stream); /* since 8.5.0-beta.1 */
