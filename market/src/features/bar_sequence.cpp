#include "features/bar_sequence.h"

#include <rekindle/foundation/error.h>

#include <limits>

namespace rekindle::market {

BarSequence::BarSequence(const BarTable& bars, std::span<const Session> sessions, const Workspace& workspace)
    : sessions_(sessions) {
    if (bars.size() > std::numeric_limits<std::uint32_t>::max())
        throw usage_error("features per bar support at most 4,294,967,295 bars");
    bar_ = {bars.size(), workspace.folder};
    session_ = {bars.size(), workspace.folder};
    std::size_t size = 0;
    const auto contract = bars.columns().contract;
    for (std::size_t s = 0; s < sessions.size(); ++s) {
        const Session& session = sessions[s];
        if (session.first > bars.size() || session.count > bars.size() - session.first)
            throw internal_error("a session refers to bars that are not in the table");
        for (std::size_t bar = session.first; bar < session.first + session.count; ++bar) {
            if (session.contract != mixed_contracts && contract[bar] != session.contract)
                continue;
            bar_[size] = static_cast<std::uint32_t>(bar);
            session_[size++] = static_cast<std::uint32_t>(s);
        }
    }
    bar_.truncate(size);
    session_.truncate(size);
    release(0, size);
}

} // namespace rekindle::market
