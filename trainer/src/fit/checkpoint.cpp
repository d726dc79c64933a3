#include "checkpoint_blocks.h"
#include "metrics_json.h"

#include <rekindle/base/hash.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/checkpoint.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <system_error>

namespace rekindle::trainer {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view magic = "RKCKPT01";            ///< one network
constexpr std::string_view population_magic = "RKCKPT02"; ///< several
constexpr std::size_t hash_size = 32;

Json describe(std::span<const ParameterShape> shapes) {
    Json list = Json::array();
    for (const ParameterShape& one : shapes)
        list.push_back({{"name", one.name}, {"shape", one.shape}});
    return list;
}

std::vector<ParameterShape> shapes_from(const Json& list) {
    std::vector<ParameterShape> shapes;
    for (const Json& entry : list)
        shapes.push_back({entry.at("name"), entry.at("shape")});
    return shapes;
}

void append_values(BlockWriter& out, const std::vector<mlp::NamedTensor>& tensors) {
    const std::vector<float> values = values_of(tensors);
    out.block(std::span<const float>(values));
}

std::vector<mlp::NamedTensor> read_tensors(const Json& list, BlockReader& blocks) {
    const auto shapes = shapes_from(list);
    std::size_t count = 0;
    for (const ParameterShape& shape : shapes)
        count += shape.elements();
    const auto values = blocks.values<float>();
    if (count > values.size())
        throw Error("the checkpoint is truncated");
    return tensors_from(shapes, std::span(values).first(count));
}

Json history_json(std::span<const EpochMetrics> history) {
    Json list = Json::array();
    for (const EpochMetrics& metrics : history)
        list.push_back(metrics_to_json(metrics));
    return list;
}

/// The fields that both versions have.
Json progress_json(const Checkpoint& c) {
    return {{"config_hash", c.config_hash},           {"data_hash", c.data_hash},
            {"data_summary", c.data_summary},         {"epoch", c.epoch},
            {"batches_in_epoch", c.batches_in_epoch}, {"epoch_seconds", c.epoch_seconds},
            {"training_seconds", c.training_seconds}};
}

void read_progress(const Json& json, Checkpoint& c) {
    c.config_hash = json.at("config_hash");
    c.data_hash = json.at("data_hash");
    c.data_summary = json.at("data_summary");
    c.epoch = json.at("epoch");
    c.batches_in_epoch = json.at("batches_in_epoch");
    c.epoch_seconds = json.at("epoch_seconds");
    c.training_seconds = json.at("training_seconds");
    for (const Json& metrics : json.at("history"))
        c.history.push_back(metrics_from_json(metrics));
}

/// The values of its tensors follow in separate blocks (append_values, read_best_optimizer).
void describe_best_optimizer(const Checkpoint& c, Json& json) {
    json["best_steps"] = c.best_optimizer.steps;
    json["best_learning_rate"] = c.best_optimizer.learning_rate;
    json["best_first_moments"] = describe(shapes_of(c.best_optimizer.first));
    json["best_second_moments"] = describe(shapes_of(c.best_optimizer.second));
}

void read_best_optimizer(const Json& json, BlockReader& blocks, OptimizerMoments& best) {
    best.steps = json.at("best_steps");
    best.learning_rate = json.at("best_learning_rate");
    best.first = read_tensors(json.at("best_first_moments"), blocks);
    best.second = read_tensors(json.at("best_second_moments"), blocks);
}

void write_one(const Checkpoint& c, BlockWriter& out) {
    const MemberState& member = c.members.front();
    Json json = progress_json(c);
    json["epoch_loss_sum"] = member.epoch_loss_sum;
    json["epoch_rows"] = member.epoch_rows;
    json["best_validation_loss"] = member.best_validation_loss;
    json["best_epoch"] = member.best_epoch;
    json["epochs_without_improvement"] = member.epochs_without_improvement;
    json["best_parameters"] = describe(c.parameters);
    describe_best_optimizer(c, json);
    json["history"] = history_json(c.history);
    out.raw(magic);
    out.block(json.dump());
    out.block(std::span<const std::byte>(member.engine.bytes));
    out.block(std::span<const float>(member.best_values));
    append_values(out, c.best_optimizer.first);
    append_values(out, c.best_optimizer.second);
}

Checkpoint read_one(BlockReader blocks) {
    Checkpoint c;
    MemberState& member = c.members.emplace_back();
    const Json json = Json::parse(blocks.next());
    read_progress(json, c);
    c.group_end = 1;
    member.epoch_loss_sum = json.at("epoch_loss_sum");
    member.epoch_rows = json.at("epoch_rows");
    member.best_validation_loss = json.at("best_validation_loss");
    member.best_epoch = json.at("best_epoch");
    member.epochs_without_improvement = json.at("epochs_without_improvement");
    for (const EpochMetrics& m : c.history)
        member.history.push_back(
            {m.train_loss, m.validation_loss, m.accuracy, m.learning_rate, m.gradient_norm, m.steps});
    member.engine.bytes = blocks.values<std::byte>();
    c.parameters = shapes_from(json.at("best_parameters"));
    member.best_values = values_of(read_tensors(json.at("best_parameters"), blocks));
    read_best_optimizer(json, blocks, c.best_optimizer);
    return c;
}

/// The fixed-size part of a member in a file of several networks.
struct MemberRecord {
    double epoch_loss_sum;
    std::uint64_t epoch_rows;
    double gradient_norm;
    double best_validation_loss;
    std::int64_t best_epoch, epochs_without_improvement;
    std::uint64_t diverged;
};

void write_several(const Checkpoint& c, BlockWriter& out) {
    Json json = progress_json(c);
    json["group_begin"] = c.group_begin;
    json["group_end"] = c.group_end;
    json["members"] = c.members.size();
    json["best_member"] = c.best_member;
    json["parameters"] = describe(c.parameters);
    describe_best_optimizer(c, json);
    json["history"] = history_json(c.history);
    out.raw(population_magic);
    out.block(json.dump());
    append_values(out, c.best_optimizer.first);
    append_values(out, c.best_optimizer.second);
    for (const MemberState& member : c.members) {
        const MemberRecord record{member.epoch_loss_sum,    member.epoch_rows,
                                  member.gradient_norm,     member.best_validation_loss,
                                  member.best_epoch,        member.epochs_without_improvement,
                                  member.diverged ? 1u : 0u};
        out.block(std::span<const MemberRecord>(&record, 1));
        out.block(std::span<const MemberEpoch>(member.history));
        out.block(std::span<const float>(member.best_values));
        out.block(std::span<const std::byte>(member.engine.bytes));
    }
}

Checkpoint read_several(BlockReader blocks) {
    Checkpoint c;
    const Json json = Json::parse(blocks.next());
    read_progress(json, c);
    c.group_begin = json.at("group_begin");
    c.group_end = json.at("group_end");
    c.best_member = json.at("best_member");
    c.parameters = shapes_from(json.at("parameters"));
    read_best_optimizer(json, blocks, c.best_optimizer);
    const std::uint64_t members = json.at("members");
    if (c.group_begin > c.group_end || c.group_end > members || c.best_member >= members)
        throw Error("the checkpoint is damaged: its member counts are inconsistent");
    for (std::uint64_t m = 0; m < members; ++m) {
        const auto records = blocks.values<MemberRecord>();
        if (records.size() != 1)
            throw Error("the checkpoint is truncated");
        const MemberRecord& r = records.front();
        MemberState& member = c.members.emplace_back(MemberState{r.epoch_loss_sum,
                                                                 r.epoch_rows,
                                                                 r.gradient_norm,
                                                                 r.best_validation_loss,
                                                                 r.best_epoch,
                                                                 r.epochs_without_improvement,
                                                                 r.diverged != 0,
                                                                 {},
                                                                 {},
                                                                 {}});
        member.history = blocks.values<MemberEpoch>();
        member.best_values = blocks.values<float>();
        member.engine.bytes = blocks.values<std::byte>();
    }
    return c;
}

void write_checkpoint(const Checkpoint& checkpoint, BlockWriter out) {
    checkpoint.members.size() == 1 ? write_one(checkpoint, out) : write_several(checkpoint, out);
    out.finish();
}

} // namespace

