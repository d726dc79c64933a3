#include "knowledge/packed.h"

#include <rekindle/doctor/embedded.h>
#include <rekindle/doctor/knowledge.h>

namespace rekindle::doctor {

const Knowledge& embedded_knowledge() {
    static const Knowledge knowledge = unpack(embedded_file("knowledge.bin"));
    return knowledge;
}

} // namespace rekindle::doctor
