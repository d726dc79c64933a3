#pragma once
/// Computes from a module how much shared memory an entry point uses.

#include "module.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rekindle::kernels::generator {

/// The shared variables of a module (storage class Workgroup) and the entry points that use them.
class SharedMemory {
  public:
    /// Throws Refused for a shared variable of a type that it cannot measure.
    explicit SharedMemory(std::span<const std::uint32_t> module);

    /// Bytes of an entry point's shared variables. `values`: specialization constants by id; those that are
    /// not in it have their initial values. Throws Refused for an array whose length is not a constant, a
    /// specialization constant, or a sum of those.
    std::uint64_t bytes(std::string_view entry, const std::map<std::uint32_t, std::uint32_t>& values) const;

  private:
    using Id = std::uint32_t;
    /// A type or a constant: the opcode and the operands after the result.
    struct Definition {
        std::uint16_t operation = 0;
        std::vector<std::uint32_t> operands;
    };
    using Values = std::map<std::uint32_t, std::uint32_t>;

    const Definition& definition(Id id) const;
    std::uint64_t size_of(Id type, const Values& values) const;
    std::uint64_t value_of(Id constant, const Values& values) const;

    std::map<Id, Definition> definitions_;
    std::map<Id, std::uint32_t> constant_ids_; ///< of specialization constants
    std::map<Id, Id> variables_;               ///< type of the value by variable
    std::map<std::string, std::vector<Id>, std::less<>> interfaces_;
};

/// The feature that a device needs for so many bytes; none up to the 32 KiB that every accepted device has.
/// Throws Refused above 64 KiB.
Features feature_for_shared_bytes(std::uint64_t bytes);

} // namespace rekindle::kernels::generator
