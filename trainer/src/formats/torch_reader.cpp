#include "element_type.h"
#include "zip.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/torch_archive.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace rekindle::trainer {

namespace {

struct StorageType {
    std::string_view name;
    ElementType type;
};

constexpr std::array<StorageType, 10> storage_types{{
    {"DoubleStorage", ElementType::float64},
    {"FloatStorage", ElementType::float32},
    {"HalfStorage", ElementType::float16},
    {"BFloat16Storage", ElementType::bfloat16},
    {"LongStorage", ElementType::int64},
    {"IntStorage", ElementType::int32},
    {"ShortStorage", ElementType::int16},
    {"CharStorage", ElementType::int8},
    {"ByteStorage", ElementType::uint8},
    {"BoolStorage", ElementType::boolean},
}};

/// torch's magic number at the beginning of files that torch < 1.6 wrote: a pickled long.
constexpr std::string_view legacy_magic{"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14};
constexpr int max_parameter_depth = 8;
constexpr std::uint64_t max_element_size = 8; // bytes

/// a * b, or nothing when it exceeds 2^63.
std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result) || result > std::uint64_t{1} << 63U)
        return std::nullopt;
    return result;
}

std::optional<std::vector<std::uint64_t>> sizes_of(PickleValue value) {
    // torch.Size is pickled as a call with one tuple.
    if (value.global_name() == "torch.Size" && value.as_object()) {
        const auto inner = value.at(value.as_object()->arguments).element(0);
        if (!inner)
            return std::nullopt;
        value = *inner;
    }
    if (value.kind() != PickleKind::tuple && value.kind() != PickleKind::list)
        return std::nullopt;
    std::vector<std::uint64_t> sizes;
    for (const PickleId id : value.elements()) {
        const auto size = value.at(id).as_integer();
        if (!size || *size < 0)
            return std::nullopt;
        sizes.push_back(static_cast<std::uint64_t>(*size));
    }
    return sizes;
}

} // namespace

std::uint64_t TensorReference::elements() const noexcept {
    std::uint64_t count = 1;
    for (const std::uint64_t size : shape)
        count *= size;
    return count;
}

std::uint64_t TorchLimits::max_elements(std::uint64_t file_size) const noexcept {
    return std::max(file_size * elements_per_byte_of_file, elements_of_a_small_file);
}

struct TorchArchive::Content {
    std::optional<MappedFile> file;
    std::string name;
    TorchLimits limits;
    std::uint64_t size = 0;
    std::optional<ZipReader> zip;
    std::string folder; ///< with its slash
    bool swapped = false;
    ParsedPickle pickle;

    void open(std::string_view bytes);
    void refuse_other_archives() const;
    TensorReference reference(const PickleValue& arguments) const;
    void read_storage(const PickleValue& persistent, TensorReference& tensor) const;
    [[noreturn]] void fail(const std::string& what) const { throw usage_error(what).at(name); }
    std::string_view record_bytes(const ZipEntry& entry) const;
    template <class Out>
    std::vector<Out> convert(const TensorReference& tensor) const;

  private:
    struct Record {
        std::string storage;
        std::string_view bytes;
    };
    mutable std::mutex records_mutex_;
    mutable std::map<const ZipEntry*, Record>
        records_; ///< checked (and decompressed) once, however many views they have
};

std::string_view TorchArchive::Content::record_bytes(const ZipEntry& entry) const {
    const std::lock_guard lock(records_mutex_);
    const auto [found, is_new] = records_.try_emplace(&entry);
    if (is_new) {
        try {
            found->second.bytes =
                zip->content(entry, found->second.storage, max_element_size * limits.max_elements(size));
        } catch (...) {
            records_.erase(found);
            throw;
        }
    }
    return found->second.bytes;
}

