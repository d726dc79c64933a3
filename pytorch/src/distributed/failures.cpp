#include "failures.h"

#include <c10/util/Exception.h>
#include <sstream>

namespace rvk::distributed {

namespace {

std::string named(std::span<const std::int64_t> ranks) {
    std::string names;
    for (const std::int64_t rank : ranks)
        names += (names.empty() ? "" : ", ") + std::to_string(rank);
    return (ranks.size() == 1 ? "Rank " : "Ranks ") + names;
}

} // namespace

std::string is_gone(std::span<const std::int64_t> ranks, const std::string& what) {
    return named(ranks) + " ended or closed " + (ranks.size() == 1 ? "its connection" : "their connections") +
           " while the other ranks of the group were in " + what + ".";
}

std::string is_late(std::span<const std::int64_t> ranks, const std::string& what, double timeout) {
    std::ostringstream seconds;
    seconds << timeout;
    return named(ranks) + " did not join " + what + " within " + seconds.str() +
           " s; if the work before it takes longer, pass a longer timeout to init_process_group.";
}

std::string message_of(const std::exception& problem) {
    const auto* const error = dynamic_cast<const c10::Error*>(&problem);
    return error ? error->what_without_backtrace() : problem.what();
}

} // namespace rvk::distributed
