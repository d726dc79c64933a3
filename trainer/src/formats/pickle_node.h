#pragma once
/// The contents of a node of a PickleDocument. The order of the alternatives is that of PickleKind.

#include <rekindle/trainer/pickle.h>

namespace rekindle::trainer {

struct PickleDocument::Node {
    struct BigInteger {
        std::string bytes;
    };
    struct Bytes {
        std::string value;
    };
    struct List {
        std::vector<PickleId> elements;
    };
    struct Tuple {
        std::vector<PickleId> elements;
    };
    struct Set {
        std::vector<PickleId> elements;
    };
    struct Dict {
        std::vector<std::pair<PickleId, PickleId>> entries;
    };
    struct Persistent {
        PickleId id;
    };
    std::variant<std::monostate, bool, std::int64_t, BigInteger, double, std::string, Bytes, List, Tuple, Set,
                 Dict, std::unique_ptr<PickleGlobal>, std::unique_ptr<PickleObject>, Persistent>
        content;
};

} // namespace rekindle::trainer