/// Refuses zip archives that torch.save did not write, by the names of their records.
void TorchArchive::Content::refuse_other_archives() const {
    const auto any = [&](auto&& test) {
        return std::ranges::any_of(zip->entries(), [&](const ZipEntry& entry) { return test(entry.name); });
    };
    if (any([](const std::string& n) { return n.find("/code/") != std::string::npos; }) &&
        any([](const std::string& n) { return n.ends_with("/constants.pkl"); }))
        throw usage_error("this is a TorchScript program (torch.jit.save), not a dictionary of tensors")
            .at(name)
            .hint("Take its tensors out with PyTorch: python3 -c \"import torch; torch.save(torch.jit.load("
                  "'OLD.pt', map_location='cpu').state_dict(), 'NEW.pt')\"");
    if (any([](const std::string& n) {
            return n.ends_with("archive_format") || n.ends_with("models/model.json") ||
                   n.ends_with("serialized_exported_program.json");
        }))
        throw usage_error("this is an exported program (torch.export.save), not a dictionary of tensors")
            .at(name)
            .hint(
                "Take its tensors out with PyTorch: python3 -c \"import torch; torch.save(torch.export.load("
                "'OLD.pt2').state_dict, 'NEW.pt')\"");
    if (any([](const std::string& n) { return n.ends_with(".npy"); }))
        throw usage_error("this is an archive of NumPy arrays (.npz)")
            .at(name)
            .expected("a file written by torch.save");
}

void TorchArchive::Content::open(std::string_view bytes) {
    size = bytes.size();
    if (bytes.starts_with(legacy_magic) || (bytes.size() > 262 && bytes.substr(257, 5) == "ustar"))
        throw usage_error("this file is in the format that PyTorch wrote before version 1.6")
            .at(name)
            .expected("a zip archive as torch.save writes it today")
            .hint("Convert it once with PyTorch: python3 -c \"import torch; torch.save(torch.load('OLD.pt', "
                  "weights_only=True, map_location='cpu'), 'NEW.pt')\"");
    if (!bytes.starts_with("PK"))
        throw usage_error("this is not a PyTorch archive").at(name).expected("a file written by torch.save");
    zip.emplace(bytes, name);
    const auto& entries = zip->entries();
    refuse_other_archives();
    const auto pickle_entry = std::ranges::find_if(entries, [](const ZipEntry& entry) {
        const std::size_t slash = entry.name.find('/');
        return slash != std::string::npos && entry.name.substr(slash) == "/data.pkl";
    });
    if (pickle_entry == entries.end())
        throw usage_error("the archive holds no data.pkl").at(name).expected("a file written by torch.save");
    folder = pickle_entry->name.substr(0, pickle_entry->name.find('/') + 1);
    if (const ZipEntry* order = zip->find(folder + "byteorder")) {
        std::string storage;
        const std::string_view text = zip->content(*order, storage, 64);
        if (text != "little" && text != "big")
            fail(fmt::format("unknown byte order in the record {}byteorder", folder));
        swapped = text == "big";
    }
    std::string storage;
    const std::string_view data = zip->content(*pickle_entry, storage, limits.pickle.max_bytes);
    pickle = parse_pickle(data, name + ": " + pickle_entry->name, limits.pickle);
}

/// ('storage', torch.FloatStorage, key, location, elements).
void TorchArchive::Content::read_storage(const PickleValue& persistent, TensorReference& tensor) const {
    const auto tag = persistent.element(0), type = persistent.element(1), key = persistent.element(2),
               count = persistent.element(4);
    if (!tag || tag->as_string() != "storage" || !type || !type->as_global() || !key || !key->as_string() ||
        !count || !count->as_integer() || *count->as_integer() < 0)
        fail("a tensor refers to a storage in a way that is not torch.save's");
    const std::string_view name_of_type = type->as_global()->name;
    const auto known = std::ranges::find(storage_types, name_of_type, &StorageType::name);
    if (known == storage_types.end())
        throw usage_error(fmt::format("a tensor is stored in a {}, which is not supported", name_of_type))
            .at(name)
            .expected("float, integer or boolean storage");
    tensor.type = known->type;
    tensor.storage = *key->as_string();
    tensor.storage_elements = static_cast<std::uint64_t>(*count->as_integer());
}

