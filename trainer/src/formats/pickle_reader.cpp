#include "pickle_input.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/pickle.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace rekindle::trainer {

namespace {

constexpr unsigned highest_protocol = 5;
constexpr std::size_t max_decimal_digits = 4300; // Python's own limit

/// The pickle machine: a stack, marks, a memo. Calls become nodes.
class Machine {
  public:
    Machine(std::string_view bytes, const std::string& name, const PickleLimits& limits)
        : input_(bytes, name), limits_(limits) {}

    ParsedPickle run() {
        for (;;) {
            input_.begin_operation();
            if (input_.at_end())
                input_.fail("the pickle ends without a stop mark");
            const unsigned char operation = input_.byte();
            if (operation == '.')
                break;
            if (!scalar(operation) && !counted_text(operation) && !container(operation) && !call(operation) &&
                !memo_or_stack(operation))
                input_.fail(fmt::format("unknown pickle operation 0x{:02x}", operation));
            if (document_.size() + stack_.size() + marks_.size() + children_ > limits_.max_nodes)
                input_.fail(fmt::format("the pickle holds more than {} values", limits_.max_nodes));
        }
        if (stack_.size() != 1 || !marks_.empty())
            input_.fail(fmt::format("the pickle ends with {} on its stack", counted(stack_.size(), "value")));
        return {std::move(document_), stack_.back()};
    }

  private:
    void push(PickleId id) { stack_.push_back(id); }

    std::size_t floor() const noexcept { return marks_.empty() ? 0 : marks_.back(); }

    PickleId pop() {
        if (stack_.size() <= floor())
            input_.fail("the pickle takes a value from an empty stack");
        const PickleId id = stack_.back();
        stack_.pop_back();
        return id;
    }

    PickleId top() {
        if (stack_.size() <= floor())
            input_.fail("the pickle uses a value from an empty stack");
        return stack_.back();
    }

    std::vector<PickleId> pop_to_mark() {
        if (marks_.empty())
            input_.fail("the pickle closes a group that it did not open");
        std::vector<PickleId> values(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                                     stack_.end());
        stack_.resize(marks_.back());
        marks_.pop_back();
        children_ += values.size();
        return values;
    }

    std::vector<PickleId> pop_count(std::size_t count) {
        std::vector<PickleId> values(count);
        for (std::size_t i = count; i-- > 0;)
            values[i] = pop();
        children_ += count;
        return values;
    }

    bool scalar(unsigned char operation) {
        switch (operation) {
        case 'N':
            push(document_.none());
            return true;
        case 0x88:
            push(document_.boolean(true));
            return true;
        case 0x89:
            push(document_.boolean(false));
            return true;
        case 'J':
            push(document_.integer(input_.little_endian<std::int32_t>()));
            return true;
        case 'K':
            push(document_.integer(input_.byte()));
            return true;
        case 'M':
            push(document_.integer(input_.little_endian<std::uint16_t>()));
            return true;
        case 0x8a:
            push(document_.big_integer(input_.take(input_.byte())));
            return true;
        case 0x8b:
            push(document_.big_integer(input_.take(length32())));
            return true;
        case 'G':
            push(document_.real(input_.big_endian_real()));
            return true;
        case 'F':
            push(document_.real(decimal_real(input_.line())));
            return true;
        case 'I':
            push(decimal_integer(input_.line(), true));
            return true;
        case 'L':
            push(decimal_integer(input_.line(), false));
            return true;
        default:
            return false;
        }
    }

    std::uint64_t length32() {
        const auto length = input_.little_endian<std::int32_t>();
        if (length < 0)
            input_.fail(fmt::format("negative length {}", length));
        return static_cast<std::uint64_t>(length);
    }

    double decimal_real(std::string_view text) {
        if (text.starts_with('+'))
            text.remove_prefix(1);
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size())
            input_.fail("a number that cannot be read");
        return value;
    }

