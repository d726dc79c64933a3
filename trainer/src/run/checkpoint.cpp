#include "metrics_json.h"

#include <rekindle/base/error.h>
#include <rekindle/base/file.h>
#include <rekindle/base/hash.h>
#include <rekindle/trainer/checkpoint.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <system_error>

namespace rekindle::trainer {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view magic = "RKCKPT01";
constexpr std::size_t hash_size = 32;

void append_u64(std::string& bytes, std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
        bytes.push_back(static_cast<char>(value >> shift & 0xFF));
}

void append_block(std::string& bytes, std::string_view block) {
    append_u64(bytes, block.size());
    bytes.append(block);
}

/// Takes length-prefixed blocks from a byte string; a length that lies is an error.
class BlockReader {
  public:
    explicit BlockReader(std::string_view bytes) : rest_(bytes) {}
    std::string_view next() {
        std::uint64_t size = 0;
        if (rest_.size() < 8)
            throw Error("the checkpoint is cut off");
        for (unsigned i = 0; i < 8; ++i)
            size |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
        rest_.remove_prefix(8);
        if (size > rest_.size())
            throw Error("the checkpoint is cut off");
        const std::string_view block = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return block;
    }

  private:
    std::string_view rest_;
};

Json describe_tensors(const std::vector<mlp::NamedTensor>& tensors) {
    Json list = Json::array();
    for (const auto& tensor : tensors)
        list.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
    return list;
}

std::string pack_values(const std::vector<mlp::NamedTensor>& tensors) {
    std::string bytes;
    for (const auto& tensor : tensors)
        bytes.append(reinterpret_cast<const char*>(tensor.values.data()),
                     tensor.values.size() * sizeof(float));
    return bytes;
}

std::vector<mlp::NamedTensor> unpack_tensors(const Json& list, std::string_view bytes) {
    std::vector<mlp::NamedTensor> tensors;
    for (const auto& entry : list) {
        mlp::NamedTensor tensor{entry.at("name"), entry.at("shape"), {}};
        std::size_t count = 1;
        for (const std::size_t extent : tensor.shape)
            count *= extent;
        if (count * sizeof(float) > bytes.size())
            throw Error("the checkpoint is cut off");
        tensor.values.resize(count);
        std::memcpy(tensor.values.data(), bytes.data(), count * sizeof(float));
        bytes.remove_prefix(count * sizeof(float));
        tensors.push_back(std::move(tensor));
    }
    return tensors;
}

} // namespace

OptimizerMoments optimizer_moments(const mlp::Engine& engine) {
    const mlp::OptimizerSpec& spec = engine.training().optimizer;
    OptimizerMoments moments{engine.steps(), engine.learning_rate(), {}, {}};
    if (spec.kind == mlp::OptimizerSpec::Kind::adamw) {
        moments.first = engine.optimizer_tensors("exp_avg");
        moments.second = engine.optimizer_tensors("exp_avg_sq");
    } else if (spec.momentum > 0) {
        moments.first = engine.optimizer_tensors("momentum_buffer");
    }
    return moments;
}

std::string encode_checkpoint(const Checkpoint& c) {
    Json json{{"config_hash", c.config_hash},
              {"data_hash", c.data_hash},
              {"data_summary", c.data_summary},
              {"epoch", c.epoch},
              {"batches_in_epoch", c.batches_in_epoch},
              {"epoch_loss_sum", c.epoch_loss_sum},
              {"epoch_rows", c.epoch_rows},
              {"epoch_seconds", c.epoch_seconds},
              {"training_seconds", c.training_seconds},
              {"best_validation_loss", c.best_validation_loss},
              {"best_epoch", c.best_epoch},
              {"epochs_without_improvement", c.epochs_without_improvement},
              {"best_parameters", describe_tensors(c.best_parameters)},
              {"best_steps", c.best_optimizer.steps},
              {"best_learning_rate", c.best_optimizer.learning_rate},
              {"best_first_moments", describe_tensors(c.best_optimizer.first)},
              {"best_second_moments", describe_tensors(c.best_optimizer.second)}};
    json["history"] = Json::array();
    for (const EpochMetrics& metrics : c.history)
        json["history"].push_back(metrics_to_json(metrics));

    std::string bytes(magic);
    append_block(bytes, json.dump());
    append_block(bytes, {reinterpret_cast<const char*>(c.engine.bytes.data()), c.engine.bytes.size()});
    append_block(bytes, pack_values(c.best_parameters));
    append_block(bytes, pack_values(c.best_optimizer.first));
    append_block(bytes, pack_values(c.best_optimizer.second));
    bytes += hash128(std::string_view(bytes)).hex();
    return bytes;
}

