/// Permutation importance of a network whose dependence on its inputs is known.

#include <rekindle/base/philox.h>
#include <rekindle/trainer/importance.h>

#include <gtest/gtest.h>

#include <cmath>

namespace rekindle::trainer {
namespace {

TEST(Importance, GroupsColumnsLikeTheFeatureTable) {
    const std::vector<std::string> names{"gap_open", "instrument ES", "unknown", "instrument NQ"};
    const InputGroups groups = input_groups(names);
    ASSERT_EQ(groups.names.size(), 3U);
    EXPECT_EQ(groups.names[1], "instrument");
    EXPECT_EQ(groups.columns[1], (std::vector<std::size_t>{1, 3}));
    EXPECT_EQ(groups.names[2], "unknown");
    const std::vector<std::string> of_one{"instrument A", "instrument B"};
    EXPECT_EQ(input_groups(of_one).names, of_one) << "one group: each column on its own";
}

/// The target is 2 times the first input, and the network is exact: its loss is 0 except for noise of
/// variance 1, and permuting the first input adds the variance of the difference, 2 · 4 · 1/3 (uniform on
/// [-1, 1]).
TEST(Importance, IsTheGrowthOfTheLoss) {
    constexpr std::size_t rows = 4000, columns = 3;
    Dataset set;
    set.matrix.names = {"first", "second", "third"};
    set.meaning.loss.kind = mlp::LossSpec::Kind::mse;
    ScratchArray<float> inputs(rows * columns, {}), targets(rows, {});
    PhiloxStream random(3, RandomPurpose::test);
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t column = 0; column < columns; ++column)
            inputs[row * columns + column] = static_cast<float>(2 * random.next_double() - 1);
        targets[row] = 2 * inputs[row * columns] + static_cast<float>(random.next_normal());
    }
    set.split.validation_end = rows;
    set.rows = std::make_shared<const NetworkRows>(NetworkRows{std::move(inputs), std::move(targets)});
    mlp::Engine engine(mlp::ModelDescription::plain(columns, {}), {});
    engine.initialize();
    auto parameters = engine.parameters();
    for (mlp::NamedTensor& tensor : parameters)
        for (std::size_t i = 0; i < tensor.values.size(); ++i)
            tensor.values[i] = tensor.values.size() == columns && i == 0 ? 2.0f : 0.0f;
    engine.set_parameters(parameters);
    const auto importance = validation_importance(set, engine, 1);
    ASSERT_EQ(importance.size(), 3U);
    EXPECT_EQ(importance[0].group, "first");
    EXPECT_NEAR(importance[0].loss_increase, 8.0 / 3, 0.35);
    EXPECT_LE(importance[0].lowest, importance[0].loss_increase);
    EXPECT_GE(importance[0].highest, importance[0].loss_increase);
    for (std::size_t i : {1, 2})
        EXPECT_EQ(importance[i].loss_increase, 0) << "the network ignores it";
    const auto again = validation_importance(set, engine, 1);
    EXPECT_EQ(again[0].loss_increase, importance[0].loss_increase);
    EXPECT_NE(validation_importance(set, engine, 2)[0].loss_increase, importance[0].loss_increase);
}

} // namespace
} // namespace rekindle::trainer
