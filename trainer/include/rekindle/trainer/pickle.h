#pragma once
/// Python pickles as data. Nothing is ever imported, called or constructed: a global is just its name, and a
/// call is a node with the name of what Python would call and its arguments.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rekindle::trainer {

/// Index of a node in its PickleDocument. Structures may share nodes and may be cyclic.
using PickleId = std::uint32_t;

enum class PickleKind {
    none,
    boolean,
    integer,     ///< fits 64 bits
    big_integer, ///< does not
    real,
    string,
    bytes,
    list,
    tuple,
    set,
    dict,
    global,     ///< a name: module and attribute
    object,     ///< an inert call: callable, arguments, state, entries
    persistent, ///< a persistent id; torch uses it for storages
};

/// A name that Python would look up in a module.
struct PickleGlobal {
    std::string module;
    std::string name;
};

/// A call that was not made. `entries` and `elements` were added to its result, `states` given to
/// __setstate__.
struct PickleObject {
    PickleId callable = 0;
    PickleId arguments = 0;
    bool via_new = false; ///< cls.__new__(cls, *arguments) rather than callable(*arguments)
    std::vector<PickleId> states;
    std::vector<PickleId> elements;
    std::vector<std::pair<PickleId, PickleId>> entries;
};

class PickleValue;

/// Owns the nodes of one pickle. Movable. Reading is thread-safe, adding is not.
class PickleDocument {
  public:
    PickleDocument();
    PickleDocument(PickleDocument&&) noexcept;
    PickleDocument& operator=(PickleDocument&&) noexcept;
    ~PickleDocument();

    PickleId none();
    PickleId boolean(bool value);
    PickleId integer(std::int64_t value);
    /// Little-endian two's complement, as pickles store it; becomes `integer` when it fits 64 bits.
    PickleId big_integer(std::string_view bytes);
    PickleId real(double value);
    PickleId string(std::string value);
    PickleId bytes(std::string value);
    PickleId list(std::vector<PickleId> elements = {});
    PickleId tuple(std::vector<PickleId> elements = {});
    PickleId set(std::vector<PickleId> elements = {});
    PickleId dict();
    PickleId global(std::string module, std::string name);
    PickleId object(PickleId callable, PickleId arguments, bool via_new = false);
    PickleId persistent(PickleId id);
    /// An empty collections.OrderedDict.
    PickleId ordered_dict();

    /// To a list, set, or the elements of an object. Precondition: the container is one of these.
    void append(PickleId container, PickleId element);
    /// To a dict or the entries of an object. Does not check for an equal key. Precondition as above.
    void insert(PickleId container, PickleId key, PickleId value);
    void insert(PickleId container, std::string_view key, PickleId value);
    /// __setstate__ of an object. Precondition: an object.
    void add_state(PickleId object, PickleId state);

    std::size_t size() const noexcept;
    /// Precondition: id < size().
    PickleValue at(PickleId id) const noexcept;

  private:
    friend class PickleValue;
    struct Node;
    PickleId add(Node node);
    std::vector<Node> nodes_;
};

/// A view of one node; valid while its document lives. Accessors of another kind give an empty result.
class PickleValue {
  public:
    PickleValue(const PickleDocument& document, PickleId id) noexcept : document_(&document), id_(id) {}

    PickleId id() const noexcept { return id_; }
    const PickleDocument& document() const noexcept { return *document_; }
    PickleKind kind() const noexcept;
    bool is_none() const noexcept { return kind() == PickleKind::none; }

    std::optional<bool> as_boolean() const noexcept;
    std::optional<std::int64_t> as_integer() const noexcept;
    /// Of an integer, a real, a boolean or a numpy scalar of a float or integer type.
    std::optional<double> as_number() const;
    std::optional<std::string_view> as_string() const noexcept;
    /// Of bytes, or of the call with which protocol 2 writes them (_codecs.encode(text, 'latin1')).
    std::optional<std::string> as_bytes() const;
    /// The bytes of a big_integer, little-endian two's complement.
    std::optional<std::string_view> as_big_integer() const noexcept;

    /// Elements of a list, tuple, set, or those appended to an object.
    std::span<const PickleId> elements() const noexcept;
    /// Entries of a dict, or those set on an object (collections.OrderedDict), in order.
    std::span<const std::pair<PickleId, PickleId>> entries() const noexcept;
    /// A dict, or a call of collections.OrderedDict or collections.defaultdict.
    bool is_mapping() const noexcept;
    /// The last entry with that string as key.
    std::optional<PickleValue> find(std::string_view key) const noexcept;
    std::optional<PickleValue> element(std::size_t index) const noexcept;

    const PickleGlobal* as_global() const noexcept;
    const PickleObject* as_object() const noexcept;
    /// The id of a persistent node.
    std::optional<PickleValue> as_persistent() const noexcept;
    /// "module.name" of a global, or of what an object would call; "" otherwise.
    std::string global_name() const;

    PickleValue at(PickleId id) const noexcept { return {*document_, id}; }

  private:
    const PickleDocument::Node& node() const noexcept;
    const PickleDocument* document_;
    PickleId id_;
};

/// A pickle beyond these limits is refused, so that hostile input costs bounded time and memory (about 100
/// bytes per node).
struct PickleLimits {
    std::size_t max_bytes = 64U << 20;
    std::size_t max_nodes = 2'000'000; ///< nodes, and entries on the stack or in containers
};

struct ParsedPickle {
    PickleDocument document;
    PickleId root = 0;
    PickleValue value() const noexcept { return document.at(root); }
};

/// Reads one pickle of protocol 0 to 5 (no out-of-band buffers, no extension registry). `name` is for
/// messages. Throws Error (usage) whose location is `name: byte N` for anything that is not a well-formed
/// pickle.
ParsedPickle parse_pickle(std::string_view bytes, const std::string& name, const PickleLimits& limits = {});

/// Writes protocol 2, what torch.save writes. Shared nodes are written once. Throws Error (internal) when
/// values are nested more than 500 deep or contain themselves through a tuple.
std::string write_pickle(PickleValue value);

} // namespace rekindle::trainer
