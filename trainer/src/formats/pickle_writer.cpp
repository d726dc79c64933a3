#include <rekindle/foundation/error.h>
#include <rekindle/trainer/pickle.h>

#include <bit>
#include <limits>
#include <unordered_map>

namespace rekindle::trainer {

namespace {

constexpr int max_nesting = 500;

class Encoder {
  public:
    explicit Encoder(PickleValue root) {
        output_ = "\x80\x02";
        value(root, 0);
        output_.push_back('.');
    }
    std::string take() { return std::move(output_); }

  private:
    void operation(unsigned char code) { output_.push_back(static_cast<char>(code)); }

    void little_endian(std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i)
            operation(static_cast<unsigned char>((value >> (8 * i)) & 0xffU));
    }

    void memorize(PickleId id) {
        const std::size_t index = memo_.size();
        memo_.emplace(id, index);
        operation(index < 256 ? 'q' : 'r');
        little_endian(index, index < 256 ? 1 : 4);
    }

    bool recall(PickleId id) {
        const auto found = memo_.find(id);
        if (found == memo_.end())
            return false;
        operation(found->second < 256 ? 'h' : 'j');
        little_endian(found->second, found->second < 256 ? 1 : 4);
        return true;
    }

    void value(PickleValue value, int depth) {
        if (depth > max_nesting)
            throw internal_error("a value to be pickled is nested too deeply");
        if (recall(value.id()))
            return;
        switch (value.kind()) {
        case PickleKind::none:
            operation('N');
            break;
        case PickleKind::boolean:
            operation(*value.as_boolean() ? 0x88 : 0x89);
            break;
        case PickleKind::integer:
            integer(*value.as_integer());
            break;
        case PickleKind::big_integer:
            big_integer(*value.as_big_integer());
            break;
        case PickleKind::real:
            real(*value.as_number());
            break;
        case PickleKind::string:
            text(*value.as_string());
            memorize(value.id());
            break;
        case PickleKind::bytes:
            bytes(*value.as_bytes());
            memorize(value.id());
            break;
        case PickleKind::list:
            operation(']');
            memorize(value.id());
            items(value, depth);
            break;
        case PickleKind::tuple:
            tuple(value, depth);
            break;
        case PickleKind::set:
            set(value, depth);
            break;
        case PickleKind::dict:
            operation('}');
            memorize(value.id());
            entries(value, depth);
            break;
        case PickleKind::global:
            global(*value.as_global());
            memorize(value.id());
            break;
        case PickleKind::object:
            object(value, depth);
            break;
        case PickleKind::persistent:
            this->value(*value.as_persistent(), depth + 1);
            operation('Q');
            break;
        }
    }

    void integer(std::int64_t value) {
        if (value >= 0 && value < 256) {
            operation('K');
            little_endian(static_cast<std::uint64_t>(value), 1);
        } else if (value >= 0 && value < 65536) {
            operation('M');
            little_endian(static_cast<std::uint64_t>(value), 2);
        } else if (value >= std::numeric_limits<std::int32_t>::min() &&
                   value <= std::numeric_limits<std::int32_t>::max()) {
            operation('J');
            little_endian(static_cast<std::uint64_t>(value), 4);
        } else {
            operation(0x8a);
            operation(8);
            little_endian(static_cast<std::uint64_t>(value), 8);
        }
    }

    void big_integer(std::string_view digits) {
        if (digits.size() < 256) {
            operation(0x8a);
            little_endian(digits.size(), 1);
        } else {
            operation(0x8b);
            little_endian(digits.size(), 4);
        }
        output_ += digits;
    }

    void real(double value) {
        operation('G');
        const auto bits = std::bit_cast<std::uint64_t>(value);
        for (int shift = 56; shift >= 0; shift -= 8)
            operation(static_cast<unsigned char>((bits >> shift) & 0xffU));
    }

    void text(std::string_view value) {
        operation('X');
        little_endian(value.size(), 4);
        output_ += value;
    }

    /// Protocol 2 has no bytes type: Python writes them as a call.
    void bytes(std::string_view value) {
        output_ += "c_codecs\nencode\n";
        std::string utf8;
        for (const char byte : value) {
            const auto code = static_cast<unsigned char>(byte);
            if (code < 0x80) {
                utf8.push_back(byte);
            } else {
                utf8.push_back(static_cast<char>(0xC0U | (code >> 6U)));
                utf8.push_back(static_cast<char>(0x80U | (code & 0x3FU)));
            }
        }
        text(utf8);
        text("latin1");
        operation(0x86);
        operation('R');
    }

    void global(const PickleGlobal& name) { output_ += "c" + name.module + "\n" + name.name + "\n"; }

    void items(PickleValue value, int depth) {
        if (value.elements().empty())
            return;
        operation('(');
        for (const PickleId element : value.elements())
            this->value(value.at(element), depth + 1);
        operation('e');
    }

    void entries(PickleValue value, int depth) {
        if (value.entries().empty())
            return;
        operation('(');
        for (const auto& [key, element] : value.entries()) {
            this->value(value.at(key), depth + 1);
            this->value(value.at(element), depth + 1);
        }
        operation('u');
    }

    void tuple(PickleValue value, int depth) {
        const std::size_t count = value.elements().size();
        if (count == 0) {
            operation(')');
            return;
        }
        if (count > 3)
            operation('(');
        for (const PickleId element : value.elements())
            this->value(value.at(element), depth + 1);
        operation(count > 3 ? 't' : static_cast<unsigned char>(0x84 + count));
        memorize(value.id());
    }

    void set(PickleValue value, int depth) {
        output_ += "c__builtin__\nset\n]";
        items(value, depth);
        operation(0x85);
        operation('R');
        memorize(value.id());
    }

    void object(PickleValue value, int depth) {
        const PickleObject& object = *value.as_object();
        this->value(value.at(object.callable), depth + 1);
        this->value(value.at(object.arguments), depth + 1);
        operation(object.via_new ? 0x81 : 'R');
        memorize(value.id());
        items(value, depth);
        entries(value, depth);
        for (const PickleId state : object.states) {
            this->value(value.at(state), depth + 1);
            operation('b');
        }
    }

    std::string output_;
    std::unordered_map<PickleId, std::size_t> memo_;
};

} // namespace

std::string write_pickle(PickleValue value) {
    return Encoder(value).take();
}

} // namespace rekindle::trainer
