#pragma once
/// The knowledge as documentation pages.

#include <rekindle/doctor/knowledge.h>

#include <map>
#include <string>

namespace rekindle::doctor {

/// Path below docs/ → content in Markdown: every cause, signature, variable, remedy, claim, GPU and wheel
/// index with its evidence and the date it was checked. The same knowledge gives the same bytes; the order of
/// its files does not matter.
std::map<std::string, std::string> knowledge_pages(const Knowledge& knowledge);

/// reference/distributions.md, which is committed: what each release of a Linux distribution ships.
std::map<std::string, std::string> committed_knowledge_pages(const Knowledge& knowledge);

} // namespace rekindle::doctor
