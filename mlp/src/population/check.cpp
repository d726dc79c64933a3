#include "population/check.h"

#include <rekindle/foundation/text.h>

#include <algorithm>
#include <string>

namespace rekindle::mlp::population {

namespace {

/// The first field in which these two members differ but all members of a population must agree, or null.
const char* different_field(const TrainingSpec& a, const TrainingSpec& b) {
    if (a.loss.kind != b.loss.kind)
        return "loss.kind";
    if (a.loss.huber_delta != b.loss.huber_delta)
        return "loss.huber_delta";
    if (a.optimizer.kind != b.optimizer.kind)
        return "optimizer.kind";
    if (a.accumulation_steps != b.accumulation_steps)
        return "accumulation_steps";
    if ((a.clip_norm > 0) != (b.clip_norm > 0))
        return "clip_norm";
    if ((a.ema_decay > 0) != (b.ema_decay > 0))
        return "ema_decay";
    if (a.bf16_storage != b.bf16_storage)
        return "bf16_storage";
    return nullptr;
}

std::string member_name(std::size_t member) {
    return "members[" + std::to_string(member) + "]";
}

} // namespace

void check_members(std::span<const TrainingSpec> members, const ModelDescription& model) {
    if (members.empty())
        throw usage_error("the population has no members").expected("1 or more");
    const std::size_t dropouts = model.dropout_rates().size();
    for (std::size_t m = 0; m < members.size(); ++m) {
        if (const std::size_t rates = members[m].dropout_rates.size(); rates != 0 && rates != dropouts)
            throw usage_error(counted(rates, "dropout rate"))
                .at(member_name(m) + ".dropout_rates")
                .expected(std::to_string(dropouts) + ", one for each dropout layer of the network");
        try {
            members[m].validate();
        } catch (Error& error) {
            error.at(member_name(m) + "." + error.where());
            throw;
        }
        if (const char* field = different_field(members[0], members[m]))
            throw usage_error("differs from the first member's value")
                .at(member_name(m) + "." + field)
                .expected("the same value for all members of a population")
                .hint("Members may differ in the seed, the dropout rates, the numbers of the optimizer and "
                      "the schedule, and the values of clip_norm and ema_decay if these are enabled.");
    }
}

void check_member(std::size_t member, std::size_t members) {
    if (member >= members)
        throw internal_error("member " + std::to_string(member) + " of " + std::to_string(members));
}

void check_losses(std::span<const double> losses, std::size_t members) {
    if (losses.size() != members)
        throw internal_error("the number of losses is not the number of members");
}

void check_samples(const Samples& samples, const ModelDescription& model) {
    if (samples.stride < model.inputs)
        throw internal_error("rows of samples are shorter than the network's inputs");
}

std::vector<TrainingSpec> first_members(std::span<const TrainingSpec> members, std::size_t count) {
    const auto first = members.first(std::clamp<std::size_t>(count, 1, members.size()));
    return {first.begin(), first.end()};
}

std::uint32_t largest_of(std::span<const std::uint32_t> rows) {
    std::uint32_t largest = 0;
    for (const std::uint32_t row : rows)
        largest = std::max(largest, row);
    return largest;
}

void check_row(std::uint32_t largest, std::size_t count) {
    if (largest >= count)
        throw internal_error("row " + std::to_string(largest) + " of " + std::to_string(count));
}

void check_rows(std::span<const std::uint32_t> rows, std::size_t count) {
    if (!rows.empty())
        check_row(largest_of(rows), count);
}

void check_orders(RowOrders orders, std::size_t members, std::size_t batch_size) {
    if (batch_size == 0)
        throw usage_error("batch size 0").expected("1 or more");
    if (orders.size() != 1 && orders.size() != members)
        throw internal_error(std::to_string(orders.size()) + " orders for " + std::to_string(members) +
                             " members");
}

void check_range(std::size_t first, std::size_t count, std::size_t rows) {
    if (first > rows || count > rows - first)
        throw internal_error("rows " + std::to_string(first) + " to " + std::to_string(first + count) +
                             " of " + std::to_string(rows));
}

} // namespace rekindle::mlp::population
