#include "knowledge/gpu_model.h"

#include <rekindle/doctor/review.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <optional>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

/// Free options first, and among them those that change least.
constexpr std::array<std::string_view, 7> order_of_kinds{"native-wheel", "distribution", "cpu", "vulkan",
                                                         "opencl",       "cloud",        "card"};

std::size_t rank_of(const Alternative& alternative) {
    return static_cast<std::size_t>(
        std::find(order_of_kinds.begin(), order_of_kinds.end(), alternative.kind) - order_of_kinds.begin());
}

/// The target of every GPU of the host, discrete GPUs before integrated ones.
std::vector<std::string> targets_of(const Facts& facts, const Knowledge& knowledge) {
    std::vector<std::string> targets;
    for (const bool integrated : {false, true})
        for (const Gpu& gpu : facts.gpus)
            if (const std::string target = target_of(gpu, knowledge);
                !target.empty() && gpu.integrated.value_or(false) == integrated &&
                std::find(targets.begin(), targets.end(), target) == targets.end())
                targets.push_back(target);
    return targets;
}

/// The first of the host's targets that the alternative is for; "any" when it is for all; "" when it is for
/// none.
std::string target_for(const Alternative& alternative, const std::vector<std::string>& targets,
                       const Knowledge& knowledge) {
    if (alternative.targets.empty())
        return "any";
    for (const std::string& gfx : targets) {
        const GfxTarget* known = knowledge.gfx(gfx);
        for (const std::string& target : alternative.targets)
            if (target == gfx || (known != nullptr && known->architecture == target))
                return gfx;
    }
    return "";
}

std::string with_target(std::string detail, std::string_view gfx) {
    constexpr std::string_view placeholder = "{gfx}";
    for (std::size_t at = detail.find(placeholder); at != std::string::npos; at = detail.find(placeholder))
        detail.replace(at, placeholder.size(), gfx);
    return detail;
}

std::string dollars(double amount) {
    return fmt::format("${:.2f}", amount);
}

std::string months(double count) {
    return count < 1 ? "less than one month" : fmt::format("{:.1f} months", count);
}

/// Says in parentheses whether electricity and resale are counted.
std::string what_is_counted(const CostFigures& figures) {
    const bool electricity = figures.electricity_per_hour() > 0;
    const bool resale = figures.resale > 0;
    if (electricity && resale)
        return "(electricity and resale are counted)";
    if (electricity || resale)
        return electricity ? "(electricity is counted, resale is not)"
                           : "(resale is counted, electricity is not)";
    return "(electricity and resale are not counted)";
}

/// Hours after which a card has cost as much as renting at `rented` dollars an hour. Nothing if electricity
/// alone costs at least as much as renting.
std::optional<double> break_even_hours(double cost, const CostFigures& figures, double rented) {
    const double saved = rented - figures.electricity_per_hour();
    return saved > 0 ? std::optional(std::max(0.0, cost - figures.resale) / saved) : std::nullopt;
}

/// The price of an hour compared with that of a card: "at 40 h a month and $0.39/h (2026-03): $15.60 a
/// month; …".
std::string cloud_arithmetic(const Alternative& cloud, const CostFigures& figures) {
    const double hours = figures.card_hours();
    const std::string rate = fmt::format("{}/h ({})", dollars(cloud.price_per_hour), cloud.priced);
    std::string text = hours > 0 ? fmt::format("at {:.4g} h a month and {}: {} a month", hours, rate,
                                               dollars(hours * cloud.price_per_hour))
                                 : "at " + rate;
    if (figures.price <= 0)
        return text + (hours > 0 ? "; --price gives the break-even with a card"
                                 : "; --hours-per-month gives the cost of a month");
    const auto break_even = break_even_hours(figures.price, figures, cloud.price_per_hour);
    if (!break_even)
        return text + "; electricity for a card of your own costs at least as much";
    text += fmt::format("; a card of {} costs as much as {:.0f} h of it", dollars(figures.price),
                        std::ceil(*break_even));
    if (hours > 0)
        text += fmt::format(", paid back after {} {}", months(*break_even / hours), what_is_counted(figures));
    return text;
}

/// The cheapest hour for which the knowledge has a price.
const Alternative* cheapest_cloud(const Knowledge& knowledge) {
    const Alternative* cheapest = nullptr;
    for (const Alternative& one : knowledge.alternatives)
        if (one.kind == "cloud" && one.price_per_hour > 0 &&
            (cheapest == nullptr || one.price_per_hour < cheapest->price_per_hour))
            cheapest = &one;
    return cheapest;
}

