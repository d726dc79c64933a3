#include <rekindle/doctor/review.h>
#include <rekindle/foundation/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace rekindle::doctor {
namespace {

Facts amd_host(const std::string& gfx) {
    Facts facts;
    Gpu& gpu = facts.gpus.emplace_back();
    gpu.vendor = "amd";
    gpu.gfx = Fact<std::string>(gfx, "test");
    return facts;
}

std::string all_text(const std::vector<Option>& options) {
    std::string text;
    for (const Option& option : options)
        text += option.title + ": " + option.detail + " " + option.arithmetic + "\n";
    return text;
}

const Option* option_named(const std::vector<Option>& options, std::string_view title) {
    const auto found = std::find_if(options.begin(), options.end(), [&](const Option& option) {
        return option.title.find(title) != std::string::npos;
    });
    return found == options.end() ? nullptr : &*found;
}

TEST(Alternatives, AnRdna1GpuGetsNativeWheelsFirstAndNoOverride) {
    const std::vector<Option> options = alternatives(amd_host("gfx1010"), embedded_knowledge(), {});
    ASSERT_FALSE(options.empty());
    EXPECT_NE(options.front().detail.find("torch[device-gfx1010]"), std::string::npos)
        << options.front().detail;
    EXPECT_EQ(all_text(options).find("10.3.0"), std::string::npos);
    EXPECT_NE(option_named(options, "Vulkan"), nullptr);
    EXPECT_NE(option_named(options, "CPU"), nullptr);
}

TEST(Alternatives, OnlyWhatAppliesToTheHost) {
    EXPECT_NE(all_text(alternatives(amd_host("gfx1032"), embedded_knowledge(), {})).find("10.3.0"),
              std::string::npos);
    const std::vector<Option> without_gpu = alternatives({}, embedded_knowledge(), {});
    EXPECT_EQ(option_named(without_gpu, "Vulkan"), nullptr);
    EXPECT_EQ(all_text(without_gpu).find("{gfx}"), std::string::npos);
    EXPECT_NE(option_named(without_gpu, "CPU"), nullptr);
}

TEST(Alternatives, FreeOptionsComeFirst) {
    bool paid = false;
    for (const Option& option :
         alternatives(amd_host("gfx1010"), embedded_knowledge(), {.hours_per_month = 40, .price = 300})) {
        paid = paid || !option.arithmetic.empty();
        EXPECT_EQ(paid, !option.arithmetic.empty()) << option.title;
    }
    EXPECT_TRUE(paid);
}

TEST(Alternatives, TheArithmeticUsesTheGivenFigures) {
    Knowledge knowledge;
    Alternative& cloud = knowledge.alternatives.emplace_back();
    cloud.title = "Cloud";
    cloud.kind = "cloud";
    cloud.price_per_hour = 0.5;
    cloud.priced = "2026-03";
    Alternative& card = knowledge.alternatives.emplace_back();
    card.title = "Card";
    card.kind = "card";

    const std::vector<Option> both = alternatives({}, knowledge, {.hours_per_month = 40, .price = 300});
    ASSERT_EQ(both.size(), 2u);
    EXPECT_EQ(
        both[0].arithmetic,
        "at 40 h a month and $0.50/h (2026-03): $20.00 a month; a card of $300.00 costs as much as 600 h "
        "of it, paid back after 15.0 months (electricity and resale are not counted)");
    EXPECT_EQ(both[1].arithmetic, "$300.00 (your figure) pays off after 600 h, compared with Cloud at "
                                  "$0.50/h (2026-03): 15.0 months at 40 h a month "
                                  "(electricity and resale are not counted)");
    EXPECT_NE(alternatives({}, knowledge, {})[0].arithmetic.find("--hours-per-month"), std::string::npos);
    EXPECT_EQ(alternatives({}, knowledge, {})[1].arithmetic.find("months"), std::string::npos)
        << "no break-even without figures";

    // 0.4 kW at $0.25/kWh cost $0.10 an hour; ($300 - $100) / ($0.50 - $0.10) = 500 h. The card is 10 times
    // as fast, so 40 h on the CPU become 4 h.
    const std::vector<Option> all = alternatives({}, knowledge,
                                                 {.hours_per_month = 40,
                                                  .price = 300,
                                                  .resale = 100,
                                                  .watts = 400,
                                                  .per_kilowatt_hour = 0.25,
                                                  .cpu_step = 0.5,
                                                  .card_step = 0.05});
    EXPECT_EQ(
        all[1].arithmetic,
        "$300.00 (your figure) pays off after 500 h, compared with Cloud at $0.50/h (2026-03): 125.0 months "
        "at 4 h a month (electricity and resale are counted)");
    EXPECT_EQ(
        alternatives({}, knowledge, {.price = 300, .watts = 400, .per_kilowatt_hour = 2})[1].arithmetic,
        "$300.00 (your figure): never cheaper than Cloud at $0.50/h, which costs less than the electricity");
    knowledge.alternatives[0].kind = "cpu";
    EXPECT_EQ(alternatives({}, knowledge, {.hours_per_month = 40, .cpu_step = 0.5, .card_step = 0.05})[0]
                  .arithmetic,
              "a step on the card is 10 times as fast as on the CPU: 40 h a month on the CPU are 4 h "
              "on the "
              "card");
}

TEST(Alternatives, EveryPriceHasItsMonthAndSource) {
    for (const Alternative& one : embedded_knowledge().alternatives) {
        EXPECT_FALSE(one.evidence.empty()) << one.id;
        EXPECT_EQ(one.price_per_hour > 0 || one.price_once > 0, !one.priced.empty()) << one.id;
    }
}

TEST(Alternatives, APriceMayNameTheCardAndItsDate) {
    CostFigures figures;
    read_card_price("500", figures);
    EXPECT_EQ(figures.price, 500);
    EXPECT_EQ(figures.card + figures.price_date, "");
    read_card_price("rx7900xt=650.50@2026-11-01", figures);
    EXPECT_EQ(figures.price, 650.5);
    const auto text_of = [](const CostFigures& given) {
        for (const Option& option : alternatives({}, embedded_knowledge(), given))
            if (option.arithmetic.find("pays off") != std::string::npos)
                return option.arithmetic;
        return std::string();
    };
    const std::string known = text_of(figures);
    EXPECT_NE(known.find("$650.50 for the Radeon RX 7900 XT (your figure of 2026-11-01)"), std::string::npos)
        << known;
    EXPECT_NE(known.find("PyTorch's wheels have code for its gfx1100"), std::string::npos) << known;
    read_card_price("RX 5600 XT=120", figures);
    EXPECT_NE(text_of(figures).find("no code for its gfx1010"), std::string::npos) << text_of(figures);
    read_card_price("my card=120", figures);
    EXPECT_NE(text_of(figures).find("$120.00 for my card (your figure)"), std::string::npos);
    for (const char* wrong : {"", "0", "-5", "x", "650@", "650@2026-13-01", "650@2026-02-30", "=650", "1e9"})
        EXPECT_THROW(read_card_price(wrong, figures), Error) << wrong;
}

} // namespace
} // namespace rekindle::doctor
