#pragma once
/// The finished trials of a search, in a SQLite database (docs/formats/search.md).

#include <rekindle/research/search.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct sqlite3;

namespace rekindle::research {

/// A database that survives kill -9: each call of add() is stored either completely or not at all. Not
/// thread-safe.
class TrialStore {
  public:
    /// Creates the file if it does not exist. Throws Error that names the file if it cannot be read or
    /// written or is not such a database.
    explicit TrialStore(const std::filesystem::path& path);

    /// The description of the search that set_description() stored; no value in a new database.
    std::optional<std::string> description() const;
    void set_description(const std::string& json);
    /// All trials, in the order in which they were added.
    std::vector<Trial> trials() const;
    void add(std::span<const Trial> trials);

  private:
    struct Close {
        void operator()(sqlite3* database) const noexcept;
    };
    class Statement;
    void run(const char* sql) const;

    std::string name_;
    std::unique_ptr<sqlite3, Close> database_;
};

} // namespace rekindle::research