/// Letters and digits only: "RX 7900 XT" → "rx7900xt".
std::string compact(std::string_view text) {
    std::string result;
    for (const char c : text)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

/// The model whose name ends in what the user wrote: "rx7900xt" is the Radeon RX 7900 XT.
const GpuModel* model_of(std::string_view card, const Knowledge& knowledge) {
    const std::string written = compact(card);
    const GpuModel* best = nullptr;
    for (const GpuModel& gpu : knowledge.gpus)
        if (compact(gpu.name).ends_with(written) && (best == nullptr || gpu.name.size() < best->name.size()))
            best = &gpu;
    return written.size() < 3 ? nullptr : best;
}

/// "$650.00 for a Radeon RX 7900 XT (your figure of 2026-11-01)".
std::string own_price(const CostFigures& figures, const GpuModel* model) {
    std::string text = dollars(figures.price);
    if (!figures.card.empty())
        text += " for " + (model == nullptr ? figures.card : "the " + model->name);
    return text + (figures.price_date.empty() ? " (your figure)"
                                              : fmt::format(" (your figure of {})", figures.price_date));
}

/// A sentence that says whether the wheels of pytorch.org have code for the named card; "" if that is not
/// known.
std::string code_for(const GpuModel* model, const Knowledge& knowledge) {
    if (model == nullptr || model->target.empty())
        return "";
    const bool official =
        std::any_of(knowledge.indexes.begin(), knowledge.indexes.end(), [&](const WheelIndex& index) {
            return index.url.starts_with("https://download.pytorch.org/") &&
                   knowledge.covers(index.targets, model->target);
        });
    return fmt::format("; PyTorch's wheels have {} for its {}", official ? "code" : "no code", model->target);
}

std::string card_arithmetic(const Alternative& card, const CostFigures& figures, const Knowledge& knowledge) {
    const double cost = figures.price > 0 ? figures.price : card.price_once;
    if (cost <= 0)
        return "--price and --hours-per-month give the break-even with rented hours";
    const GpuModel* model = model_of(figures.card, knowledge);
    std::string what =
        figures.price > 0 ? own_price(figures, model) : fmt::format("{} ({})", dollars(cost), card.priced);
    const Alternative* cloud = cheapest_cloud(knowledge);
    if (cloud == nullptr)
        return what;
    const auto break_even = break_even_hours(cost, figures, cloud->price_per_hour);
    if (!break_even)
        return fmt::format("{}: never cheaper than {} at {}/h, which costs less than the electricity", what,
                           cloud->title, dollars(cloud->price_per_hour));
    const std::string against =
        fmt::format("{} pays off after {:.0f} h, compared with {} at {}/h ({})", what, std::ceil(*break_even),
                    cloud->title, dollars(cloud->price_per_hour), cloud->priced);
    const double hours = figures.card_hours();
    return hours > 0 ? fmt::format("{}: {} at {:.4g} h a month {}", against, months(*break_even / hours),
                                   hours, what_is_counted(figures))
                     : against;
}

/// Compares the measured step times of the CPU and the card; "" unless both are given.
std::string step_arithmetic(const CostFigures& figures) {
    if (figures.cpu_step <= 0 || figures.card_step <= 0)
        return "";
    const double ratio = figures.cpu_step / figures.card_step;
    std::string text = fmt::format("the card takes {:.3g} times as long as the CPU for a step", 1 / ratio);
    if (ratio > 1)
        text = fmt::format("a step on the card is {:.3g} times as fast as on the CPU", ratio);
    if (figures.hours_per_month > 0)
        text += fmt::format(": {:g} h a month on the CPU are {:.3g} h on the card", figures.hours_per_month,
                            figures.card_hours());
    return text;
}

} // namespace

void read_card_price(std::string_view text, CostFigures& figures) {
    static const RE2 form(R"((?:([^=@]{1,60})=)?(\d{1,7}(?:\.\d{1,2})?)(?:@(\d{4}-\d\d-\d\d))?)");
    static const RE2 date_form(R"((\d{4})-(\d\d)-(\d\d))");
    std::string card;
    std::string date;
    double price = 0;
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    bool ok =
        RE2::FullMatch({text.data(), text.size()}, form, &card, &price, &date) && price > 0 && price <= 1e6;
    if (ok && !date.empty())
        ok = RE2::FullMatch(date, date_form, &year, &month, &day) &&
             std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day))
                 .ok();
    if (!ok)
        throw usage_error(fmt::format("\"{}\" is not a price", text))
            .at("--price")
            .expected("DOLLARS, DOLLARS@DATE or CARD=DOLLARS@DATE, such as rx7900xt=650@2026-11-01");
    figures.price = price;
    figures.card = std::move(card);
    figures.price_date = std::move(date);
}

std::vector<Option> alternatives(const Facts& facts, const Knowledge& knowledge, const CostFigures& figures) {
    const std::vector<std::string> targets = targets_of(facts, knowledge);
    std::vector<const Alternative*> sorted;
    sorted.reserve(knowledge.alternatives.size());
    for (const Alternative& alternative : knowledge.alternatives)
        sorted.push_back(&alternative);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Alternative* one, const Alternative* other) {
        return rank_of(*one) != rank_of(*other) ? rank_of(*one) < rank_of(*other)
                                                : one->price_per_hour < other->price_per_hour;
    });
    std::vector<Option> options;
    for (const Alternative* one : sorted) {
        const std::string gfx = target_for(*one, targets, knowledge);
        if (gfx.empty())
            continue;
        Option option{one->title, with_target(one->detail, gfx), "", one->evidence, one->checked};
        if (one->kind == "cloud" && one->price_per_hour > 0)
            option.arithmetic = cloud_arithmetic(*one, figures);
        else if (one->kind == "card")
            option.arithmetic = card_arithmetic(*one, figures, knowledge) +
                                code_for(model_of(figures.card, knowledge), knowledge);
        else if (one->kind == "cpu")
            option.arithmetic = step_arithmetic(figures);
        options.push_back(std::move(option));
    }
    return options;
}

} // namespace rekindle::doctor
