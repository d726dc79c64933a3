#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/checkpoint.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <temporary_folder.h>

namespace rekindle::trainer {
namespace {

Checkpoint example_checkpoint(std::int64_t epoch, std::size_t members = 1) {
    Checkpoint c;
    c.config_hash = "aa";
    c.data_hash = "bb";
    c.epoch = epoch;
    c.batches_in_epoch = 17;
    c.group_end = members;
    c.history = {EpochMetrics{1, 3, 1.0 / 3, 0.5, 0.51, 1e-4, 2.0, 99, 0.1, 1e6, true}};
    c.parameters = {{"layer.weight", {2, 2}}, {"layer.bias", {2}}};
    for (std::size_t m = 0; m < members; ++m) {
        MemberState& member = c.members.emplace_back();
        member.epoch_loss_sum = 0.1 + 0.2; // not a short decimal
        member.best_epoch = 1;
        member.best_validation_loss = 0.5;
        member.history = {{1.0 / 3, 0.5, 0.51, 1e-4, 2.0, 99}};
        member.best_values = {1, 2, 3, 4, 5, 6 + static_cast<float>(m)};
        member.engine.bytes = {std::byte{1}, std::byte{0}, std::byte{255}};
    }
    if (members > 1) {
        c.group_begin = 1;
        c.best_member = members - 1;
        c.members[1].diverged = true;
        c.members[1].best_values = {};
        c.history[0].networks = members;
        c.history[0].lowest_validation_loss = 0.25;
    }
    return c;
}

class CheckpointStoreTest : public ::testing::Test {
  protected:
    rekindle::test::TemporaryFolder folder_;
    NullLogSink log_;
};

TEST(Checkpoint, RoundTripsBitForBit) {
    const std::string bytes = encode_checkpoint(example_checkpoint(2));
    const Checkpoint read = decode_checkpoint(bytes);
    EXPECT_EQ(encode_checkpoint(read), bytes);
    EXPECT_EQ(read.members.at(0).epoch_loss_sum, 0.1 + 0.2);
    EXPECT_EQ(read.members.at(0).best_values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(read.members.at(0).history.at(0).steps, 99u);
    EXPECT_EQ(bytes.substr(0, 8), "RKCKPT01")
        << "older versions of the program can read a run of one network";
}

TEST(Checkpoint, PopulationRoundTripsBitForBit) {
    const std::string bytes = encode_checkpoint(example_checkpoint(2, 3));
    EXPECT_EQ(bytes.substr(0, 8), "RKCKPT02");
    const Checkpoint read = decode_checkpoint(bytes);
    EXPECT_EQ(encode_checkpoint(read), bytes);
    ASSERT_EQ(read.members.size(), 3u);
    EXPECT_EQ(read.group_begin, 1u);
    EXPECT_EQ(read.group_end, 3u);
    EXPECT_EQ(read.best_member, 2u);
    EXPECT_TRUE(read.members[1].diverged);
    EXPECT_TRUE(read.members[1].best_values.empty());
    EXPECT_EQ(read.members[2].best_values.back(), 8.0f);
    EXPECT_EQ(read.history[0].networks, 3u);
    EXPECT_EQ(read.history[0].lowest_validation_loss, 0.25);
}

TEST(Checkpoint, SplitsValuesIntoTensors) {
    const Checkpoint c = example_checkpoint(1);
    const auto tensors = tensors_from(c.parameters, c.members[0].best_values);
    EXPECT_EQ(tensors[1].values, (std::vector<float>{5, 6}));
    EXPECT_EQ(values_of(tensors), c.members[0].best_values);
    EXPECT_THROW(tensors_from(c.parameters, std::span(c.members[0].best_values).first(5)), Error);
    EXPECT_THROW(tensors_from(c.parameters, std::vector<float>(7)), Error);
}

TEST(Checkpoint, DetectsEveryDamagedByteAndEveryTruncation) {
    for (const std::string& bytes :
         {encode_checkpoint(example_checkpoint(2)), encode_checkpoint(example_checkpoint(2, 3))})
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            std::string damaged = bytes;
            damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
            EXPECT_THROW((void)decode_checkpoint(damaged), Error) << "byte " << i;
            EXPECT_THROW((void)decode_checkpoint(std::string_view(bytes).substr(0, i)), Error)
                << "length " << i;
        }
}

TEST_F(CheckpointStoreTest, KeepsTheLastAndSkipsADamagedOne) {
    CheckpointStore store(folder_.path(), 2);
    EXPECT_FALSE(store.load_newest(log_));
    for (const std::int64_t epoch : {1, 2, 3, 10})
        store.save(example_checkpoint(epoch));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
    EXPECT_EQ(store.load_newest(log_)->epoch, 10);
    write_file_atomically(folder_ / "epoch-000010-batch-0000000017.checkpoint", "RKCKPT01 torn");
    EXPECT_EQ(store.load_newest(log_)->epoch, 3);
}

} // namespace
} // namespace rekindle::trainer
