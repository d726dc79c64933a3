#pragma once
/// PyTorch's archives (torch.save since 1.6: a zip with data.pkl and the storages), read as data and written.

#include <rekindle/mlp/model.h>
#include <rekindle/trainer/pickle.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

enum class ElementType { float64, float32, float16, bfloat16, int64, int32, int16, int8, uint8, boolean };
std::size_t size_of(ElementType type) noexcept;

/// A tensor of an archive: a strided view of a storage. Offsets and strides are in elements.
struct TensorReference {
    std::string storage; ///< key of the storage: record data/<storage>
    ElementType type = ElementType::float32;
    std::uint64_t storage_elements = 0;
    std::uint64_t offset = 0;
    std::vector<std::uint64_t> shape;
    std::vector<std::uint64_t> strides;

    std::uint64_t elements() const noexcept;
};

/// A file beyond these limits is refused.
struct TorchLimits {
    PickleLimits pickle;
    /// Elements of one tensor, and of all tensors of a state dict: at most the larger of these two. Views
    /// that repeat an element (stride 0) and compression can make a small file large.
    std::uint64_t elements_per_byte_of_file = 4;
    std::uint64_t elements_of_a_small_file = std::uint64_t{1} << 24;

    std::uint64_t max_elements(std::uint64_t file_size) const noexcept;
};

/// An archive in memory or mapped. Movable; reading is thread-safe.
class TorchArchive {
  public:
    /// Maps the file. Throws Error (usage) naming the file and the location for anything that is not a valid
    /// archive; a legacy file (before PyTorch 1.6) is refused with the command that converts it.
    static TorchArchive read(const std::filesystem::path& path, const TorchLimits& limits = {});
    /// Parses bytes, which must outlive the archive. `name` is for messages.
    static TorchArchive parse(std::string_view bytes, const std::string& name,
                              const TorchLimits& limits = {});
    TorchArchive(TorchArchive&&) noexcept;
    TorchArchive& operator=(TorchArchive&&) noexcept;
    ~TorchArchive();

    /// The object that was passed to torch.save.
    PickleValue root() const noexcept;
    const std::string& name() const noexcept;
    /// The number of elements that TorchLimits allows for this file.
    std::uint64_t max_elements() const noexcept;

    /// For a tensor or a parameter; nothing for another value. Throws Error (usage) for a tensor with wrong
    /// sizes, an unknown kind of storage, or a reach beyond its storage.
    std::optional<TensorReference> tensor_reference(PickleValue value) const;
    /// The elements in row-major order, converted to float32.
    std::vector<float> read_float32(const TensorReference& tensor) const;
    std::vector<double> read_float64(const TensorReference& tensor) const;

  private:
    struct Content;
    explicit TorchArchive(std::unique_ptr<Content> content);
    std::unique_ptr<Content> content_;
};

/// The parameters of an archive: `model_state_dict`, `state_dict` or a bare state dict, with the prefixes
/// "module." (DataParallel) and "_orig_mod." (torch.compile) removed. In file order; entries that are not
/// tensors are skipped. Throws Error (usage) when there is none.
std::vector<mlp::NamedTensor> state_dict_of(const TorchArchive& archive);

/// Builds an archive that torch.load(weights_only=True) reads, with mmap=True too.
class TorchArchiveBuilder {
  public:
    PickleDocument& document() noexcept { return document_; }
    /// A contiguous float32 tensor with its own storage. Precondition: the shape's product is values.size().
    PickleId tensor(std::span<const float> values, std::span<const std::size_t> shape);
    /// The same as torch.nn.Module.state_dict() gives: an OrderedDict of tensors.
    PickleId state_dict(std::span<const mlp::NamedTensor> tensors);
    /// The bytes of the file. `folder` is the name of the folder inside the archive (torch takes the file's
    /// stem).
    std::string finish(PickleId root, std::string_view folder);

  private:
    PickleDocument document_;
    std::vector<std::string> storages_;
};

/// Writes atomically, after reading the bytes back as an archive; then compares the file with what was
/// written. Throws Error naming the file.
void write_torch_archive(const std::filesystem::path& path, TorchArchiveBuilder builder, PickleId root);

/// A bare state dict, as torch.save(model.state_dict(), path) writes it.
void write_state_dict(const std::filesystem::path& path, std::span<const mlp::NamedTensor> tensors);

} // namespace rekindle::trainer
