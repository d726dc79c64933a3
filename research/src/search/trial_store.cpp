#include "search/trial_store.h"

#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <sqlite3.h>
#include <utility>

namespace rekindle::research {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* schema =
    "CREATE TABLE IF NOT EXISTS search (description TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS trials (trial INTEGER NOT NULL, rung INTEGER NOT NULL, epochs INTEGER NOT "
    "NULL,"
    " settings TEXT NOT NULL, diverged INTEGER NOT NULL, loss_saved REAL, timing_ratio REAL,"
    " timing BLOB NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (trial, rung));";

} // namespace

void TrialStore::Close::operator()(sqlite3* database) const noexcept {
    sqlite3_close(database);
}

/// A prepared statement, which the destructor finalizes.
class TrialStore::Statement {
  public:
    Statement(const TrialStore& store, const char* sql) : store_(store) {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(store.database_.get(), sql, -1, &statement, nullptr) != SQLITE_OK)
            fail();
        statement_.reset(statement);
    }
    void bind(int at, std::int64_t value) { check(sqlite3_bind_int64(statement_.get(), at, value)); }
    void bind(int at, double value) { check(sqlite3_bind_double(statement_.get(), at, value)); }
    void bind(int at, const std::string& text) {
        check(sqlite3_bind_text(statement_.get(), at, text.data(), static_cast<int>(text.size()),
                                SQLITE_TRANSIENT));
    }
    void bind(int at, std::span<const float> values) {
        const auto bytes = std::as_bytes(values);
        check(bytes.empty() // a null pointer would mean NULL
                  ? sqlite3_bind_zeroblob(statement_.get(), at, 0)
                  : sqlite3_bind_blob64(statement_.get(), at, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
    }
    /// Moves to the next row; false if there is none.
    bool step() {
        const int code = sqlite3_step(statement_.get());
        if (code != SQLITE_ROW && code != SQLITE_DONE)
            fail();
        return code == SQLITE_ROW;
    }
    void reset() { check(sqlite3_reset(statement_.get())); }

    std::int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
    /// SQLite stores NaN as NULL.
    double real(int column) const {
        return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL
                   ? std::numeric_limits<double>::quiet_NaN()
                   : sqlite3_column_double(statement_.get(), column);
    }
    std::string text(int column) const {
        const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
        const auto* begin = sqlite3_column_text(statement_.get(), column);
        return {reinterpret_cast<const char*>(begin), bytes};
    }
    std::vector<float> floats(int column) const {
        const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
        std::vector<float> values(bytes / sizeof(float));
        if (!values.empty())
            std::memcpy(values.data(), sqlite3_column_blob(statement_.get(), column),
                        values.size() * sizeof(float));
        return values;
    }

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
    };
    [[noreturn]] void fail() const {
        throw Error(
            fmt::format("the database of the search failed: {}", sqlite3_errmsg(store_.database_.get())))
            .at(store_.name_)
            .hint("If the file is damaged, remove the folder and start the search again.");
    }
    void check(int code) const {
        if (code != SQLITE_OK)
            fail();
    }

    const TrialStore& store_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

TrialStore::TrialStore(const std::filesystem::path& path) : name_(path.string()) {
    sqlite3* database = nullptr;
    const int code = sqlite3_open(name_.c_str(), &database);
    database_.reset(database);
    if (code != SQLITE_OK)
        throw Error(fmt::format("cannot open the database of the search: {}", sqlite3_errstr(code)))
            .at(name_);
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=NORMAL");
    for (const char* rest = schema; *rest != '\0';) {
        const char* end = std::strchr(rest, ';') + 1;
        run(std::string(rest, end).c_str());
        rest = end;
    }
}

void TrialStore::run(const char* sql) const {
    Statement statement(*this, sql);
    while (statement.step()) {
    }
}

std::optional<std::string> TrialStore::description() const {
    Statement statement(*this, "SELECT description FROM search");
    return statement.step() ? std::optional(statement.text(0)) : std::nullopt;
}

void TrialStore::set_description(const std::string& json) {
    Statement statement(*this, "INSERT INTO search VALUES (?)");
    statement.bind(1, json);
    statement.step();
}

std::vector<Trial> TrialStore::trials() const {
    Statement statement(*this,
                        "SELECT trial, rung, epochs, settings, diverged, loss_saved, timing_ratio, timing,"
                        " seconds FROM trials ORDER BY rowid");
    std::vector<Trial> trials;
    while (statement.step()) {
        Trial& trial = trials.emplace_back();
        trial.number = static_cast<std::uint64_t>(statement.integer(0));
        trial.rung = statement.integer(1);
        trial.epochs = statement.integer(2);
        trial.settings = Json::parse(statement.text(3), nullptr, false);
        if (!trial.settings.is_object())
            throw Error("the settings of a trial are not JSON").at(name_);
        trial.diverged = statement.integer(4) != 0;
        trial.loss_saved = statement.real(5);
        trial.timing_ratio = statement.real(6);
        trial.timing = statement.floats(7);
        trial.seconds = statement.real(8);
    }
    return trials;
}

void TrialStore::add(std::span<const Trial> trials) {
    run("BEGIN IMMEDIATE");
    try {
        Statement statement(*this, "INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
        for (const Trial& trial : trials) {
            statement.bind(1, static_cast<std::int64_t>(trial.number));
            statement.bind(2, trial.rung);
            statement.bind(3, trial.epochs);
            statement.bind(4, trial.settings.dump());
            statement.bind(5, std::int64_t{trial.diverged});
            statement.bind(6, trial.loss_saved);
            statement.bind(7, trial.timing_ratio);
            statement.bind(8, std::span<const float>(trial.timing));
            statement.bind(9, trial.seconds);
            statement.step();
            statement.reset();
        }
    } catch (...) {
        run("ROLLBACK");
        throw;
    }
    run("COMMIT");
}

} // namespace rekindle::research