OptimizerMoments optimizer_moments(const mlp::Population& population, std::size_t member) {
    const mlp::OptimizerSpec& spec = population.training(member).optimizer;
    OptimizerMoments moments{population.steps(member), population.learning_rate(member), {}, {}};
    if (spec.kind == mlp::OptimizerSpec::Kind::adamw) {
        moments.first = population.optimizer_tensors(member, "exp_avg");
        moments.second = population.optimizer_tensors(member, "exp_avg_sq");
    } else if (spec.momentum > 0) {
        moments.first = population.optimizer_tensors(member, "momentum_buffer");
    }
    return moments;
}

std::vector<mlp::NamedTensor> tensors_from(std::span<const ParameterShape> shapes,
                                           std::span<const float> values) {
    std::vector<mlp::NamedTensor> tensors;
    for (const ParameterShape& shape : shapes) {
        const std::size_t count = shape.elements();
        if (count > values.size())
            throw internal_error("fewer values than the parameters have");
        tensors.push_back(
            {shape.name, shape.shape, {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)}});
        values = values.subspan(count);
    }
    if (!values.empty())
        throw internal_error("more values than the parameters have");
    return tensors;
}

std::vector<ParameterShape> shapes_of(std::span<const mlp::NamedTensor> tensors) {
    std::vector<ParameterShape> shapes;
    for (const mlp::NamedTensor& tensor : tensors)
        shapes.push_back({tensor.name, tensor.shape});
    return shapes;
}

