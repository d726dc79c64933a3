#include "rows.h"

namespace rekindle::trainer::rows {

std::vector<Setting> sessions() {
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
    std::vector<Exclusion> only_local;
    for (const std::string_view clock : {"utc", "raw"})
        only_local.push_back({.option = "clock",
                              .word = clock,
                              .reason = "only --clock exchange reads timestamps as the local time of a zone",
                              .except_command = "predict"});
    std::vector<Exclusion> no_week;
    for (const std::string_view hours : {"rth", "eth"})
        no_week.push_back({.option = "session",
                           .word = hours,
                           .reason = "these hours of a week are not one contiguous range of bars",
                           .own_word = "week"});
    return {
        {.name = "instrument",
         .field = &TrainConfig::instrument,
         .value_name = "SYMBOL",
         .special_words = {"auto", "none", "each"},
         .group = group,
         .brief = "Zone, hours, days and tick of ES, CL, FX and others",
         .detail =
             "Sets --zone, --day-start and --regular-hours, unless they are given, to those of an instrument "
             "in the list: ES, MES, NQ, MNQ, RTY, YM, CL, GC, ZN, ZB, 6E, VX, FDAX, FESX, FGBL, US-STOCK, FX "
             "or CRYPTO. Also sets its holidays and its tick. auto finds the instrument by the names of "
             "contracts and files, and a note says which it is; none uses the hours of US futures. predict "
             "uses the instrument of the model. With --several-instruments, each (which auto means unless "
             "hours are given) gives each instrument the hours that its own name implies, and "
             "DAX=FDAX,BTC=CRYPTO says which they are for names that imply none. docs/formats/instruments.md "
             "shows the instruments with their "
             "sources. Warnings name contracts, ticks, prices and times that contradict the instrument.",
         .example = "--instrument CL",
         .commands = readers,
         .not_with = no_raw_labels,
         .part = SettingPart::data_file},
        {.name = "instruments",
         .field = &TrainConfig::instruments,
         .form = ValueKind::path,
         .value_name = "FILE",
         .group = group,
         .brief = "List of instruments (YAML) instead of the built-in one",
         .detail = "A dated list of instruments for --instrument. docs/formats/instruments.md describes the "
                   "file.",
         .example = "--instruments my-instruments.yaml --instrument LE",
         .commands = readers,
         .not_with = no_raw_labels,
         .part = SettingPart::data_file},
        {.name = "clock",
         .field = choice_field<&TrainConfig::clock>,
         .value_name = "WORD",
         .group = group,
         .brief = "How to read timestamps: UTC, exchange time, raw labels",
         .detail = "How to read timestamps without a zone: utc reads them as UTC, exchange as local time of "
                   "--zone (or --stamp-zone) with daylight saving. raw uses the label as it is, as the "
                   "original system did, which puts sessions of UTC files at the wrong hours; it is for "
                   "comparisons.",
         .example = "--clock exchange",
         .commands = readers,
         .part = SettingPart::data_file},
        {.name = "zone",
         .field = &TrainConfig::zone,
         .value_name = "ZONE",
         .group = group,
         .brief = "Time zone of the exchange (IANA name)",
         .detail = "The time zone of the session hours, by its IANA name. Daylight saving is followed. With "
                   "--clock exchange it is also the zone of the timestamps, unless --stamp-zone is given.",
         .example = "--zone America/Chicago",
         .commands = readers,
         .not_with = no_raw_labels},
        {.name = "stamp",
         .field = choice_field<&TrainConfig::stamp>,
         .value_name = "WORD",
         .group = group,
         .brief = "Whether a timestamp is the end or the start of its bar",
         .detail =
             "A bar that covers 09:30 to 09:31 has the timestamp 09:31 with end and 09:30 with start. auto "
             "means start if the column is named open_time, ts_event, window_start or time left, because "
             "these hold the start; otherwise it means end. SCID and DBN files are always read with start.",
         .example = "--stamp start",
         .commands = readers,
         .part = SettingPart::data_file},
        {.name = "stamp-zone",
         .field = &TrainConfig::stamp_zone,
         .value_name = "ZONE",
         .group = group,
         .brief = "Time zone of local timestamps, if it is not --zone",
         .detail = "The time zone (IANA name) of the timestamps with --clock exchange. Without this option "
                   "it is --zone. It belongs to the file: a model whose sessions are cut in New York can "
                   "predict from a file with timestamps in Chicago.",
         .example = "--clock exchange --stamp-zone America/Chicago",
         .commands = readers,
         .not_with = only_local,
         .part = SettingPart::data_file},
        {.name = "session",
         .field = choice_field<&TrainConfig::session>,
         .value_name = "WORD",
         .group = group,
         .brief = "Regular hours, overnight hours, or the whole day",
         .detail = "rth keeps the bars that end within --regular-hours, eth those from one regular close to "
                   "the next regular open, all the whole trading day that begins at --day-start.",
         .example = "--session rth",
         .commands = session_cutters,
         .not_with = {{.option = "clock",
                       .word = "raw",
                       .reason = "with raw labels the overnight hours are the two ends of each date",
                       .own_word = "eth"}}},
        {.name = "session-length",
         .field = choice_field<&TrainConfig::session_length>,
         .value_name = "WORD",
         .group = group,
         .brief = "One session is a trading day or a week",
         .detail = "With week, the trading days of a week form one session, labeled with its last day. It "
                   "suits files of daily bars, because a single daily bar barely has a volume profile.",
         .example = "--session-length week",
         .commands = session_cutters,
         .not_with = no_week},
        {.name = "days",
         .field = choice_field<&TrainConfig::days>,
         .value_name = "WORD",
         .group = group,
         .brief = "Days of the week on which the market trades",
         .detail =
             "all makes every Saturday and Sunday with bars a session, weekdays none of them. auto takes "
             "those that have at least half as many bars as the weekdays before them; for an instrument "
             "that trades all week (--instrument CRYPTO) it is all.",
         .example = "--days all",
         .commands = readers},
        {.name = "day-start",
         .field = &TrainConfig::day_start,
         .value_name = "HH:MM",
         .special_words = {"auto"},
         .group = group,
         .brief = "Local time at which a trading day begins",
         .detail = "Local time of --zone, on the evening before, at which a trading day begins. auto is the "
                   "time of US futures, 18:00 in New York and 17:00 in Chicago; in zones outside North "
                   "America 18:00 is assumed, and a note says so. Use 17:00 (New York) for currencies, 00:00 "
                   "for days from midnight to midnight. If the market pauses at another time, a warning "
                   "names it.",
         .example = "--day-start 17:00",
         .commands = readers,
         .not_with = no_day_start},
        {.name = "regular-hours",
         .field = &TrainConfig::regular_hours,
         .value_name = "HH:MM-HH:MM",
         .special_words = {"auto"},
         .group = group,
         .brief = "Open and close for --session rth and eth, local time",
         .detail =
             "Local time of --zone: 08:30-15:15 with America/Chicago. rth holds the bars that end "
             "after the open and up to the close. auto is 09:30-16:00 in New York, which is 08:30-15:00 "
             "in Chicago; in zones outside North America the hours must be given. If the volume rises "
             "at other hours, a warning says so.",
         .example = "--session rth --zone America/Chicago --regular-hours 08:30-15:15",
         .commands = readers,
         .not_with = {{.option = "session",
                       .word = "all",
                       .reason = "the whole trading day does not depend on regular hours",
                       .except_command = "predict"}}},
        {.name = "calendar",
         .field = &TrainConfig::calendar,
         .form = ValueKind::path,
         .value_name = "FILE",
         .group = group,
         .brief = "Holidays and half days (YAML) instead of the built-in ones",
         .detail = "A dated calendar of holidays and half days. The program has a built-in one; days outside "
                   "the span that the calendar covers are reported. docs/formats/ describes the file.",
         .example = "--calendar my-calendar.yaml",
         .commands = readers,
         .not_with = no_raw_labels},
        {.name = "roll",
         .field = choice_field<&TrainConfig::roll>,
         .value_name = "WORD",
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

} // namespace rekindle::trainer::rows