Checkpoint decode_checkpoint(std::string_view bytes) {
    if (bytes.substr(0, magic.size() - 2) != magic.substr(0, magic.size() - 2))
        throw Error("this is not a checkpoint of Rekindle");
    if (bytes.substr(0, magic.size()) != magic)
        throw Error("the checkpoint has another format version").expected(std::string(magic));
    if (bytes.size() < magic.size() + hash_size ||
        hash128(bytes.substr(0, bytes.size() - hash_size)).hex() != bytes.substr(bytes.size() - hash_size))
        throw Error("the checkpoint is damaged: its checksum does not fit");
    BlockReader blocks(bytes.substr(magic.size(), bytes.size() - magic.size() - hash_size));
    Checkpoint c;
    try {
        const Json json = Json::parse(blocks.next());
        c.config_hash = json.at("config_hash");
        c.data_hash = json.at("data_hash");
        c.data_summary = json.at("data_summary");
        c.epoch = json.at("epoch");
        c.batches_in_epoch = json.at("batches_in_epoch");
        c.epoch_loss_sum = json.at("epoch_loss_sum");
        c.epoch_rows = json.at("epoch_rows");
        c.epoch_seconds = json.at("epoch_seconds");
        c.training_seconds = json.at("training_seconds");
        c.best_validation_loss = json.at("best_validation_loss");
        c.best_epoch = json.at("best_epoch");
        c.epochs_without_improvement = json.at("epochs_without_improvement");
        for (const Json& metrics : json.at("history"))
            c.history.push_back(metrics_from_json(metrics));
        const std::string_view engine = blocks.next();
        const auto engine_bytes = std::as_bytes(std::span(engine.data(), engine.size()));
        c.engine.bytes.assign(engine_bytes.begin(), engine_bytes.end());
        c.best_parameters = unpack_tensors(json.at("best_parameters"), blocks.next());
        c.best_optimizer.steps = json.at("best_steps");
        c.best_optimizer.learning_rate = json.at("best_learning_rate");
        c.best_optimizer.first = unpack_tensors(json.at("best_first_moments"), blocks.next());
        c.best_optimizer.second = unpack_tensors(json.at("best_second_moments"), blocks.next());
    } catch (const Json::exception& error) {
        throw Error(fmt::format("the checkpoint is damaged: {}", error.what()));
    }
    return c;
}

CheckpointStore::CheckpointStore(std::filesystem::path folder, std::int64_t keep)
    : folder_(std::move(folder)), keep_(std::max<std::int64_t>(1, keep)) {
    std::error_code ignored; // no folder yet, or a file that another run removed
    for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored))
        if (entry.path().filename().string().starts_with(".epoch-"))
            std::filesystem::remove(entry.path(), ignored);
}

std::vector<std::filesystem::path> CheckpointStore::files_oldest_first() const {
    std::vector<std::filesystem::path> files;
    std::error_code code;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, code))
        if (entry.path().extension() == ".checkpoint" && !entry.path().filename().string().starts_with('.'))
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

std::filesystem::path CheckpointStore::save(const Checkpoint& checkpoint) {
    ensure_directory(folder_);
    const auto name =
        fmt::format("epoch-{:06}-batch-{:010}.checkpoint", checkpoint.epoch, checkpoint.batches_in_epoch);
    write_file_atomically(folder_ / name, encode_checkpoint(checkpoint));
    const auto files = files_oldest_first();
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep_) < files.size(); ++i) {
        std::error_code ignored; // an old checkpoint that cannot be removed does no harm
        std::filesystem::remove(files[i], ignored);
    }
    return folder_ / name;
}

std::optional<Checkpoint> CheckpointStore::load_newest(LogSink& log) const {
    const auto files = files_oldest_first();
    for (auto file = files.rbegin(); file != files.rend(); ++file) {
        try {
            return decode_checkpoint(read_file(*file));
        } catch (const Error& error) {
            log.warning(fmt::format("{}: {}; trying the one before it", file->string(), error.message()));
        }
    }
    return std::nullopt;
}

} // namespace rekindle::trainer
