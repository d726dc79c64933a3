#pragma once
/// The content of an ArrowTable.

#include "reading/arrow/arrow_column.h"

#include <rekindle/market/arrow_table.h>

#include <string>
#include <utility>
#include <vector>

namespace rekindle::market {

namespace arrow {

/// Releases its object in the destructor. Movable.
template <class Released>
class Owned {
  public:
    Owned() = default;
    explicit Owned(Released object) noexcept : object_(object) {}
    Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, {})) {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Owned() {
        if (object_.release != nullptr)
            object_.release(&object_);
    }
    Released& operator*() noexcept { return object_; }
    const Released& operator*() const noexcept { return object_; }
    Released* operator->() noexcept { return &object_; }
    const Released* operator->() const noexcept { return &object_; }

  private:
    Released object_{};
};

struct Batch {
    Owned<ArrowArray> array;
    std::vector<Column> columns; ///< one for each field of the schema
    std::uint64_t rows = 0;
};

} // namespace arrow

struct ArrowTable::Content {
    arrow::Owned<ArrowSchema> schema;
    std::vector<std::string> names;
    std::vector<arrow::Batch> batches; ///< each with at least one row
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
};

} // namespace rekindle::market
