#include "rows.h"

namespace rekindle::cli::rows {

std::vector<OptionSpec> sessions() {
    const std::string_view group = "Time and sessions";
    return {
        {.name = "clock",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"utc", "exchange", "raw"},
         .in_config = true,
         .group = group,
         .brief = "What the stamps are: UTC, exchange time, raw labels",
         .detail =
             "How to read stamps that carry no zone: utc takes them as UTC, exchange as local time of --zone "
             "with daylight saving. raw uses the label as it stands, as the original system did, which "
             "puts sessions of UTC files at the wrong hours; it is for comparisons.",
         .example = "--clock exchange",
         .commands = readers},
        {.name = "zone",
         .value_name = "ZONE",
         .in_config = true,
         .group = group,
         .brief = "Time zone of the exchange (IANA name)",
         .detail =
             "The zone in which session hours are meant, by its IANA name. Daylight saving is followed.",
         .example = "--zone America/Chicago",
         .commands = readers},
        {.name = "stamp",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"end", "start"},
         .in_config = true,
         .group = group,
         .brief = "Whether a stamp is the end or the start of its bar",
         .detail = "A bar that covers 09:30 to 09:31 is stamped 09:31 with end and 09:30 with start.",
         .example = "--stamp start",
         .commands = readers},
        {.name = "session",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"rth", "eth", "all"},
         .in_config = true,
         .group = group,
         .brief = "Regular hours, overnight hours, or the whole day",
         .detail = "rth keeps the bars that end after 09:30 and up to 16:00 in the exchange's zone, eth the "
                   "others, "
                   "all the whole trading day that begins at 18:00 on the evening before.",
         .example = "--session rth",
         .commands = readers},
        {.name = "session-length",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"day", "week"},
         .in_config = true,
         .group = group,
         .brief = "One session is a trading day or a week",
         .detail =
             "With week, the trading days of a week form one session, labelled with its last day. It suits "
             "files of daily bars, of which a single one has hardly a volume profile.",
         .example = "--session-length week",
         .commands = readers},
        {.name = "day-start",
         .value_name = "HH:MM",
         .in_config = true,
         .group = group,
         .brief = "Exchange time at which a trading day begins",
         .detail =
             "Local time, in the exchange's zone, at which a trading day begins on the evening before: 18:00 "
             "for ES, 17:00 for currencies, 00:00 for days from midnight to midnight.",
         .example = "--day-start 17:00",
         .commands = readers},
        {.name = "calendar",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .in_config = true,
         .group = group,
         .brief = "Holidays and half days (YAML) in place of the embedded ones",
         .detail =
             "A dated calendar of holidays and half days. The program embeds one; days outside the span that "
             "the calendar covers are said. docs/formats/ describes the file.",
         .example = "--calendar my-calendar.yaml",
         .commands = readers},
        {.name = "roll",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"volume", "calendar", "single"},
         .in_config = true,
         .group = group,
         .brief = "When one contract follows another",
         .detail =
             "volume goes over to the next contract once it trades more, calendar on a fixed day before "
             "expiry, single refuses data with more than one contract. Contracts are never mixed in a "
             "session.",
         .example = "--roll calendar",
         .commands = readers},
    };
}

} // namespace rekindle::cli::rows