/// Arguments of torch._utils._rebuild_tensor_v2: storage, offset, size, stride, …
TensorReference TorchArchive::Content::reference(const PickleValue& arguments) const {
    TensorReference tensor;
    const auto storage = arguments.element(0), offset = arguments.element(1),
               size_value = arguments.element(2), stride = arguments.element(3);
    if (!storage || !storage->as_persistent() || !offset || !offset->as_integer() ||
        *offset->as_integer() < 0 || !size_value || !stride)
        fail("a tensor is described in a way that is not torch.save's");
    read_storage(*storage->as_persistent(), tensor);
    tensor.offset = static_cast<std::uint64_t>(*offset->as_integer());
    auto shape = sizes_of(*size_value);
    auto strides = sizes_of(*stride);
    if (!shape || !strides || shape->size() != strides->size())
        fail("a tensor's size and stride do not match");
    tensor.shape = std::move(*shape);
    tensor.strides = std::move(*strides);

    std::uint64_t count = 1, last = tensor.offset;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        const auto next = product(count, tensor.shape[i]);
        if (!next || *next > limits.max_elements(size))
            fail(fmt::format("a tensor has more than {}, in a file of {}",
                             counted(limits.max_elements(size), "element"), counted(size, "byte")));
        count = *next;
        if (tensor.shape[i] > 0) {
            const auto reach = product(tensor.shape[i] - 1, tensor.strides[i]);
            if (!reach || last > (std::uint64_t{1} << 62U) - std::min(*reach, std::uint64_t{1} << 62U))
                fail("a tensor reaches outside its storage");
            last += *reach;
        }
    }
    if (count > 0 && last >= tensor.storage_elements)
        fail(fmt::format("a tensor reaches element {} of a storage with {}", last, tensor.storage_elements));
    return tensor;
}

template <class Out>
std::vector<Out> TorchArchive::Content::convert(const TensorReference& tensor) const {
    const std::string record = folder + "data/" + tensor.storage;
    const ZipEntry* entry = zip->find(record);
    if (!entry)
        fail(fmt::format("the record {} is missing", record));
    const std::string_view bytes = record_bytes(*entry);
    const std::size_t width = size_of(tensor.type);
    if (bytes.size() / width < tensor.storage_elements)
        fail(fmt::format("the record {} has {}, too few for {}", record, counted(bytes.size(), "byte"),
                         counted(tensor.storage_elements, "element")));
    std::vector<Out> values(static_cast<std::size_t>(tensor.elements()));
    std::vector<std::uint64_t> index(tensor.shape.size(), 0);
    std::uint64_t at = tensor.offset;
    for (Out& value : values) {
        value = load_element<Out>(bytes.data() + at * width, tensor.type, swapped);
        for (std::size_t axis = index.size(); axis-- > 0;) {
            at += tensor.strides[axis];
            if (++index[axis] < tensor.shape[axis])
                break;
            at -= tensor.strides[axis] * tensor.shape[axis];
            index[axis] = 0;
        }
    }
    return values;
}

TorchArchive::TorchArchive(std::unique_ptr<Content> content) : content_(std::move(content)) {}
TorchArchive::TorchArchive(TorchArchive&&) noexcept = default;
TorchArchive& TorchArchive::operator=(TorchArchive&&) noexcept = default;
TorchArchive::~TorchArchive() = default;

TorchArchive TorchArchive::read(const std::filesystem::path& path, const TorchLimits& limits) {
    auto content = std::make_unique<Content>();
    content->name = path.string();
    content->limits = limits;
    content->file.emplace(path);
    content->open(content->file->text());
    return TorchArchive(std::move(content));
}

TorchArchive TorchArchive::parse(std::string_view bytes, const std::string& name, const TorchLimits& limits) {
    auto content = std::make_unique<Content>();
    content->name = name;
    content->limits = limits;
    content->open(bytes);
    return TorchArchive(std::move(content));
}

PickleValue TorchArchive::root() const noexcept {
    return content_->pickle.value();
}
const std::string& TorchArchive::name() const noexcept {
    return content_->name;
}
std::uint64_t TorchArchive::max_elements() const noexcept {
    return content_->limits.max_elements(content_->size);
}

