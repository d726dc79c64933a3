#pragma once
/// Judges the statements of documents and scripts; explains error messages, variables, version pairs.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

enum class Verdict { holds, wrong, harmful, no_effect, unknown };

/// One thing in a document that can be checked.
struct Mark {
    std::size_t line = 0; ///< from 1
    std::string kind;     ///< "variable", "version pair", "image", "gfx target", "command", "claim",
                          ///< "container"
    std::string text;     ///< as written in the document
    Verdict verdict = Verdict::unknown;
    std::string reason; ///< one or two sentences, with the correct information
    std::vector<Backing> evidence;
};

/// Everything that can be checked in a document or script, in the order of its lines. Text of any size and
/// content. A document that names no GPU is read as being about those of `host`, where that is given.
std::vector<Mark> review_document(std::string_view text, const Knowledge& knowledge,
                                  const Facts* host = nullptr);

/// What the doctor knows about an error message, variable, gfx target, GPU name, cause, remedy or claim, as
/// paragraphs of plain text, each with its evidence; empty when nothing is known.
std::vector<std::string> explain(std::string_view term, const Knowledge& knowledge);

/// A row of torch × index × gfx × Python.
struct MatrixRow {
    std::string torch;
    std::string index;
    std::string url;
    std::vector<std::string> python;
    std::string torchvision; ///< version that goes with this torch; "" where it is not recorded
    std::string torchaudio;
    std::vector<std::string> systems; ///< "linux", "windows"; empty: not recorded
    bool contains = false;            ///< the wheel has code for the gfx
    std::string by_override; ///< "HSA_OVERRIDE_GFX_VERSION=10.3.0 (safe: …)" where the wheel does not contain
                             ///< it and an override works
    std::string note;
    std::string checked;
    std::vector<Backing> evidence;
};
/// Newest torch first. With an empty gfx: all rows, and `contains` has no meaning.
std::vector<MatrixRow> support_matrix(std::string_view gfx, const Knowledge& knowledge);

/// A way to train, with its cost.
struct Option {
    std::string title;
    std::string detail;
    std::string arithmetic; ///< "at 40 h a month and $0.34/h: $13.60 a month; a card of $300 is paid back
                            ///< after 22 months"
    std::vector<Backing> evidence;
    std::string checked;
};
/// The user's figures; 0 means not given. Money is in US dollars.
struct CostFigures {
    double hours_per_month = 0;   ///< training hours: on the CPU if both step times are given, else on a card
    double price = 0;             ///< price of the card
    std::string card = {};        ///< its name as the user wrote it; "" if not given
    std::string price_date = {};  ///< YYYY-MM-DD; "" if not given
    double resale = 0;            ///< what the card will be sold for
    double watts = 0;             ///< power of the computer while it trains on the card
    double per_kilowatt_hour = 0; ///< price of electricity
    double cpu_step = 0;          ///< seconds of one training step on the CPU
    double card_step = 0;         ///< seconds of the same step on the card

    /// Training hours per month on a card.
    double card_hours() const noexcept {
        return cpu_step > 0 && card_step > 0 ? hours_per_month * card_step / cpu_step : hours_per_month;
    }
    double electricity_per_hour() const noexcept { return watts / 1000 * per_kilowatt_hour; }
};
/// Sets the price from "650", "650@2026-11-01" or "rx7900xt=650@2026-11-01". Throws usage_error.
void read_card_price(std::string_view text, CostFigures& figures);
/// What this user can do, free options first. Without a price or hours no break-even is computed.
std::vector<Option> alternatives(const Facts& facts, const Knowledge& knowledge, const CostFigures& figures);

} // namespace rekindle::doctor
