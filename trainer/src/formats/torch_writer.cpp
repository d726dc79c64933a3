#include "zip.h"

#include <rekindle/base/hash.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/torch_archive.h>

#include <bit>
#include <cstring>

namespace rekindle::trainer {

static_assert(std::endian::native == std::endian::little, "storages are written as they are in memory");

PickleId TorchArchiveBuilder::tensor(std::span<const float> values, std::span<const std::size_t> shape) {
    std::string storage(values.size_bytes(), '\0');
    if (!values.empty())
        std::memcpy(storage.data(), values.data(), values.size_bytes());
    std::vector<PickleId> size, stride(shape.size());
    std::int64_t step = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        stride[axis] = document_.integer(step);
        step *= static_cast<std::int64_t>(shape[axis]);
    }
    if (static_cast<std::size_t>(step) != values.size())
        throw internal_error("a tensor's shape does not match its values");
    for (const std::size_t extent : shape)
        size.push_back(document_.integer(static_cast<std::int64_t>(extent)));
    const PickleId description =
        document_.tuple({document_.string("storage"), document_.global("torch", "FloatStorage"),
                         document_.string(std::to_string(storages_.size())), document_.string("cpu"),
                         document_.integer(static_cast<std::int64_t>(values.size()))});
    storages_.push_back(std::move(storage));
    const PickleId arguments = document_.tuple(
        {document_.persistent(description), document_.integer(0), document_.tuple(std::move(size)),
         document_.tuple(std::move(stride)), document_.boolean(false), document_.ordered_dict()});
    return document_.object(document_.global("torch._utils", "_rebuild_tensor_v2"), arguments);
}

PickleId TorchArchiveBuilder::state_dict(std::span<const mlp::NamedTensor> tensors) {
    const PickleId dict = document_.ordered_dict();
    for (const mlp::NamedTensor& one : tensors)
        document_.insert(dict, one.name, tensor(one.values, one.shape));
    return dict;
}

std::string TorchArchiveBuilder::finish(PickleId root, std::string_view folder) {
    const std::string prefix = std::string(folder) + "/";
    const std::string pickle = write_pickle(document_.at(root));
    ZipWriter zip;
    zip.add(prefix + "data.pkl", pickle);
    zip.add(prefix + ".format_version", "1");
    zip.add(prefix + ".storage_alignment", "64");
    zip.add(prefix + "byteorder", "little");
    Hasher identity;
    identity.update(pickle);
    for (std::size_t i = 0; i < storages_.size(); ++i) {
        zip.add(prefix + "data/" + std::to_string(i), storages_[i]);
        identity.update(storages_[i]);
    }
    zip.add(prefix + "version", "3\n");
    zip.add(prefix + ".data/serialization_id", identity.digest().hex());
    return zip.finish();
}

void write_torch_archive(const std::filesystem::path& path, TorchArchiveBuilder builder, PickleId root) {
    const std::string bytes = builder.finish(root, path.stem().string());
    TorchArchive::parse(bytes, path.string());
    write_file_atomically(path, bytes);
    if (MappedFile(path).text() != bytes)
        throw Error("the file does not contain what was written to it").at(path.string());
}

void write_state_dict(const std::filesystem::path& path, std::span<const mlp::NamedTensor> tensors) {
    TorchArchiveBuilder builder;
    const PickleId root = builder.state_dict(tensors);
    write_torch_archive(path, std::move(builder), root);
}

} // namespace rekindle::trainer
