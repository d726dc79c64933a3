#include "pickle_node.h"

#include <rekindle/foundation/error.h>
#include <rekindle/trainer/pickle.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace rekindle::trainer {

PickleDocument::PickleDocument() = default;
PickleDocument::PickleDocument(PickleDocument&&) noexcept = default;
PickleDocument& PickleDocument::operator=(PickleDocument&&) noexcept = default;
PickleDocument::~PickleDocument() = default;

PickleId PickleDocument::add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<PickleId>(nodes_.size() - 1);
}

PickleId PickleDocument::none() {
    return add({std::monostate{}});
}
PickleId PickleDocument::boolean(bool value) {
    return add({value});
}
PickleId PickleDocument::integer(std::int64_t value) {
    return add({value});
}
PickleId PickleDocument::real(double value) {
    return add({value});
}
PickleId PickleDocument::string(std::string value) {
    return add({std::move(value)});
}
PickleId PickleDocument::bytes(std::string value) {
    return add({Node::Bytes{std::move(value)}});
}
PickleId PickleDocument::list(std::vector<PickleId> elements) {
    return add({Node::List{std::move(elements)}});
}
PickleId PickleDocument::tuple(std::vector<PickleId> elements) {
    return add({Node::Tuple{std::move(elements)}});
}
PickleId PickleDocument::set(std::vector<PickleId> elements) {
    return add({Node::Set{std::move(elements)}});
}
PickleId PickleDocument::dict() {
    return add({Node::Dict{}});
}
PickleId PickleDocument::persistent(PickleId id) {
    return add({Node::Persistent{id}});
}

PickleId PickleDocument::global(std::string module, std::string name) {
    return add({std::make_unique<PickleGlobal>(PickleGlobal{std::move(module), std::move(name)})});
}

PickleId PickleDocument::object(PickleId callable, PickleId arguments, bool via_new) {
    auto object = std::make_unique<PickleObject>();
    object->callable = callable;
    object->arguments = arguments;
    object->via_new = via_new;
    return add({std::move(object)});
}

PickleId PickleDocument::ordered_dict() {
    const PickleId callable = global("collections", "OrderedDict");
    return object(callable, tuple());
}

PickleId PickleDocument::big_integer(std::string_view bytes) {
    // Bytes beyond the eighth that only repeat the sign carry no information.
    const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0;
    const char filler = negative ? '\xff' : '\0';
    std::string_view digits = bytes;
    const auto sign_bit = [](char byte) { return (static_cast<unsigned char>(byte) & 0x80U) != 0; };
    while (digits.size() > 8 && digits.back() == filler && sign_bit(digits[digits.size() - 2]) == negative)
        digits.remove_suffix(1);
    if (digits.size() > 8)
        return add({Node::BigInteger{std::string(digits)}});
    std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        value &= ~(std::uint64_t{0xff} << (8 * i));
        value |= std::uint64_t{static_cast<unsigned char>(digits[i])} << (8 * i);
    }
    return integer(static_cast<std::int64_t>(value));
}

void PickleDocument::append(PickleId container, PickleId element) {
    auto& content = nodes_[container].content;
    if (auto* list = std::get_if<Node::List>(&content))
        list->elements.push_back(element);
    else if (auto* set = std::get_if<Node::Set>(&content))
        set->elements.push_back(element);
    else
        std::get<std::unique_ptr<PickleObject>>(content)->elements.push_back(element);
}

void PickleDocument::insert(PickleId container, PickleId key, PickleId value) {
    auto& content = nodes_[container].content;
    if (auto* dict = std::get_if<Node::Dict>(&content))
        dict->entries.emplace_back(key, value);
    else
        std::get<std::unique_ptr<PickleObject>>(content)->entries.emplace_back(key, value);
}

void PickleDocument::insert(PickleId container, std::string_view key, PickleId value) {
    insert(container, string(std::string(key)), value);
}

void PickleDocument::add_state(PickleId object, PickleId state) {
    std::get<std::unique_ptr<PickleObject>>(nodes_[object].content)->states.push_back(state);
}

std::size_t PickleDocument::size() const noexcept {
    return nodes_.size();
}
PickleValue PickleDocument::at(PickleId id) const noexcept {
    return {*this, id};
}

const PickleDocument::Node& PickleValue::node() const noexcept {
    return document_->nodes_[id_];
}

PickleKind PickleValue::kind() const noexcept {
    return static_cast<PickleKind>(node().content.index());
}

std::optional<bool> PickleValue::as_boolean() const noexcept {
    const auto* value = std::get_if<bool>(&node().content);
    return value ? std::optional(*value) : std::nullopt;
}

std::optional<std::int64_t> PickleValue::as_integer() const noexcept {
    const auto* value = std::get_if<std::int64_t>(&node().content);
    return value ? std::optional(*value) : std::nullopt;
}

std::optional<std::string_view> PickleValue::as_string() const noexcept {
    const auto* value = std::get_if<std::string>(&node().content);
    return value ? std::optional<std::string_view>(*value) : std::nullopt;
}

std::optional<std::string_view> PickleValue::as_big_integer() const noexcept {
    const auto* value = std::get_if<PickleDocument::Node::BigInteger>(&node().content);
    return value ? std::optional<std::string_view>(value->bytes) : std::nullopt;
}

std::span<const PickleId> PickleValue::elements() const noexcept {
    using Node = PickleDocument::Node;
    const auto& content = node().content;
    if (const auto* list = std::get_if<Node::List>(&content))
        return list->elements;
    if (const auto* tuple = std::get_if<Node::Tuple>(&content))
        return tuple->elements;
    if (const auto* set = std::get_if<Node::Set>(&content))
        return set->elements;
    if (const auto* object = as_object())
        return object->elements;
    return {};
}