std::vector<float> values_of(std::span<const mlp::NamedTensor> tensors) {
    std::vector<float> values;
    for (const mlp::NamedTensor& tensor : tensors)
        values.insert(values.end(), tensor.values.begin(), tensor.values.end());
    return values;
}

std::string encode_checkpoint(const Checkpoint& checkpoint) {
    std::string bytes;
    write_checkpoint(checkpoint, BlockWriter([&](std::string_view part) { bytes += part; }));
    return bytes;
}

Checkpoint decode_checkpoint(std::string_view bytes) {
    const std::string_view version = bytes.substr(0, magic.size());
    if (bytes.substr(0, magic.size() - 2) != magic.substr(0, magic.size() - 2))
        throw Error("this is not a Rekindle checkpoint");
    if (version != magic && version != population_magic)
        throw Error("the checkpoint has an unknown format version")
            .expected(fmt::format("{} or {}", magic, population_magic));
    if (bytes.size() < magic.size() + hash_size ||
        hash128(bytes.substr(0, bytes.size() - hash_size)).hex() != bytes.substr(bytes.size() - hash_size))
        throw Error("the checkpoint is damaged: its checksum does not match");
    const BlockReader blocks(bytes.substr(magic.size(), bytes.size() - magic.size() - hash_size));
    try {
        return version == magic ? read_one(blocks) : read_several(blocks);
    } catch (const Json::exception& error) {
        throw Error(fmt::format("the checkpoint is damaged: {}", error.what()));
    }
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
    AtomicFile file(folder_ / name);
    write_checkpoint(checkpoint, BlockWriter([&](std::string_view part) { file.write(part); }));
    file.commit();
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
            return decode_checkpoint(MappedFile(*file).text());
        } catch (const Error& error) {
            log.warning(fmt::format("{}: {}; trying the previous one", file->string(), error.message()));
        }
    }
    return std::nullopt;
}

} // namespace rekindle::trainer
