#include "features/bar_sequence.h"

#include <rekindle/base/error.h>

#include <limits>

namespace rekindle::market {

BarSequence::BarSequence(const BarTable& bars, std::span<const Session> sessions) : sessions_(sessions) {
    if (bars.size() > std::numeric_limits<std::uint32_t>::max())
        throw usage_error("features per bar take at most 4,294,967,295 bars");
    bar_.reserve(bars.size());
    session_.reserve(bars.size());
    const auto contract = bars.columns().contract;
    for (std::size_t s = 0; s < sessions.size(); ++s) {
        const Session& session = sessions[s];
        if (session.first > bars.size() || session.count > bars.size() - session.first)
            throw internal_error("a session holds bars that the table does not have");
        for (std::size_t bar = session.first; bar < session.first + session.count; ++bar) {
            if (session.contract != mixed_contracts && contract[bar] != session.contract)
                continue;
            bar_.push_back(static_cast<std::uint32_t>(bar));
            session_.push_back(static_cast<std::uint32_t>(s));
        }
    }
}

} // namespace rekindle::market
