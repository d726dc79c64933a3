#include "population_files.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/safetensors.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <span>
#include <string>

namespace rekindle::trainer {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 16;

std::string row_of(std::size_t number, const MemberResult& member) {
    std::string row = fmt::format("{},{},{},", number, member.seed, member.history.size());
    if (member.best_epoch > 0)
        row +=
            fmt::format("{},{},{},", member.best_epoch, shortest(member.best_validation_loss),
                        shortest(member.history[static_cast<std::size_t>(member.best_epoch) - 1].accuracy));
    else
        row += ",,,";
    if (!member.history.empty())
        row += fmt::format("{},{},", shortest(member.history.back().train_loss),
                           shortest(member.history.back().validation_loss));
    else
        row += ",,";
    return row + (member.diverged ? "yes\n" : "no\n");
}

} // namespace

void write_population_table(const fs::path& path, const FitResult& fit) {
    AtomicFile file(path);
    std::string text = "member,seed,epochs,best_epoch,best_validation_loss,accuracy,final_training_loss,"
                       "final_validation_loss,diverged\n";
    for (std::size_t m = 0; m < fit.members.size(); ++m) {
        text += row_of(m, fit.members[m]);
        if (text.size() > block_bytes) {
            file.write(text);
            text.clear();
        }
    }
    file.write(text);
    file.commit();
}

void write_population_weights(const fs::path& path, const mlp::ModelDescription& model,
                              const FitResult& fit) {
    std::vector<StreamedTensor> tensors;
    std::size_t offset = 0;
    for (const ParameterShape& parameter : fit.parameters) {
        const std::size_t count = parameter.elements();
        std::vector<std::size_t> shape{fit.members.size()};
        shape.insert(shape.end(), parameter.shape.begin(), parameter.shape.end());
        tensors.push_back(
            {parameter.name, shape, [&fit, offset, count](const FloatSink& put) {
                 const std::vector<float> unknown(count, std::numeric_limits<float>::quiet_NaN());
                 for (const MemberResult& member : fit.members)
                     put(member.best_values.empty()
                             ? std::span<const float>(unknown)
                             : std::span<const float>(member.best_values).subspan(offset, count));
             }});
        offset += count;
    }
    write_safetensors(path, tensors,
                      {{"format", "pt"},
                       {"model", nlohmann::json(model).dump()},
                       {"networks", std::to_string(fit.members.size())},
                       {"first_seed", std::to_string(fit.members.front().seed)}});
}

} // namespace rekindle::trainer