std::span<const std::pair<PickleId, PickleId>> PickleValue::entries() const noexcept {
    if (const auto* dict = std::get_if<PickleDocument::Node::Dict>(&node().content))
        return dict->entries;
    if (const auto* object = as_object())
        return object->entries;
    return {};
}

const PickleGlobal* PickleValue::as_global() const noexcept {
    const auto* global = std::get_if<std::unique_ptr<PickleGlobal>>(&node().content);
    return global ? global->get() : nullptr;
}

const PickleObject* PickleValue::as_object() const noexcept {
    const auto* object = std::get_if<std::unique_ptr<PickleObject>>(&node().content);
    return object ? object->get() : nullptr;
}

std::optional<PickleValue> PickleValue::as_persistent() const noexcept {
    const auto* persistent = std::get_if<PickleDocument::Node::Persistent>(&node().content);
    return persistent ? std::optional(at(persistent->id)) : std::nullopt;
}

std::string PickleValue::global_name() const {
    const PickleGlobal* global = as_global();
    if (const PickleObject* object = as_object())
        global = at(object->callable).as_global();
    return global ? global->module + "." + global->name : std::string();
}

bool PickleValue::is_mapping() const noexcept {
    if (kind() == PickleKind::dict)
        return true;
    const PickleObject* object = as_object();
    const PickleGlobal* global = object ? at(object->callable).as_global() : nullptr;
    return global && global->module == "collections" &&
           (global->name == "OrderedDict" || global->name == "defaultdict");
}

std::optional<PickleValue> PickleValue::find(std::string_view key) const noexcept {
    const auto all = entries();
    for (std::size_t i = all.size(); i-- > 0;)
        if (at(all[i].first).as_string() == key)
            return at(all[i].second);
    return std::nullopt;
}

std::optional<PickleValue> PickleValue::element(std::size_t index) const noexcept {
    const auto all = elements();
    return index < all.size() ? std::optional(at(all[index])) : std::nullopt;
}

std::optional<std::string> PickleValue::as_bytes() const {
    if (const auto* bytes = std::get_if<PickleDocument::Node::Bytes>(&node().content))
        return bytes->value;
    const PickleObject* object = as_object();
    if (!object || global_name() != "_codecs.encode")
        return std::nullopt;
    const auto text = at(object->arguments).element(0);
    const auto codec = at(object->arguments).element(1);
    if (!text || !codec || !text->as_string() ||
        (codec->as_string() != "latin1" && codec->as_string() != "latin-1"))
        return std::nullopt;
    std::string decoded;
    const std::string_view utf8 = *text->as_string();
    for (std::size_t i = 0; i < utf8.size(); ++i) {
        const auto byte = static_cast<unsigned char>(utf8[i]);
        if (byte < 0x80) {
            decoded.push_back(utf8[i]);
        } else {
            // U+0080 to U+00FF are the two-byte sequences that begin with C2 or C3.
            if ((byte != 0xC2 && byte != 0xC3) || i + 1 == utf8.size())
                return std::nullopt;
            decoded.push_back(
                static_cast<char>(((byte & 3U) << 6U) | (static_cast<unsigned char>(utf8[++i]) & 0x3FU)));
        }
    }
    return decoded;
}

namespace {

template <class T>
double scalar_from(const std::string& bytes, bool swapped) noexcept {
    std::array<char, sizeof(T)> raw{};
    std::memcpy(raw.data(), bytes.data(), sizeof(T));
    if (swapped)
        std::reverse(raw.begin(), raw.end());
    return static_cast<double>(std::bit_cast<T>(raw));
}

/// numpy.core.multiarray.scalar(dtype('f8'), bytes).
std::optional<double> numpy_scalar(const PickleValue& value) {
    const std::string name = value.global_name();
    if (name != "numpy.core.multiarray.scalar" && name != "numpy._core.multiarray.scalar")
        return std::nullopt;
    const PickleValue arguments = value.at(value.as_object()->arguments);
    const auto type = arguments.element(0);
    const auto data = arguments.element(1);
    if (!type || !data || type->global_name() != "numpy.dtype" || !type->as_object())
        return std::nullopt;
    const auto code = type->at(type->as_object()->arguments).element(0);
    const auto bytes = data->as_bytes();
    if (!code || !code->as_string() || !bytes)
        return std::nullopt;
    bool swapped = false;
    if (!type->as_object()->states.empty()) {
        const auto order = type->at(type->as_object()->states.back()).element(1);
        swapped = order && order->as_string() == ">";
    }
    const std::string_view letter = *code->as_string();
    if (letter == "f8" && bytes->size() == 8)
        return scalar_from<double>(*bytes, swapped);
    if (letter == "f4" && bytes->size() == 4)
        return scalar_from<float>(*bytes, swapped);
    if (letter == "i8" && bytes->size() == 8)
        return scalar_from<std::int64_t>(*bytes, swapped);
    if (letter == "i4" && bytes->size() == 4)
        return scalar_from<std::int32_t>(*bytes, swapped);
    return std::nullopt;
}

} // namespace

std::optional<double> PickleValue::as_number() const {
    if (const auto* real = std::get_if<double>(&node().content))
        return *real;
    if (const auto* integer = std::get_if<std::int64_t>(&node().content))
        return static_cast<double>(*integer);
    if (const auto* boolean = std::get_if<bool>(&node().content))
        return *boolean ? 1.0 : 0.0;
    return as_object() ? numpy_scalar(*this) : std::nullopt;
}

} // namespace rekindle::trainer
