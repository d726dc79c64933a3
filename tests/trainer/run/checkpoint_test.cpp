#include <rekindle/base/error.h>
#include <rekindle/base/file.h>
#include <rekindle/trainer/checkpoint.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace rekindle::trainer {
namespace {

Checkpoint example(std::int64_t epoch) {
    Checkpoint c;
    c.config_hash = "aa";
    c.data_hash = "bb";
    c.epoch = epoch;
    c.batches_in_epoch = 17;
    c.epoch_loss_sum = 0.1 + 0.2; // not a short decimal
    c.history = {EpochMetrics{1, 3, 1.0 / 3, 0.5, 0.51, 1e-4, 2.0, 99, 0.1, 1e6, true}};
    c.engine.bytes = {std::byte{1}, std::byte{0}, std::byte{255}};
    c.best_parameters = {{"layer.weight", {2, 2}, {1, 2, 3, 4}}, {"layer.bias", {2}, {5, 6}}};
    return c;
}

class CheckpointStoreTest : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() /
                  ("rekindle-checkpoint-" + std::to_string(::getpid()) + "-" +
                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::remove_all(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path folder_;
    NullLogSink log_;
};

TEST(Checkpoint, RoundTripsBitForBit) {
    const std::string bytes = encode_checkpoint(example(2));
    const Checkpoint read = decode_checkpoint(bytes);
    EXPECT_EQ(encode_checkpoint(read), bytes);
    EXPECT_EQ(read.epoch_loss_sum, 0.1 + 0.2);
    EXPECT_EQ(read.best_parameters[1].values, (std::vector<float>{5, 6}));
}

TEST(Checkpoint, EveryDamagedByteAndEveryLengthIsNoticed) {
    const std::string bytes = encode_checkpoint(example(2));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        EXPECT_THROW((void)decode_checkpoint(damaged), Error) << "byte " << i;
        EXPECT_THROW((void)decode_checkpoint(std::string_view(bytes).substr(0, i)), Error) << "length " << i;
    }
}

TEST_F(CheckpointStoreTest, KeepsTheLastAndPassesOverADamagedOne) {
    CheckpointStore store(folder_, 2);
    EXPECT_FALSE(store.load_newest(log_));
    for (const std::int64_t epoch : {1, 2, 3, 10})
        store.save(example(epoch));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
    EXPECT_EQ(store.load_newest(log_)->epoch, 10);
    write_file_atomically(folder_ / "epoch-000010-batch-0000000017.checkpoint", "RKCKPT01 torn");
    EXPECT_EQ(store.load_newest(log_)->epoch, 3);
}

} // namespace
} // namespace rekindle::trainer
