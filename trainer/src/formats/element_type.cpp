#include "element_type.h"

namespace rekindle::trainer {

std::size_t size_of(ElementType type) noexcept {
    switch (type) {
    case ElementType::float64:
    case ElementType::int64:
        return 8;
    case ElementType::float32:
    case ElementType::int32:
        return 4;
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::int16:
        return 2;
    case ElementType::int8:
    case ElementType::uint8:
    case ElementType::boolean:
        return 1;
    }
    return 1;
}

} // namespace rekindle::trainer
