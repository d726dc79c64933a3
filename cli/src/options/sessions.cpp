#include "rows.h"

namespace rekindle::cli::rows {

std::vector<OptionSpec> sessions() {
    const std::string_view group = "Time and sessions";
    const std::vector<Exclusion> no_raw_labels{
        {.option = "clock",
         .word = "raw",
         .reason = "raw labels are used as they are, without zone or calendar",
         .except_command = "inspect"}};
    std::vector<Exclusion> no_day_start = no_raw_labels;
    for (const std::string_view hours : {"rth", "eth"})
        no_day_start.push_back({.option = "session",
                                .word = hours,
                                .reason = "only the regular hours define these sessions",
                                .except_command = "predict"});
    return {
        {.name = "clock",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"utc", "exchange", "raw"},
         .in_config = true,
         .group = group,
         .brief = "How to read timestamps: UTC, exchange time, raw labels",
         .detail = "How to read timestamps without a zone: utc reads them as UTC, exchange as local time of "
                   "--zone with daylight saving. raw uses the label as it is, as the original system did, "
                   "which puts sessions of UTC files at the wrong hours; it is for comparisons.",
         .example = "--clock exchange",
         .commands = readers},
        {.name = "zone",
         .value_name = "ZONE",
         .in_config = true,
         .group = group,
         .brief = "Time zone of the exchange (IANA name)",
         .detail = "The time zone of the session hours, by its IANA name. Daylight saving is followed.",
         .example = "--zone America/Chicago",
         .commands = readers,
         .not_with = no_raw_labels},
        {.name = "stamp",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"end", "start"},
         .in_config = true,
         .group = group,
         .brief = "Whether a timestamp is the end or the start of its bar",
         .detail = "A bar that covers 09:30 to 09:31 has the timestamp 09:31 with end and 09:30 with start.",
         .example = "--stamp start",
         .commands = readers},
        {.name = "session",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"rth", "eth", "all"},
         .in_config = true,
         .group = group,
         .brief = "Regular hours, overnight hours, or the whole day",
         .detail = "rth keeps the bars that end within --regular-hours, eth those from one regular close to "
                   "the next regular open, all the whole trading day that begins at --day-start.",
         .example = "--session rth",
         .commands = session_cutters},
        {.name = "session-length",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"day", "week"},
         .in_config = true,
         .group = group,
         .brief = "One session is a trading day or a week",
         .detail = "With week, the trading days of a week form one session, labeled with its last day. It "
                   "suits files of daily bars, because a single daily bar barely has a volume profile.",
         .example = "--session-length week",
         .commands = session_cutters},
        {.name = "day-start",
         .value_name = "HH:MM",
         .in_config = true,
         .group = group,
         .brief = "Exchange time at which a trading day begins",
         .detail = "Exchange time, on the evening before, at which a trading day begins: 18:00 for ES, 17:00 "
                   "for currencies, 00:00 for days from midnight to midnight.",
         .example = "--day-start 17:00",
         .commands = readers,
         .not_with = no_day_start},
        {.name = "regular-hours",
         .value_name = "HH:MM-HH:MM",
         .words = {"auto"},
         .in_config = true,
         .group = group,
         .brief = "Open and close for --session rth and eth, local time",
         .detail = "Local time of --zone: 08:30-15:15 with America/Chicago. rth holds the bars that end "
                   "after the open and up to the close. auto is 09:30-16:00 in America/New_York; in another "
                   "zone the hours must be given. If the volume rises at other hours, a warning says so.",
         .example = "--session rth --zone America/Chicago --regular-hours 08:30-15:15",
         .commands = readers,
         .not_with = {{.option = "session",
                       .word = "all",
                       .reason = "the whole trading day does not depend on regular hours",
                       .except_command = "predict"}}},
        {.name = "calendar",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .in_config = true,
         .group = group,
         .brief = "Holidays and half days (YAML) instead of the built-in ones",
         .detail = "A dated calendar of holidays and half days. The program has a built-in one; days outside "
                   "the span that the calendar covers are reported. docs/formats/ describes the file.",
         .example = "--calendar my-calendar.yaml",
         .commands = readers,
         .not_with = no_raw_labels},
        {.name = "roll",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"volume", "calendar", "single"},
         .in_config = true,
         .group = group,
         .brief = "When to switch to the next contract",
         .detail = "volume switches to the next contract once it trades more, calendar on a fixed day before "
                   "expiry, single refuses data with more than one contract. Contracts are never mixed "
                   "within a session.",
         .example = "--roll calendar",
         .commands = readers,
         .not_with = {{.option = "compat",
                       .word = "original",
                       .reason = "the original system mixes the contracts of a session"}}},
    };
}

} // namespace rekindle::cli::rows
