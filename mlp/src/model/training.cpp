#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/mlp/training.h>

#include <cmath>

namespace rekindle::mlp {

namespace {

void require(bool holds, const char* field, double value, const char* expected) {
    if (!holds)
        throw usage_error("value " + shortest(value)).at(field).expected(expected);
}

bool not_negative(double value) {
    return value >= 0 && std::isfinite(value);
}

} // namespace

void TrainingSpec::validate() const {
    require(loss.huber_delta > 0 && std::isfinite(loss.huber_delta), "loss.huber_delta", loss.huber_delta,
            "a positive number");
    const OptimizerSpec& o = optimizer;
    require(not_negative(o.learning_rate), "optimizer.learning_rate", o.learning_rate, "0 or more");
    require(not_negative(o.weight_decay), "optimizer.weight_decay", o.weight_decay, "0 or more");
    require(o.beta1 >= 0 && o.beta1 < 1, "optimizer.beta1", o.beta1, "0 <= beta1 < 1");
    require(o.beta2 >= 0 && o.beta2 < 1, "optimizer.beta2", o.beta2, "0 <= beta2 < 1");
    require(o.epsilon > 0 && std::isfinite(o.epsilon), "optimizer.epsilon", o.epsilon, "a positive number");
    require(not_negative(o.momentum), "optimizer.momentum", o.momentum, "0 or more");
    const ScheduleSpec& s = schedule;
    require(s.plateau_factor > 0 && s.plateau_factor < 1, "schedule.plateau_factor", s.plateau_factor,
            "0 < factor < 1");
    require(s.plateau_patience >= 0, "schedule.plateau_patience", s.plateau_patience, "0 or more");
    if (s.kind == ScheduleSpec::Kind::cosine)
        require(s.total_steps > s.warmup_steps, "schedule.total_steps", static_cast<double>(s.total_steps),
                "more than schedule.warmup_steps");
    require(not_negative(clip_norm), "clip_norm", clip_norm, "0 (off) or more");
    require(accumulation_steps >= 1, "accumulation_steps", static_cast<double>(accumulation_steps),
            "1 or more");
    require(ema_decay >= 0 && ema_decay < 1, "ema_decay", ema_decay, "0 (off) <= decay < 1");
    for (const double rate : dropout_rates)
        require(rate >= 0 && rate < 1, "dropout_rates", rate, "0 <= rate < 1");
    require(threads >= 1, "threads", static_cast<double>(threads), "1 or more");
}

} // namespace rekindle::mlp