    PickleId decimal_integer(std::string_view text, bool may_be_boolean) {
        if (may_be_boolean && (text == "00" || text == "01"))
            return document_.boolean(text == "01");
        if (text.ends_with('L'))
            text.remove_suffix(1);
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc::result_out_of_range && end == text.data() + text.size() &&
            text.size() <= max_decimal_digits)
            return document_.big_integer(twos_complement(text));
        if (error != std::errc() || end != text.data() + text.size())
            input_.fail("an integer that cannot be read");
        return document_.integer(value);
    }

    /// Strings and bytes.
    bool counted_text(unsigned char operation) {
        switch (operation) {
        case 'X':
            text(input_.take(input_.little_endian<std::uint32_t>()));
            return true;
        case 0x8c:
            text(input_.take(input_.byte()));
            return true;
        case 0x8d:
            text(input_.take(input_.little_endian<std::uint64_t>()));
            return true;
        case 'T':
            text(input_.take(length32()));
            return true;
        case 'U':
            text(input_.take(input_.byte()));
            return true;
        case 'V':
            push(document_.string(raw_unicode(input_.line())));
            return true;
        case 'S':
            push(document_.string(quoted(input_.line())));
            return true;
        case 'B':
            bytes(input_.take(input_.little_endian<std::uint32_t>()));
            return true;
        case 'C':
            bytes(input_.take(input_.byte()));
            return true;
        case 0x8e:
        case 0x96:
            bytes(input_.take(input_.little_endian<std::uint64_t>()));
            return true;
        default:
            return false;
        }
    }

    void text(std::string_view value) { push(document_.string(std::string(value))); }
    void bytes(std::string_view value) { push(document_.bytes(std::string(value))); }

    /// Hexadecimal digits of an escape; `position` moves past them.
    std::uint32_t hexadecimal(std::string_view line, std::size_t& position, std::size_t digits) {
        std::uint32_t value = 0;
        const std::string_view part = line.substr(std::min(position, line.size()), digits);
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, 16);
        if (part.size() != digits || error != std::errc() || end != part.data() + part.size() ||
            value > 0x10FFFF)
            input_.fail("an escape in a string that cannot be read");
        position += digits;
        return value;
    }

    /// Protocol 0: raw-unicode-escape.
    std::string raw_unicode(std::string_view line) {
        std::string result;
        for (std::size_t i = 0; i < line.size();) {
            const char next = i + 1 < line.size() ? line[i + 1] : '\0';
            if (line[i] == '\\' && (next == 'u' || next == 'U')) {
                i += 2;
                append_utf8(result, hexadecimal(line, i, next == 'u' ? 4 : 8));
            } else {
                append_utf8(result, static_cast<unsigned char>(line[i++]));
            }
        }
        return result;
    }

    /// Protocol 0: a string in Python's quotes.
    std::string quoted(std::string_view line) {
        if (line.size() < 2 || (line.front() != '\'' && line.front() != '"') || line.back() != line.front())
            input_.fail("a string without its quotes");
        line = line.substr(1, line.size() - 2);
        std::string result;
        for (std::size_t i = 0; i < line.size();) {
            if (line[i] != '\\') {
                result.push_back(line[i++]);
                continue;
            }
            const char escape = i + 1 < line.size() ? line[i + 1] : '\0';
            i += 2;
            switch (escape) {
            case 'n':
                result.push_back('\n');
                break;
            case 't':
                result.push_back('\t');
                break;
            case 'r':
                result.push_back('\r');
                break;
            case '\\':
            case '\'':
            case '"':
                result.push_back(escape);
                break;
            case 'x':
                result.push_back(static_cast<char>(hexadecimal(line, i, 2)));
                break;
            default:
                input_.fail("an escape in a string that cannot be read");
            }
        }
        return result;
    }

    bool container(unsigned char operation) {
        switch (operation) {
        case ')':
            push(document_.tuple());
            return true;
        case ']':
            push(document_.list());
            return true;
        case '}':
            push(document_.dict());
            return true;
        case 0x8f:
            push(document_.set());
            return true;
        case 't':
            push(document_.tuple(pop_to_mark()));
            return true;
        case 'l':
            push(document_.list(pop_to_mark()));
            return true;
        case 0x91:
            push(document_.set(pop_to_mark()));
            return true;
        case 'd': {
            const std::vector<PickleId> pairs = pop_to_mark();
            push(document_.dict());
            set_items(pairs);
            return true;
        }
        case 0x85:
            push(document_.tuple(pop_count(1)));
            return true;
        case 0x86:
            push(document_.tuple(pop_count(2)));
            return true;
        case 0x87:
            push(document_.tuple(pop_count(3)));
            return true;
        case 'a':
            append_items(pop_count(1));
            return true;
        case 'e':
        case 0x90:
            append_items(pop_to_mark());
            return true;
        case 's':
            set_items(pop_count(2));
            return true;
        case 'u':
            set_items(pop_to_mark());
            return true;
        default:
            return false;
        }
    }

    void append_items(const std::vector<PickleId>& items) {
        const PickleId target = top();
        const PickleKind kind = document_.at(target).kind();
        if (kind != PickleKind::list && kind != PickleKind::set && kind != PickleKind::object)
            input_.fail("the pickle appends to something that is not a list");
        for (const PickleId item : items)
            document_.append(target, item);
    }

    void set_items(const std::vector<PickleId>& pairs) {
        const PickleId target = top();
        const PickleKind kind = document_.at(target).kind();
        if (kind != PickleKind::dict && kind != PickleKind::object)
            input_.fail("the pickle sets a key of something that is not a dictionary");
        if (pairs.size() % 2 != 0)
            input_.fail("a dictionary with a key that has no value");
        for (std::size_t i = 0; i < pairs.size(); i += 2)
            document_.insert(target, pairs[i], pairs[i + 1]);
    }

    /// Names and calls: kept as names, never resolved.
    bool call(unsigned char operation) {
        switch (operation) {
        case 'c': {
            const std::string module(input_.line());
            push(document_.global(module, std::string(input_.line())));
            return true;
        }
        case 0x93: {
            const auto name = document_.at(pop()).as_string();
            const auto module = document_.at(pop()).as_string();
            if (!name || !module)
                input_.fail("a global whose name is not text");
            push(document_.global(std::string(*module), std::string(*name)));
            return true;
        }
        case 'R':
            call_with(pop(), false);
            return true;
        case 0x81:
            call_with(pop(), true);
            return true;
        case 0x92: {
            const PickleId keywords = pop();
            const PickleId arguments = pop();
            call_with(document_.tuple({arguments, keywords}), true);
            return true;
        }
        case 'b': {
            const PickleId state = pop();
            if (document_.at(top()).kind() != PickleKind::object)
                input_.fail("the pickle gives a state to a plain value");
            document_.add_state(top(), state);
            ++children_;
            return true;
        }
        case 'i': {
            const std::string module(input_.line());
            const PickleId callable = document_.global(module, std::string(input_.line()));
            push(document_.object(callable, document_.tuple(pop_to_mark())));
            return true;
        }
        case 'o': {
            std::vector<PickleId> values = pop_to_mark();
            if (values.empty())
                input_.fail("an object without its class");
            const PickleId callable = values.front();
            values.erase(values.begin());
            push(document_.object(callable, document_.tuple(std::move(values))));
            return true;
        }
        case 'P':
            push(document_.persistent(document_.string(std::string(input_.line()))));
            return true;
        case 'Q':
            push(document_.persistent(pop()));
            return true;
        default:
            return false;
        }
    }

    void call_with(PickleId arguments, bool via_new) {
        const PickleId callable = pop();
        push(document_.object(callable, arguments, via_new));
    }

    bool memo_or_stack(unsigned char operation) {
        switch (operation) {
        case '(':
            marks_.push_back(stack_.size());
            return true;
        case '0':
            if (stack_.size() > floor())
                stack_.pop_back();
            else
                pop_to_mark();
            return true;
        case '1':
            pop_to_mark();
            return true;
        case '2':
            push(top());
            return true;
        case 'g':
            recall(memo_index(input_.line()));
            return true;
        case 'h':
            recall(input_.byte());
            return true;
        case 'j':
            recall(input_.little_endian<std::uint32_t>());
            return true;
        case 'p':
            memorize(memo_index(input_.line()));
            return true;
        case 'q':
            memorize(input_.byte());
            return true;
        case 'r':
            memorize(input_.little_endian<std::uint32_t>());
            return true;
        case 0x94:
            memorize(memo_.size());
            return true;
        case 0x80: {
            const unsigned protocol = input_.byte();
            if (protocol > highest_protocol)
                input_.fail(fmt::format("pickle protocol {}; protocols up to {} are known", protocol,
                                        highest_protocol));
            return true;
        }
        case 0x95: {
            // A frame only announces bytes that follow in line.
            input_.little_endian<std::uint64_t>();
            return true;
        }
        case 0x82:
        case 0x83:
        case 0x84:
            input_.fail("the pickle needs Python's extension registry");
        case 0x97:
        case 0x98:
            input_.fail("the pickle needs buffers that are not in the file");
        default:
            return false;
        }
    }

    std::uint64_t memo_index(std::string_view text) {
        std::uint64_t index = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
        if (error != std::errc() || end != text.data() + text.size())
            input_.fail("a memo number that cannot be read");
        return index;
    }

    void memorize(std::uint64_t index) {
        if (memo_.insert_or_assign(index, top()).second)
            ++children_;
    }

    void recall(std::uint64_t index) {
        const auto found = memo_.find(index);
        if (found == memo_.end())
            input_.fail(fmt::format("the pickle uses memo {}, which it did not set", index));
        push(found->second);
    }

    Input input_;
    const PickleLimits& limits_;
    PickleDocument document_;
    std::vector<PickleId> stack_;
    std::vector<std::size_t> marks_;
    std::unordered_map<std::uint64_t, PickleId> memo_;
    std::size_t children_ = 0;
};

} // namespace

ParsedPickle parse_pickle(std::string_view bytes, const std::string& name, const PickleLimits& limits) {
    if (bytes.size() > limits.max_bytes)
        throw usage_error(
            fmt::format("the pickle has {} bytes; at most {} are read", bytes.size(), limits.max_bytes))
            .at(name);
    return Machine(bytes, name, limits).run();
}

} // namespace rekindle::trainer
