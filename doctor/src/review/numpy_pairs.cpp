#include "numpy_pairs.h"

#include "container_files.h"
#include "facts/versions.h"
#include "lines.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <optional>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

/// Whether the whole document is a list of requirements.
bool is_requirements(const std::vector<Line>& lines) {
    static const RE2 requirement(
        "^[A-Za-z0-9][\\w.-]*(\\[[\\w, -]+\\])?\\s*([=<>~!]=?.*|;.*|@.*)?(\\s+#.*)?$");
    std::size_t requirements = 0;
    for (const Line& line : lines) {
        const std::string_view text = trim(line.text);
        if (text.empty() || text.front() == '#' || text.starts_with("--") || text.starts_with("-r "))
            continue;
        if (!RE2::FullMatch(piece(text), requirement))
            return false;
        ++requirements;
    }
    return requirements > 1;
}

/// Collects the requirements that are installed together, and judges them when the next part begins.
class PairReader {
  public:
    PairReader(std::string_view document, const Knowledge& knowledge, std::vector<Found>& found)
        : lines_(lines_of(document)), kind_(container_file_in(document)),
          requirements_(kind_ == ContainerFile::none && is_requirements(lines_)), knowledge_(knowledge),
          found_(found) {}

    void read() {
        for (const Line& line : lines_)
            take(line);
        finish();
    }

  private:
    struct Place {
        Line line;
        std::string_view text;
        std::string version;
    };

    void take(const Line& line) {
        static const RE2 command(
            "\\b(pip3?|uv|conda|mamba|micromamba|poetry|pipenv)\\b.*\\b(install|add|create)\\b");
        const std::string_view text = trim(line.text);
        if (text.starts_with("```") || text.starts_with("~~~")) {
            finish();
            fenced_ = !fenced_;
            return;
        }
        const bool dockerfile = kind_ == ContainerFile::dockerfile;
        const bool block = fenced_ || dockerfile || requirements_ || kind_ == ContainerFile::compose;
        if (text.starts_with("FROM ") || begins_service(line, text))
            finish();
        if (text.empty() && !block)
            finish();
        if (text.starts_with('#'))
            return;
        const bool installs = continued_ || RE2::PartialMatch(piece(text), command);
        continued_ = installs && text.ends_with('\\');
        if (block || installs)
            read_versions(line);
    }

    /// Whether the line names a service of a compose file.
    bool begins_service(const Line& line, std::string_view text) {
        const std::size_t depth = indentation(line.text);
        if (text == "services:") {
            services_depth_ = depth;
            service_depth_ = 0;
            return false;
        }
        if (!services_depth_ || text.empty() || text.starts_with('#'))
            return false;
        if (depth <= *services_depth_) {
            services_depth_.reset();
            return true;
        }
        if (service_depth_ == 0)
            service_depth_ = depth;
        return depth == service_depth_;
    }

    void read_versions(const Line& line) {
        static const RE2 torch(
            "(?:^|[\\s\"'`,])(?:py)?torch(?:\\[[^\\]]*\\])?\\s?(?:==|~=|=)\\s?(\\d+(?:\\.\\d+)+)");
        static const RE2 image("\\bpytorch/pytorch:(\\d+\\.\\d+\\.\\d+)-");
        static const RE2 numpy(
            "(?:^|[\\s\"'`,])(numpy\\s?(==|~=|>=|<=|=|<|>)\\s?(\\d+(?:\\.\\d+)*)[^\\s\"'`;]*)");
        re2::StringPiece rest = piece(line.text);
        std::string version;
        if (RE2::PartialMatch(rest, torch, &version) || RE2::PartialMatch(rest, image, &version))
            torch_ = version;
        re2::StringPiece whole;
        std::string comparison;
        while (RE2::FindAndConsume(&rest, numpy, &whole, &comparison, &version)) {
            const bool lowest = comparison.find('<') == std::string::npos;
            numpy_ =
                lowest ? std::optional(Place{line, {whole.data(), whole.size()}, version}) : std::nullopt;
        }
    }

    const TorchRelease* release() const {
        for (const TorchRelease& one : knowledge_.torch_releases)
            if (same_release(one.torch, torch_))
                return &one;
        return nullptr;
    }

    void finish() {
        const TorchRelease* torch = torch_.empty() ? nullptr : release();
        if (torch != nullptr && numpy_ && !torch->numpy.empty() &&
            version_in(numpy_->version, torch->numpy) == false)
            mark_numpy(*torch);
        numpy_.reset();
        torch_.clear();
    }

    void mark_numpy(const TorchRelease& torch) {
        std::string newer;
        for (const TorchRelease& one : knowledge_.torch_releases)
            if (newer.empty() && one.numpy.empty())
                newer = one.torch;
        Found one;
        one.begin =
            numpy_->line.begin + static_cast<std::size_t>(numpy_->text.data() - numpy_->line.text.data());
        one.end = one.begin + numpy_->text.size();
        one.mark = {
            numpy_->line.number,
            "version pair",
            printable(numpy_->text, mark_text_limit),
            Verdict::wrong,
            fmt::format("torch {} was compiled for numpy{}: with this one, tensors cannot be converted to or "
                        "from arrays (\"Numpy is not available\"). Use \"numpy{}\", or torch {} or later.",
                        torch_, torch.numpy, torch.numpy, newer),
            torch.evidence};
        found_.push_back(std::move(one));
    }

    std::vector<Line> lines_;
    ContainerFile kind_;
    bool requirements_;
    const Knowledge& knowledge_;
    std::vector<Found>& found_;
    bool fenced_ = false;
    bool continued_ = false;
    std::optional<std::size_t> services_depth_; ///< indentation of "services:", while inside
    std::size_t service_depth_ = 0;
    std::string torch_;
    std::optional<Place> numpy_;
};

} // namespace

void mark_numpy_pairs(std::string_view document, const Knowledge& knowledge, std::vector<Found>& found) {
    PairReader(document, knowledge, found).read();
}

} // namespace rekindle::doctor
