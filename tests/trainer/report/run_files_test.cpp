/// Compares the files of a run with their description in docs/formats/run-folder.md.

#include "../run_fixture.h"

#include <rekindle/trainer/model_file.h>
#include <rekindle/trainer/settings.h>
#include <rekindle/trainer/torch_archive.h>

#include <png.h>
#include <regex>
#include <set>
#include <sstream>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

const fs::path& document() {
    static const fs::path path = fs::path(REKINDLE_TEST_DATA) / "../../../docs/formats/run-folder.md";
    return path;
}

/// The words in back quotes in the first column of the table after a heading.
std::vector<std::string> first_column(const std::string& heading) {
    std::istringstream lines(read_file(document()));
    std::vector<std::string> words;
    bool inside = false;
    const std::regex word("`([^`]+)`");
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#"))
            inside = line == heading;
        if (!inside || !line.starts_with("| `"))
            continue;
        const std::string cell = line.substr(0, line.find('|', 1));
        for (std::sregex_iterator match(cell.begin(), cell.end(), word), end; match != end; ++match)
            words.push_back((*match)[1]);
    }
    return words;
}

/// "checkpoints/*.checkpoint" and "logs/futures_vpoc_<time>.log" as a regular expression.
std::regex pattern_of(const std::string& name) {
    std::string text = std::regex_replace(name, std::regex("\\."), "\\.");
    text = std::regex_replace(text, std::regex("\\*|<[a-z]+>"), "[^/]+");
    return std::regex(text);
}

std::vector<std::string> files_below(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file())
            names.push_back(fs::relative(entry.path(), folder).string());
    return names;
}

/// A run that writes every file: one bad row is skipped, and the bars are read in chunks.
class RunFilesTest : public RunTest {
  protected:
    RunFilesTest() {
        auto lines = daily_lines(120);
        lines.insert(lines.begin() + 60, "2020-13-45,1,2,0.5,1,10,15");
        write_lines(bars(), lines);
        TrainConfig settings = config();
        settings.bad_rows = BadRows::skip;
        settings.chunk_size = 50;
        outcome_ = run(settings, {"bad_rows", "chunk_size"});
    }
    fs::path file(const std::string& name) const { return outcome_.run_folder / name; }
    Json json(const std::string& name) const { return Json::parse(read_file(file(name))); }

    TrainOutcome outcome_;
};

TEST_F(RunFilesTest, MatchTheDocument) {
    const auto described = first_column("# The run folder");
    ASSERT_GE(described.size(), 15u);
    const auto found = files_below(outcome_.run_folder);
    for (const std::string& name : described)
        EXPECT_TRUE(std::ranges::any_of(
            found, [&](const auto& one) { return std::regex_match(one, pattern_of(name)); }))
            << name << " is missing";
    for (const std::string& name : found)
        EXPECT_TRUE(std::ranges::any_of(
            described, [&](const auto& one) { return std::regex_match(name, pattern_of(one)); }))
            << name << " is not in the document";
    EXPECT_TRUE(
        std::regex_match(outcome_.run_folder.filename().string(), std::regex("train_[0-9]{8}_[0-9]{6}")))
        << outcome_.run_folder;
    EXPECT_EQ(outcome_.report, file("report.html"));
}

TEST_F(RunFilesTest, MetadataHasTheDocumentedAndTheOriginalKeys) {
    const auto described = first_column("## The object `rekindle`");
    ASSERT_GE(described.size(), 12u);
    for (const char* name : {"best_model_metadata.json", "model_final_metadata.json"}) {
        const Json metadata = json(name);
        for (const char* key : {"version", "timestamp", "architecture", "feature_columns", "epoch", "loss"})
            EXPECT_TRUE(metadata.contains(key)) << name << ": " << key;
        for (const char* key :
             {"accuracy", "train_loss", "val_loss", "feature_columns", "history", "training_time"})
            EXPECT_TRUE(metadata.at("metadata").contains(key)) << name << ": " << key;
        EXPECT_EQ(metadata["architecture"],
                  (Json{{"input_dim", 54}, {"hidden_layers", {16, 8}}, {"dropout_rate", 0.4}}));
        EXPECT_EQ(metadata["feature_columns"].size(), 54u);
        std::set<std::string> keys;
        for (const auto& [key, value] : metadata.at("rekindle").items()) {
            keys.insert(key);
            EXPECT_FALSE(value.is_null()) << name << ": " << key;
        }
        EXPECT_EQ(keys, std::set<std::string>(described.begin(), described.end())) << name;
    }
    const Json details = json("best_model_metadata.json")["rekindle"];
    EXPECT_EQ(details["tick_points"], 0.25);
    EXPECT_EQ(details["data"]["rows"], 120);
    EXPECT_EQ(details["data"]["rejected_rows"], 1);
    EXPECT_EQ(details["data"]["xxh3_128"].get<std::string>().size(), 32u);
    EXPECT_EQ(details["scaler"]["rows"], details["split"]["train_rows"]); // fitted on the training rows only
    EXPECT_EQ(details["config"], json("config.json"));
}

