#include "read_stored_bars.h"

#include <algorithm>
#include <array>
#include <string_view>

/// The first byte selects a format; the rest is a file, whose first bytes are replaced by those of the
/// format.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace std::string_view_literals;
    constexpr std::array beginnings{"SCID\x38\0\0\0\x28\0\0\0"sv, "DBN\x01"sv, "DBN\x03"sv, "PK\x03\x04"sv,
                                    "\x28\xB5\x2F\xFD"sv};
    if (size == 0)
        return 0;
    const std::string_view beginning = beginnings[data[0] % beginnings.size()];
    std::vector<std::uint8_t> stored(data + 1, data + size);
    stored.resize(std::max(stored.size(), beginning.size()));
    std::copy(beginning.begin(), beginning.end(), stored.begin());
    rekindle::test::read_stored_bars(stored);
    return 0;
}
