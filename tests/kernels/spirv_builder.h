#pragma once
/// SPIR-V written by hand, for what slangc would not write.

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace rekindle::test {

class SpirvBuilder {
  public:
    SpirvBuilder() : words_{0x07230203, 0x00010500, 0, 100, 0} {}

    SpirvBuilder& add(std::uint32_t operation, std::initializer_list<std::uint32_t> operands,
                      std::string_view text = {}, bool with_text = false,
                      std::initializer_list<std::uint32_t> after_text = {}) {
        std::vector<std::uint32_t> tail(operands);
        if (with_text) {
            std::vector<std::uint32_t> packed(text.size() / 4 + 1, 0);
            std::memcpy(packed.data(), text.data(), text.size());
            tail.insert(tail.end(), packed.begin(), packed.end());
            tail.insert(tail.end(), after_text.begin(), after_text.end());
        }
        words_.push_back(static_cast<std::uint32_t>(tail.size() + 1) << 16 | operation);
        words_.insert(words_.end(), tail.begin(), tail.end());
        return *this;
    }
    SpirvBuilder& capability(std::uint32_t number) { return add(17, {number}); }
    SpirvBuilder& entry(std::uint32_t function, std::string_view name) {
        return add(15, {5, function}, name, true);
    }
    SpirvBuilder& name(std::uint32_t id, std::string_view text) { return add(5, {id}, text, true); }
    SpirvBuilder& function(std::uint32_t id) { return add(54, {1, id, 0, 2}); }
    SpirvBuilder& copy_logical() { return add(400, {1, 50, 51}); }
    SpirvBuilder& end_function() { return add(56, {}); }
    const std::vector<std::uint32_t>& words() const { return words_; }

  private:
    std::vector<std::uint32_t> words_;
};

} // namespace rekindle::test