TEST_F(RunFilesTest, AllFormatsOfAModelHoldTheSameWeights) {
    for (const std::string name : {"best_model", "model_final"}) {
        auto archived = import_model(file(name + ".pt"));
        EXPECT_FALSE(archived.needs_scaler);
        EXPECT_TRUE(archived.written_by_rekindle);
        std::ranges::sort(archived.file.parameters, {}, &mlp::NamedTensor::name);
        expect_same_tensors(archived.file.parameters, tensors_of(file(name + ".safetensors")), name);
        const TorchArchive archive = TorchArchive::read(file(name + ".pt"));
        EXPECT_TRUE(archive.root().find("optimizer_state_dict")) << name;
    }
    auto bare = state_dict_of(TorchArchive::read(file("model.pt")));
    std::ranges::sort(bare, {}, &mlp::NamedTensor::name);
    expect_same_tensors(bare, tensors_of(file("best_model.safetensors")), "model.pt");
    auto last = state_dict_of(TorchArchive::read(file("checkpoint.pt")));
    std::ranges::sort(last, {}, &mlp::NamedTensor::name);
    expect_same_tensors(last, tensors_of(file("model_final.safetensors")), "checkpoint.pt");
    for (const char* key : {"epoch", "batch_idx", "model_state_dict", "optimizer_state_dict",
                            "scaler_state_dict", "avg_loss", "gradient_accumulation_steps"})
        EXPECT_TRUE(TorchArchive::read(file("checkpoint.pt")).root().find(key)) << key;
}

TEST_F(RunFilesTest, MetricsCoverEveryEpochAndTheBestIsSaved) {
    std::istringstream lines(read_file(file("metrics.jsonl")));
    std::vector<Json> epochs;
    for (std::string line; std::getline(lines, line);)
        epochs.push_back(Json::parse(line));
    ASSERT_EQ(epochs.size(), 3u);
    double lowest = std::numeric_limits<double>::infinity();
    int best = 0;
    for (int i = 0; i < 3; ++i) {
        const Json& epoch = epochs[static_cast<std::size_t>(i)];
        EXPECT_EQ(epoch["epoch"], i + 1);
        EXPECT_GT(epoch["seconds"], 0.0);
        EXPECT_GT(epoch["rows_per_second"], 0.0);
        if (epoch["val_loss"] < lowest) {
            lowest = epoch["val_loss"];
            best = i + 1;
        }
    }
    EXPECT_GT(epochs[1]["steps"], epochs[0]["steps"]);
    const Json metadata = json("best_model_metadata.json");
    EXPECT_EQ(metadata["epoch"], best);
    EXPECT_EQ(metadata["loss"], lowest);
    EXPECT_EQ(json("model_final_metadata.json")["epoch"], 3);
}

TEST_F(RunFilesTest, ReportIsSelfContained) {
    const std::string report = read_file(file("report.html"));
    EXPECT_TRUE(report.starts_with("<!DOCTYPE html>") || report.starts_with("<!doctype html>"));
    EXPECT_TRUE(contains(report, "</html>"));
    EXPECT_TRUE(contains(report, "<svg"));
    EXPECT_TRUE(contains(report, outcome_.verdict.substr(0, outcome_.verdict.find(": "))));
    // Namespace names are not fetched.
    const std::string without_names =
        std::regex_replace(report, std::regex("xmlns(:[a-z]+)?=\"http://www\\.w3\\.org/[^\"]*\""), "");
    EXPECT_FALSE(contains(without_names, "http://"));
    EXPECT_FALSE(contains(without_names, "https://"));
    EXPECT_FALSE(std::regex_search(report, std::regex("<(script|link|img|iframe)[^>]+(src|href)=")));
    EXPECT_FALSE(contains(report, "@import"));
    EXPECT_TRUE(contains(report, "1 bad row was skipped")) << "the warning is missing";
}