std::optional<TensorReference> TorchArchive::tensor_reference(PickleValue value) const {
    for (int depth = 0; depth < max_parameter_depth; ++depth) {
        const PickleObject* object = value.as_object();
        if (!object)
            return std::nullopt;
        const std::string callable = value.global_name();
        const PickleValue arguments = value.at(object->arguments);
        if (callable == "torch._utils._rebuild_tensor_v2")
            return content_->reference(arguments);
        if (callable != "torch._utils._rebuild_parameter" &&
            callable != "torch._utils._rebuild_parameter_with_state" &&
            callable != "torch.nn.parameter.Parameter")
            return std::nullopt;
        const auto inner = arguments.element(0);
        if (!inner)
            return std::nullopt;
        value = *inner;
    }
    return std::nullopt;
}

std::vector<float> TorchArchive::read_float32(const TensorReference& tensor) const {
    return content_->convert<float>(tensor);
}
std::vector<double> TorchArchive::read_float64(const TensorReference& tensor) const {
    return content_->convert<double>(tensor);
}

namespace {

bool holds_tensors(const TorchArchive& archive, PickleValue value) {
    if (!value.is_mapping())
        return false;
    for (const auto& [key, entry] : value.entries())
        if (value.at(key).as_string() && archive.tensor_reference(value.at(entry)))
            return true;
    return false;
}

/// The dictionary of parameters: the saved object, or an entry of it under any name.
PickleValue find_state_dict(const TorchArchive& archive) {
    const PickleValue root = archive.root();
    for (const std::string_view key : {"model_state_dict", "state_dict"})
        if (const auto inner = root.find(key))
            return *inner;
    if (!root.is_mapping() || holds_tensors(archive, root))
        return root;
    std::vector<std::string> keys;
    for (const auto& [key, value] : root.entries())
        if (const auto name = root.at(key).as_string(); name && holds_tensors(archive, root.at(value)))
            keys.emplace_back(*name);
    if (keys.size() > 1)
        throw usage_error(fmt::format("the archive holds {} dictionaries of tensors: {}", keys.size(),
                                      fmt::join(keys, ", ")))
            .at(archive.name())
            .expected("one, bare or under the key model_state_dict")
            .hint(fmt::format("Save the one you mean: torch.save(torch.load('OLD.pt', map_location='cpu')"
                              "['{}'], 'NEW.pt').",
                              keys.front()));
    return keys.empty() ? root : *root.find(keys.front());
}

std::string_view without_prefixes(std::string_view name) {
    for (;;) {
        if (name.starts_with("module."))
            name.remove_prefix(7);
        else if (name.starts_with("_orig_mod."))
            name.remove_prefix(10);
        else if (name.starts_with("_fsdp_wrapped_module."))
            name.remove_prefix(21);
        else
            return name;
    }
}

} // namespace

std::vector<mlp::NamedTensor> state_dict_of(const TorchArchive& archive) {
    const PickleValue dict = find_state_dict(archive);
    std::vector<mlp::NamedTensor> tensors;
    std::uint64_t total = 0;
    if (dict.is_mapping()) {
        for (const auto& [key, value] : dict.entries()) {
            const auto name = dict.at(key).as_string();
            const auto reference = name ? archive.tensor_reference(dict.at(value)) : std::nullopt;
            if (!reference)
                continue;
            total += reference->elements();
            if (total > archive.max_elements())
                throw usage_error(fmt::format("the state dict has more than {}, too many for the file's size",
                                              counted(archive.max_elements(), "element")))
                    .at(archive.name());
            mlp::NamedTensor tensor{std::string(without_prefixes(*name)),
                                    {reference->shape.begin(), reference->shape.end()},
                                    archive.read_float32(*reference)};
            const auto same = std::ranges::find(tensors, tensor.name, &mlp::NamedTensor::name);
            if (same != tensors.end())
                *same = std::move(tensor);
            else
                tensors.push_back(std::move(tensor));
        }
    }
    if (tensors.empty())
        throw usage_error(archive.root().as_object()
                              ? fmt::format("the archive holds an object of the class {}, not a state dict",
                                            archive.root().global_name())
                              : std::string("the archive holds no state dict"))
            .at(archive.name())
            .expected("a dictionary of tensors, bare or under the key model_state_dict")
            .hint("Save one with torch.save(model.state_dict(), 'model.pt').");
    return tensors;
}

} // namespace rekindle::trainer
