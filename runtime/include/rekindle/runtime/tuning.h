#pragma once
/// Measures several ways to compute the same result, chooses the fastest, and stores the choice.

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/stream.h>

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace rekindle::runtime {

/// One way to compute something.
struct Candidate {
    std::string name; ///< under which the choice is stored; one line, no tab
    /// Queues the work. May throw Unsupported: the candidate is then left out.
    std::function<void()> queue;
    /// Waits for the queued work; returns whether its result is right.
    std::function<bool()> is_right;
};

struct Choice {
    std::size_t index = 0;          ///< of the candidate
    std::vector<std::size_t> wrong; ///< candidates whose result is wrong; they are not timed
    std::vector<double> seconds;    ///< of each candidate; infinite if it was not timed
};

/// Returns the fastest candidate whose result is right. The first candidate is the default: another one
/// replaces it only if it is at least 3 % faster, so that noise does not change the choice.
///
/// seconds: measures one candidate. warm_up: runs one candidate until the clocks of the device are high;
/// called before the first measurement, because the device idles while results are checked.
///
/// Each round measures all candidates with right results, and then the first of them again. If its two times
/// differ by more than 5 %, the clocks have changed, and the round does not count; if they have risen,
/// neither do the rounds before. The shortest time of each candidate in three rounds decides, or in fewer if
/// twelve rounds have run. candidates: at least one.
Choice fastest(std::span<const Candidate> candidates, const std::function<double(const Candidate&)>& seconds,
               const std::function<void(const Candidate&)>& warm_up = {});

/// Seconds on the device for one call of `queue`, which queues work on `stream`: the mean over as many calls
/// as take `at_least` seconds together, at most 1,000.
double device_seconds(Stream& stream, const std::function<void()>& queue, double at_least = 1e-3);

/// The names of the chosen candidates, by a key that identifies the computation, in one file per device and
/// driver build. Thread-safe. Several processes can use the file at the same time; none loses what
/// another has stored.
class TuningStore {
  public:
    /// Reads the file, which lies in `folder`/tuning. If `folder` is empty, nothing is stored.
    TuningStore(const DeviceInfo& device, const std::filesystem::path& folder);
    /// Why the stored choices are not used, or could not be written; empty if nothing is wrong.
    std::string problem() const;
    std::optional<std::string> find(const std::string& key) const;
    /// key, name: one line, no tab.
    void keep(const std::string& key, const std::string& name);
    /// Returns what is stored for the key. If nothing is, calls `make`, stores its result, and returns it.
    /// Other processes that call this meanwhile wait for that result instead of calling `make`. Throws Error
    /// if the result cannot be stored or if another process takes longer than 30 s; passes on what `make`
    /// throws.
    std::string find_or_make(const std::string& key, const std::function<std::string()>& make);

  private:
    void read();
    void write() const;

    std::filesystem::path path_;
    mutable std::mutex mutex_;
    std::map<std::string, std::string> choices_;
    std::string problem_;
};

/// The folder for files that outlive the process: REKINDLE_CACHE_DIR, XDG_CACHE_HOME/rekindle,
/// HOME/.cache/rekindle; empty if none of them is set.
std::filesystem::path default_cache_folder();

} // namespace rekindle::runtime
