#pragma once
/// The bytes of a pickle, read in order, and the strings in them.

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace rekindle::trainer {

inline void append_utf8(std::string& text, std::uint32_t code) {
    if (code < 0x80) {
        text.push_back(static_cast<char>(code));
    } else if (code < 0x800) {
        text.push_back(static_cast<char>(0xC0U | (code >> 6U)));
        text.push_back(static_cast<char>(0x80U | (code & 0x3FU)));
    } else if (code < 0x10000) {
        text.push_back(static_cast<char>(0xE0U | (code >> 12U)));
        text.push_back(static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)));
        text.push_back(static_cast<char>(0x80U | (code & 0x3FU)));
    } else {
        text.push_back(static_cast<char>(0xF0U | (code >> 18U)));
        text.push_back(static_cast<char>(0x80U | ((code >> 12U) & 0x3FU)));
        text.push_back(static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)));
        text.push_back(static_cast<char>(0x80U | (code & 0x3FU)));
    }
}

/// Decimal digits with an optional minus sign → little-endian two's complement.
inline std::string twos_complement(std::string_view text) {
    const bool negative = text.starts_with('-');
    std::string bytes(1, '\0');
    for (const char digit : text.substr(negative ? 1 : 0)) {
        unsigned carry = static_cast<unsigned>(digit - '0');
        for (char& byte : bytes) {
            carry += 10U * static_cast<unsigned char>(byte);
            byte = static_cast<char>(carry & 0xffU);
            carry >>= 8U;
        }
        if (carry != 0)
            bytes.push_back(static_cast<char>(carry));
    }
    bytes.push_back('\0');
    if (negative) {
        unsigned carry = 1;
        for (char& byte : bytes) {
            carry += static_cast<unsigned char>(~static_cast<unsigned char>(byte));
            byte = static_cast<char>(carry & 0xffU);
            carry >>= 8U;
        }
    }
    return bytes;
}

/// The bytes of the input, read in order; everything that reaches beyond the end throws.
class Input {
  public:
    Input(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

    std::size_t position() const noexcept { return position_; }
    void begin_operation() noexcept { operation_ = position_; }

    [[noreturn]] void fail(const std::string& what) const {
        throw usage_error(what)
            .at(fmt::format("{}: byte {}", name_, operation_))
            .expected("a pickle as torch.save writes it");
    }

    unsigned char byte() { return static_cast<unsigned char>(take(1)[0]); }

    template <class Integer>
    Integer little_endian() {
        const std::string_view raw = take(sizeof(Integer));
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < sizeof(Integer); ++i)
            value |= std::uint64_t{static_cast<unsigned char>(raw[i])} << (8 * i);
        return static_cast<Integer>(value);
    }

    double big_endian_real() {
        const std::string_view raw = take(8);
        std::uint64_t value = 0;
        for (const char byte : raw)
            value = (value << 8U) | static_cast<unsigned char>(byte);
        return std::bit_cast<double>(value);
    }

    std::string_view take(std::uint64_t count) {
        if (count > bytes_.size() - position_)
            fail(fmt::format("the pickle ends early: {} announced, {} left",
                             counted(count, "byte is", "bytes are"),
                             counted(bytes_.size() - position_, "is", "are")));
        const std::string_view result = bytes_.substr(position_, static_cast<std::size_t>(count));
        position_ += static_cast<std::size_t>(count);
        return result;
    }

    std::string_view line() {
        const std::size_t end = bytes_.find('\n', position_);
        if (end == std::string_view::npos)
            fail("the pickle ends in the middle of a line");
        const std::string_view result = bytes_.substr(position_, end - position_);
        position_ = end + 1;
        return result;
    }

    bool at_end() const noexcept { return position_ == bytes_.size(); }

  private:
    std::string_view bytes_;
    const std::string& name_;
    std::size_t position_ = 0;
    std::size_t operation_ = 0;
};

} // namespace rekindle::trainer
