#pragma once
/// Writes Thrift's compact protocol, in which Parquet stores its metadata
/// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).

#include "reading/parquet/thrift.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market::parquet {

/// Appends the fields of one structure and of those nested in it. Field ids must ascend.
class ThriftWriter {
  public:
    void integer32(int id, std::int64_t value) { integer(id, ThriftType::i32, value); }
    void integer64(int id, std::int64_t value) { integer(id, ThriftType::i64, value); }
    void boolean(int id, bool value);
    void text(int id, std::string_view value);

    /// Opens the structure that is the value of this field.
    void begin_structure(int id);
    /// Opens the structure that is the next element of a list.
    void begin_element() { last_ids_.push_back(0); }
    void end_structure();

    /// Begins a list. Then write each element with begin_element() or one of the functions below.
    void list(int id, ThriftType type, std::size_t size);
    void element32(std::int64_t value);
    void element_text(std::string_view value);

    /// Ends the outermost structure and returns all bytes.
    std::string finish();

  private:
    void integer(int id, ThriftType type, std::int64_t value);
    void field(int id, ThriftType type);
    void varint(std::uint64_t value);

    std::string bytes_;
    std::vector<int> last_ids_{0}; ///< last field id of each open structure
};

} // namespace rekindle::market::parquet
