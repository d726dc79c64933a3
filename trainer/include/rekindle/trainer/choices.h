#pragma once
/// The settings that are one of a few words: their enums, and the one list of each enum's names. Enums of
/// market/ and mlp/ are used where one has the meaning.

#include <rekindle/market/profile_rules.h>
#include <rekindle/market/rolls.h>
#include <rekindle/market/scaler.h>
#include <rekindle/market/session.h>
#include <rekindle/market/targets.h>
#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>

#include <array>
#include <optional>
#include <string_view>

namespace rekindle::trainer {

enum class BadRows { error, skip };
/// original means the rules of the system that Rekindle replaces.
enum class Compat { none, original };
/// Whether the bars belong to several instruments, and which contracts then count as one.
enum class SeveralInstruments { no, by_root, by_name };
/// Which rows the scaling of features and returns is fitted to.
enum class ScaleBy { instrument, all };
/// What the network is told about the instrument of a row.
enum class InstrumentInput { none, one_hot };
/// automatic: the one that fits the target.
enum class LossChoice { automatic, mse, huber, bce, gaussian_nll };
enum class DistributedStrategy { automatic, dataparallel, fsdp };

template <class Choice>
struct NamedChoice {
    std::string_view name;
    Choice choice;
};

/// `list` holds every value that a setting may have, in the order of help and errors. An enum of another
/// library may have more values, which are not settings.
template <class Choice>
struct ChoiceNames;

template <>
struct ChoiceNames<BadRows> {
    static constexpr std::array<NamedChoice<BadRows>, 2> list{
        {{"error", BadRows::error}, {"skip", BadRows::skip}}};
};
template <>
struct ChoiceNames<SeveralInstruments> {
    static constexpr std::array<NamedChoice<SeveralInstruments>, 3> list{
        {{"no", SeveralInstruments::no},
         {"by-root", SeveralInstruments::by_root},
         {"by-name", SeveralInstruments::by_name}}};
};
template <>
struct ChoiceNames<ScaleBy> {
    static constexpr std::array<NamedChoice<ScaleBy>, 2> list{
        {{"instrument", ScaleBy::instrument}, {"all", ScaleBy::all}}};
};
template <>
struct ChoiceNames<InstrumentInput> {
    static constexpr std::array<NamedChoice<InstrumentInput>, 2> list{
        {{"none", InstrumentInput::none}, {"one-hot", InstrumentInput::one_hot}}};
};
template <>
struct ChoiceNames<market::Clock> {
    static constexpr std::array<NamedChoice<market::Clock>, 3> list{
        {{"utc", market::Clock::utc}, {"exchange", market::Clock::exchange}, {"raw", market::Clock::raw}}};
};
template <>
struct ChoiceNames<std::optional<market::StampAt>> {
    using Stamp = std::optional<market::StampAt>;
    static constexpr std::array<NamedChoice<Stamp>, 3> list{
        {{"auto", std::nullopt}, {"end", market::StampAt::bar_end}, {"start", market::StampAt::bar_start}}};
};
template <>
struct ChoiceNames<market::SessionHours> {
    using Hours = market::SessionHours;
    static constexpr std::array<NamedChoice<Hours>, 3> list{
        {{"rth", Hours::rth}, {"eth", Hours::eth}, {"all", Hours::all}}};
};
template <>
struct ChoiceNames<market::SessionLength> {
    using Length = market::SessionLength;
    static constexpr std::array<NamedChoice<Length>, 2> list{{{"day", Length::day}, {"week", Length::week}}};
};
template <>
struct ChoiceNames<market::TradingDays> {
    using Days = market::TradingDays;
    static constexpr std::array<NamedChoice<Days>, 3> list{
        {{"auto", Days::automatic}, {"all", Days::all}, {"weekdays", Days::weekdays}}};
};
template <>
struct ChoiceNames<market::RollMethod> {
    using Method = market::RollMethod;
    static constexpr std::array<NamedChoice<Method>, 3> list{
        {{"volume", Method::volume}, {"calendar", Method::calendar}, {"single", Method::single}}};
};
template <>
struct ChoiceNames<market::Weighting> {
    using Weighting = market::Weighting;
    static constexpr std::array<NamedChoice<Weighting>, 3> list{
        {{"uniform", Weighting::uniform}, {"close", Weighting::close}, {"ohlc", Weighting::ohlc}}};
};
template <>
struct ChoiceNames<market::ValueAreaMethod> {
    using Method = market::ValueAreaMethod;
    static constexpr std::array<NamedChoice<Method>, 3> list{
        {{"greedy", Method::greedy}, {"contiguous", Method::contiguous}, {"two-row", Method::two_row}}};
};
template <>
struct ChoiceNames<market::TieRule> {
    using Rule = market::TieRule;
    static constexpr std::array<NamedChoice<Rule>, 2> list{
        {{"lowest", Rule::lowest}, {"nearest-middle", Rule::nearest_middle}}};
};
template <>
struct ChoiceNames<Compat> {
    static constexpr std::array<NamedChoice<Compat>, 2> list{
        {{"none", Compat::none}, {"original", Compat::original}}};
};
template <>
struct ChoiceNames<market::Scaler::Kind> {
    using Kind = market::Scaler::Kind;
    static constexpr std::array<NamedChoice<Kind>, 3> list{
        {{"robust", Kind::robust}, {"standard", Kind::standard}, {"none", Kind::none}}};
};
/// Without TargetKind::original, which --compat original stands for.
template <>
struct ChoiceNames<market::TargetKind> {
    using Kind = market::TargetKind;
    static constexpr std::array<NamedChoice<Kind>, 5> list{{{"return", Kind::next_return},
                                                            {"direction", Kind::direction},
                                                            {"bar-return", Kind::bar_return},
                                                            {"barrier", Kind::barrier},
                                                            {"volatility", Kind::volatility}}};
};
/// Without Activation::identity, which only a model description may have.
template <>
struct ChoiceNames<mlp::Activation> {
    using Activation = mlp::Activation;
    static constexpr std::array<NamedChoice<Activation>, 4> list{{{"silu", Activation::silu},
                                                                  {"relu", Activation::relu},
                                                                  {"gelu", Activation::gelu},
                                                                  {"tanh", Activation::tanh}}};
};
template <>
struct ChoiceNames<LossChoice> {
    static constexpr std::array<NamedChoice<LossChoice>, 5> list{
        {{"auto", LossChoice::automatic},
         {"mse", LossChoice::mse},
         {"huber", LossChoice::huber},
         {"bce", LossChoice::bce},
         {"gaussian-nll", LossChoice::gaussian_nll}}};
};
template <>
struct ChoiceNames<mlp::OptimizerSpec::Kind> {
    using Kind = mlp::OptimizerSpec::Kind;
    static constexpr std::array<NamedChoice<Kind>, 2> list{{{"adamw", Kind::adamw}, {"sgd", Kind::sgd}}};
};
template <>
struct ChoiceNames<mlp::ScheduleSpec::Kind> {
    using Kind = mlp::ScheduleSpec::Kind;
    static constexpr std::array<NamedChoice<Kind>, 3> list{
        {{"constant", Kind::constant}, {"plateau", Kind::plateau}, {"cosine", Kind::cosine}}};
};
template <>
struct ChoiceNames<DistributedStrategy> {
    using Strategy = DistributedStrategy;
    static constexpr std::array<NamedChoice<Strategy>, 3> list{
        {{"auto", Strategy::automatic}, {"dataparallel", Strategy::dataparallel}, {"fsdp", Strategy::fsdp}}};
};

/// "two-row". "" for a value that is not in the list.
template <class Choice>
constexpr std::string_view name_of(Choice choice) noexcept {
    for (const auto& named : ChoiceNames<Choice>::list)
        if (named.choice == choice)
            return named.name;
    return {};
}

/// The choice of exactly this name.
template <class Choice>
constexpr std::optional<Choice> choice_named(std::string_view name) noexcept {
    for (const auto& named : ChoiceNames<Choice>::list)
        if (named.name == name)
            return named.choice;
    return std::nullopt;
}

} // namespace rekindle::trainer
