#include "blocks.h"

#include "death.h"
#include "engine.h"

namespace unforgiving {

Release::Release(const Call &call, const void *block, bool must_be_live)
    : function_(call.name()), block_(block), reports_(engine().aclsimGetCheckReports()) {
    if (must_be_live && block != nullptr && engine().aclsimIsLive(block, 1) == 0) {
        die(function_, "block " + text_of(block) + " is not allocated: made up, freed, or gone with its device");
    }
}

void Release::end() {
    if (engine().aclsimGetCheckReports() != reports_) {
        die(function_,
            "block " + text_of(block_) + " is in use by a queued task or registered, as the memory check says above");
    }
}

}  // namespace unforgiving
