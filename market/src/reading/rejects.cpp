#include "reading/rejects.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rekindle::market {

namespace {

std::string place(const RejectedRow& row) {
    return fmt::format("{}:{}:{}", row.file.string(), row.line, row.column);
}

std::string csv_field(std::string_view text) {
    std::string result = "\"";
    for (const char c : text)
        result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + '"';
}

} // namespace

namespace reading {

std::vector<RejectedRow> RejectLog::take_sorted(const std::vector<std::filesystem::path>& files) {
    const auto order = [&](const RejectedRow& row) {
        return std::pair(std::find(files.begin(), files.end(), row.file) - files.begin(), row.line);
    };
    std::stable_sort(rows_.begin(), rows_.end(),
                     [&](const RejectedRow& a, const RejectedRow& b) { return order(a) < order(b); });
    return std::move(rows_);
}

Error RejectLog::error(const std::vector<std::filesystem::path>& files, std::uint64_t good_rows,
                       bool off_inferred_tick) {
    const std::vector<RejectedRow> rows = take_sorted(files);
    std::string hint;
    if (good_rows == 0)
        hint =
            "No row can be used, so the columns or the format are not what they seem: name the columns with "
            "--columns, or convert the file. docs/formats/bars.md lists the formats.";
    else if (count_ > good_rows)
        hint = "Most rows cannot be used, so the columns or the format may not be what they seem: see "
               "--columns. "
               "--bad-rows skip would keep only the others.";
    else
        hint = "Use --bad-rows skip to skip them and list them in rejected.csv.";
    if (off_inferred_tick)
        hint += " If the prices are right, --tick none reads them as they are.";
    if (count_ == 1)
        return usage_error(rows[0].reason).at(place(rows[0])).expected(rows[0].expected).hint(hint);
    std::string text = fmt::format("{} cannot be used{}:", counted(count_, "row"),
                                   count_ > rows.size() ? fmt::format("; the first {}", rows.size()) : "");
    for (const RejectedRow& row : rows) {
        text += fmt::format("\n  {}: {}", place(row), row.reason);
        if (!row.expected.empty())
            text += fmt::format(", expected {}", row.expected);
    }
    return usage_error(std::move(text)).hint(hint);
}

} // namespace reading

void write_rejected_rows(const std::filesystem::path& rejected_csv, std::span<const RejectedRow> rows) {
    AtomicFile file(rejected_csv);
    file.write("file,line,column,reason,text\n");
    for (const RejectedRow& row : rows) {
        const std::string reason =
            row.expected.empty() ? row.reason : row.reason + ", expected " + row.expected;
        file.write(fmt::format("{},{},{},{},{}\n", csv_field(row.file.string()), row.line, row.column,
                               csv_field(reason), csv_field(row.text)));
    }
    file.commit();
}

} // namespace rekindle::market