TEST_F(RunFilesTest, PictureDecodes) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    ASSERT_TRUE(png_image_begin_read_from_file(&image, file("training_history.png").c_str()));
    EXPECT_GE(image.width, 400u);
    EXPECT_GE(image.height, 200u);
    image.format = PNG_FORMAT_RGB;
    std::vector<png_byte> pixels(PNG_IMAGE_SIZE(image));
    EXPECT_TRUE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr));
    EXPECT_GT(std::set<png_byte>(pixels.begin(), pixels.end()).size(), 10u) << "an empty picture";
}

TEST_F(RunFilesTest, BadRowsAreListedWithTheirReason) {
    const std::string rejected = read_file(file("rejected.csv"));
    EXPECT_TRUE(contains(rejected, "2020-13-45")) << rejected;
    EXPECT_TRUE(contains(rejected, "61")) << rejected; // the line
}

TEST_F(RunFilesTest, EveryLogLineHasTimeZoneAndLevel) {
    fs::path log;
    for (const auto& entry : fs::directory_iterator(file("logs")))
        log = entry.path();
    std::istringstream lines(read_file(log));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count)
        EXPECT_TRUE(std::regex_match(
            line,
            std::regex(
                "[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8},[0-9]{3} UTC - rekindle - (DEBUG|INFO|WARNING) - .+")))
            << line;
    EXPECT_GE(count, 6);
}

TEST_F(RunFilesTest, ConfigJsonTrainsTheSameAgain) {
    TrainConfig again;
    update_from_json(json("config.json"), again);
    again.output = (folder_ / "again").string();
    expect_same_weights(outcome_.run_folder, run(again).run_folder, "config.json");
}

class RunSettingsTest : public RunTest {};

/// The report says which settings had no effect and which were replaced by another value.
TEST_F(RunSettingsTest, ReportSaysWhatTheyCameTo) {
    const auto configured = [&](const std::string& key, auto&& change) {
        TrainConfig settings = config();
        settings.epochs = 1;
        change(settings);
        const TrainOutcome outcome = run(settings);
        const std::string page = read_file(outcome.report), begin = "<dt>" + key + "</dt><dd>";
        const std::size_t at = page.find(begin);
        EXPECT_NE(at, std::string::npos) << key;
        return page.substr(at + begin.size(), page.find("</dd>", at) - at - begin.size());
    };
    using Kind = market::TargetKind;
    const auto five_ahead = [](TrainConfig& c) { c.target = Kind::bar_return; };
    const auto plain = [](TrainConfig&) {};
    EXPECT_EQ(configured("purge", five_ahead), "1 (in effect: 5, because the target looks 5 rows ahead)");
    EXPECT_EQ(configured("purge", plain), "1");
    EXPECT_EQ(configured("purge", [](TrainConfig& c) { c.compat = Compat::original; }),
              "1 (in effect: 0, because --compat original does not purge)");
    EXPECT_EQ(configured("target_bars", five_ahead), "5");
    EXPECT_EQ(configured("target_bars", plain), "5 (no effect: the target looks one session ahead)");
    EXPECT_EQ(configured("loss", plain), "auto (in effect: mse)");
    EXPECT_EQ(configured("loss", [](TrainConfig& c) { c.target = Kind::direction; }),
              "auto (in effect: bce)");
    EXPECT_EQ(configured("loss", [](TrainConfig& c) { c.loss = LossChoice::huber; }), "huber");
    EXPECT_EQ(configured("huber_delta", plain), "1.0 (no effect: the loss is not huber)");
    EXPECT_EQ(configured("tick", plain), "auto (in effect: 0.25)");
    EXPECT_EQ(configured("regular_hours", plain), "auto (in effect: 09:30-16:00)");
}

TEST_F(RunSettingsTest, MetadataSaysHowManyRowsWerePurged) {
    TrainConfig settings = config();
    settings.epochs = 1;
    settings.target = market::TargetKind::bar_return;
    const Json metadata = Json::parse(read_file(run(settings).run_folder / "best_model_metadata.json"));
    EXPECT_EQ(metadata["rekindle"]["split"]["purged_rows"], 5);
}

} // namespace
} // namespace rekindle::trainer
