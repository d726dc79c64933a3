#include "model/json_fields.h"

#include <rekindle/mlp/training.h>

namespace rekindle::mlp {

namespace {

constexpr Words<LossSpec::Kind, 4> losses{{"mse", "huber", "bce_with_logits", "gaussian_nll"}};
constexpr Words<OptimizerSpec::Kind, 2> optimizers{{"adamw", "sgd"}};
constexpr Words<ScheduleSpec::Kind, 3> schedules{{"constant", "plateau", "cosine"}};

void read_loss(const nlohmann::json& json, LossSpec& loss) {
    const JsonFields fields(json, "loss");
    fields.only({"kind", "huber_delta"});
    fields.optional("kind", losses, loss.kind);
    fields.optional("huber_delta", loss.huber_delta);
}

void read_optimizer(const nlohmann::json& json, OptimizerSpec& optimizer) {
    const JsonFields fields(json, "optimizer");
    fields.only({"kind", "learning_rate", "weight_decay", "beta1", "beta2", "epsilon", "momentum"});
    fields.optional("kind", optimizers, optimizer.kind);
    fields.optional("learning_rate", optimizer.learning_rate);
    fields.optional("weight_decay", optimizer.weight_decay);
    fields.optional("beta1", optimizer.beta1);
    fields.optional("beta2", optimizer.beta2);
    fields.optional("epsilon", optimizer.epsilon);
    fields.optional("momentum", optimizer.momentum);
}

void read_schedule(const nlohmann::json& json, ScheduleSpec& schedule) {
    const JsonFields fields(json, "schedule");
    fields.only({"kind", "plateau_factor", "plateau_patience", "warmup_steps", "total_steps"});
    fields.optional("kind", schedules, schedule.kind);
    fields.optional("plateau_factor", schedule.plateau_factor);
    fields.optional("plateau_patience", schedule.plateau_patience);
    fields.optional("warmup_steps", schedule.warmup_steps);
    fields.optional("total_steps", schedule.total_steps);
}

} // namespace

void to_json(nlohmann::json& json, const TrainingSpec& spec) {
    const OptimizerSpec& o = spec.optimizer;
    const ScheduleSpec& s = spec.schedule;
    json = nlohmann::json{
        {"loss", {{"kind", losses.write(spec.loss.kind)}, {"huber_delta", spec.loss.huber_delta}}},
        {"optimizer",
         {{"kind", optimizers.write(o.kind)},
          {"learning_rate", o.learning_rate},
          {"weight_decay", o.weight_decay},
          {"beta1", o.beta1},
          {"beta2", o.beta2},
          {"epsilon", o.epsilon},
          {"momentum", o.momentum}}},
        {"schedule",
         {{"kind", schedules.write(s.kind)},
          {"plateau_factor", s.plateau_factor},
          {"plateau_patience", s.plateau_patience},
          {"warmup_steps", s.warmup_steps},
          {"total_steps", s.total_steps}}},
        {"clip_norm", spec.clip_norm},
        {"accumulation_steps", spec.accumulation_steps},
        {"ema_decay", spec.ema_decay},
        {"bf16_storage", spec.bf16_storage},
        {"seed", spec.seed},
        {"threads", spec.threads}};
    if (!spec.dropout_rates.empty())
        json["dropout_rates"] = spec.dropout_rates;
}

void from_json(const nlohmann::json& json, TrainingSpec& spec) {
    const JsonFields fields(json, "");
    fields.only({"loss", "optimizer", "schedule", "clip_norm", "accumulation_steps", "ema_decay",
                 "bf16_storage", "dropout_rates", "seed", "threads"});
    TrainingSpec read;
    if (fields.has("loss"))
        read_loss(fields.get("loss"), read.loss);
    if (fields.has("optimizer"))
        read_optimizer(fields.get("optimizer"), read.optimizer);
    if (fields.has("schedule"))
        read_schedule(fields.get("schedule"), read.schedule);
    fields.optional("clip_norm", read.clip_norm);
    fields.optional("accumulation_steps", read.accumulation_steps);
    fields.optional("ema_decay", read.ema_decay);
    fields.optional("bf16_storage", read.bf16_storage);
    fields.optional("dropout_rates", read.dropout_rates);
    fields.optional("seed", read.seed);
    fields.optional("threads", read.threads);
    read.validate();
    spec = read;
}

} // namespace rekindle::mlp
