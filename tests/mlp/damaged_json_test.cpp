/// Several thousand damaged descriptions: each must be either read or refused with an Error.

#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace rekindle;
using namespace rekindle::mlp;

template <class T>
void try_mutations(const T& value) {
    const std::string good = nlohmann::json(value).dump();
    PhiloxStream random(7, RandomPurpose::test);
    const std::string_view spare = "0123456789-.eE\"{}[]:,truefalsenullkind";
    int accepted = 0, refused = 0;
    for (int i = 0; i < 4000; ++i) {
        std::string text = good;
        const std::uint32_t edits = 1 + random.next_below(3);
        for (std::uint32_t edit = 0; edit < edits; ++edit)
            text[random.next_below(static_cast<std::uint32_t>(text.size()))] =
                spare[random.next_below(static_cast<std::uint32_t>(spare.size()))];
        if (random.next_below(20) == 0)
            text.resize(random.next_below(static_cast<std::uint32_t>(text.size())));
        const auto json = nlohmann::json::parse(text, nullptr, false);
        if (json.is_discarded())
            continue;
        try {
            const T read = json.get<T>();
            EXPECT_EQ(nlohmann::json(read).template get<T>(), read) << text;
            ++accepted;
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            ++refused;
        }
    }
    EXPECT_GT(accepted, 50);
    EXPECT_GT(refused, 50);
}

TEST(DamagedJson, Models) {
    const std::vector<std::size_t> hidden{32, 16, 8};
    try_mutations(ModelDescription::default_network(54, hidden, 0.4));
}

TEST(DamagedJson, Trainings) {
    try_mutations(TrainingSpec{});
}

} // namespace
