#pragma once
/// What a line of text belongs to, by its words alone: not by what the knowledge says about it.

#include "host_matrix.h"

#include <memory>
#include <re2/re2.h>
#include <string>
#include <vector>

namespace rekindle::doctor::fixtures {

/// The hosts on which a text with these words may appear.
struct Belonging {
    Belonging(const char* named, const char* text, bool (*where)(const MatrixHost& host))
        : what(named), pattern(std::make_shared<RE2>(text)), fits(where) {}

    std::string what;
    std::shared_ptr<RE2> pattern;
    bool (*fits)(const MatrixHost& host);
};

/// Of commands.
const std::vector<Belonging>& belongings();
/// Of questions and checks, which name things in words, too.
const std::vector<Belonging>& belongings_of_questions();

/// Those of `all` whose words are in a line. The same lines occur on many hosts, so each is matched once.
const std::vector<const Belonging*>& belongings_of(const std::string& line,
                                                   const std::vector<Belonging>& all = belongings());

} // namespace rekindle::doctor::fixtures
