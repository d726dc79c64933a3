#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/embedded.h>

#include <yaml-cpp/yaml.h>

#include <limits>

namespace rekindle::market {
namespace {

constexpr const char* format_name = "rekindle-calendar/1";

/// Reads values from one YAML text; every error names the position.
class CalendarText {
  public:
    explicit CalendarText(const std::string& where) : where_(where) {}

    Error error(const YAML::Mark& mark, const std::string& what) const {
        return usage_error(what).at(mark.is_null() ? where_
                                                   : where_ + ":" + std::to_string(mark.line + 1) + ":" +
                                                         std::to_string(mark.column + 1));
    }
    std::string scalar(const YAML::Node& node, const char* what) const {
        if (!node.IsScalar())
            throw error(node.Mark(), std::string(what) + " is not a plain value").expected("one value");
        return node.Scalar();
    }
    std::int32_t date(const YAML::Node& node, const char* what) const {
        std::int32_t date = 0;
        if (const std::string text = scalar(node, what); !parse_date(text, date))
            throw error(node.Mark(), std::string(what) + " \"" + text + "\" is not a date")
                .expected("YYYY-MM-DD");
        return date;
    }
    int minute(const YAML::Node& node) const {
        const std::string text = scalar(node, "a closing time");
        const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
        if (text.size() == 5 && text[2] == ':' && digit(0) && digit(1) && digit(3) && digit(4)) {
            const int hours = (text[0] - '0') * 10 + text[1] - '0';
            const int minutes = (text[3] - '0') * 10 + text[4] - '0';
            if (hours < 24 && minutes < 60)
                return hours * 60 + minutes;
        }
        throw error(node.Mark(), "closing time \"" + text + "\" is not a time of day").expected("\"HH:MM\"");
    }
    template <class Use>
    void each_date(const YAML::Node& list, const char* what, Use use) const {
        if (list.IsNull())
            return;
        if (!list.IsSequence())
            throw error(list.Mark(), std::string(what) + " is not a list").expected("a list of dates");
        for (const auto& item : list)
            use(date(item, what), item.Mark());
    }

  private:
    const std::string& where_;
};

} // namespace

HolidayCalendar HolidayCalendar::parse(std::string_view yaml, const std::string& where) {
    const CalendarText text(where);
    YAML::Node root;
    try {
        root = YAML::Load(std::string(yaml));
    } catch (const YAML::Exception& exception) {
        throw text.error(exception.mark, "not YAML: " + exception.msg);
    }
    if (!root.IsMap())
        throw usage_error("not a calendar").at(where).expected(std::string("format: ") + format_name);

    HolidayCalendar calendar;
    std::set<std::string> seen;
    const auto check_range = [&](std::int32_t date, const YAML::Mark& mark) {
        if (!calendar.covers(date))
            throw text.error(mark, format_date(date) + " is outside valid_from and valid_to")
                .expected("valid_from and valid_to before the lists, and dates between them");
    };
    for (const auto& entry : root) {
        const std::string key = text.scalar(entry.first, "a key");
        const YAML::Node value = entry.second;
        if (!seen.insert(key).second)
            throw text.error(entry.first.Mark(), "\"" + key + "\" appears twice");
        if (key == "format") {
            if (text.scalar(value, "format") != format_name)
                throw text.error(value.Mark(), "format \"" + value.Scalar() + "\" is not known")
                    .expected(format_name);
        } else if (key == "name") {
            calendar.name_ = text.scalar(value, "name");
        } else if (key == "zone") {
            calendar.zone_ = text.scalar(value, "zone");
            try {
                ZoneClock::load(calendar.zone_);
            } catch (const Error& error) {
                throw text.error(value.Mark(), error.message())
                    .expected(error.expectation())
                    .hint(error.advice());
            }
        } else if (key == "source") {
            calendar.source_ = text.scalar(value, "source");
        } else if (key == "valid_from") {
            calendar.valid_from_ = text.date(value, "valid_from");
        } else if (key == "valid_to") {
            calendar.valid_to_ = text.date(value, "valid_to");
        } else if (key == "checked") {
            calendar.checked_ = text.date(value, "checked");
        } else if (key == "holidays") {
            text.each_date(value, "holiday", [&](std::int32_t date, const YAML::Mark& mark) {
                check_range(date, mark);
                calendar.holidays_.insert(date);
            });
        } else if (key == "half_days") {
            if (!value.IsMap())
                throw text.error(value.Mark(), "half_days is not a map").expected("\"HH:MM\": [dates]");
            for (const auto& half : value) {
                const int close = text.minute(half.first);
                text.each_date(half.second, "half day", [&](std::int32_t date, const YAML::Mark& mark) {
                    check_range(date, mark);
                    if (!calendar.half_days_.emplace(date, close).second)
                        throw text.error(mark, format_date(date) + " is listed twice as a half day");
                });
            }
        } else {
            throw text.error(entry.first.Mark(), "unknown key \"" + key + "\"")
                .expected("format, name, zone, source, valid_from, valid_to, checked, holidays or half_days");
        }
    }
    for (const char* needed : {"format", "name", "source", "valid_from", "valid_to", "checked"})
        if (!seen.contains(needed))
            throw usage_error(std::string("\"") + needed + "\" is missing")
                .at(where)
                .expected("format, name, source, valid_from, valid_to and checked");
    for (const auto& [date, close] : calendar.half_days_)
        if (calendar.holidays_.contains(date))
            throw usage_error(format_date(date) + " is both a holiday and a half day").at(where);
    return calendar;
}

HolidayCalendar HolidayCalendar::load(const std::filesystem::path& path) {
    return parse(read_file(path), path.string());
}

const HolidayCalendar& HolidayCalendar::embedded() {
    static const HolidayCalendar calendar =
        parse(embedded_file("us-cash-equities.yaml"), "embedded us-cash-equities.yaml");
    return calendar;
}

std::optional<HolidayCalendar> HolidayCalendar::named(std::string_view name) {
    static const HolidayCalendar eurex = parse(embedded_file("eurex.yaml"), "embedded eurex.yaml");
    if (name == "us-cash-equities")
        return embedded();
    if (name == "eurex")
        return eurex;
    return name == "none" ? std::optional(none()) : std::nullopt;
}

HolidayCalendar HolidayCalendar::none() {
    HolidayCalendar calendar;
    calendar.name_ = "no calendar";
    calendar.valid_from_ = std::numeric_limits<std::int32_t>::min();
    calendar.valid_to_ = std::numeric_limits<std::int32_t>::max();
    return calendar;
}

std::optional<int> HolidayCalendar::half_day_close(std::int32_t date) const {
    const auto found = half_days_.find(date);
    return found == half_days_.end() ? std::nullopt : std::optional(found->second);
}

bool HolidayCalendar::is_business_day(std::int32_t date) const {
    return weekday_of(date) < 5 && !is_holiday(date);
}

} // namespace rekindle::market
