#include "html.h"
#include "scene.h"

namespace rekindle::trainer {

namespace {

const char* class_of(Ink ink) {
    switch (ink) {
    case Ink::text:
        return "c-text";
    case Ink::muted:
        return "c-muted";
    case Ink::ground:
        return "c-ground";
    case Ink::grid:
        return "c-grid";
    case Ink::axis:
        return "c-axis";
    case Ink::rule:
        return "c-rule";
    case Ink::band:
        return "c-band";
    case Ink::series:
        return "c-s";
    }
    return "";
}

std::string class_of(Ink ink, int style) {
    return ink == Ink::series ? "c-s" + std::to_string(style % style_count) : class_of(ink);
}

class SvgWriter {
  public:
    explicit SvgWriter(std::string& out) : out_(out) {}

    void operator()(const Polyline& line) {
        out_ += "<path class=\"l " + class_of(line.ink, line.style) +
                (line.weight == Weight::strong   ? " w2"
                 : line.weight == Weight::normal ? " w1"
                                                 : "") +
                '"';
        const std::vector<double> dashes = line.dashed ? dashes_of(line.style) : std::vector<double>();
        if (!dashes.empty()) {
            out_ += " stroke-dasharray=\"";
            for (const double dash : dashes)
                out_ += coordinate(dash) + ' ';
            out_.back() = '"';
        }
        out_ += " d=\"";
        char operation = 'M';
        for (const Point& point : line.points) {
            out_ += operation;
            out_ += coordinate(point.x) + ' ' + coordinate(point.y);
            operation = 'L';
        }
        out_ += "\"/>";
    }

    void operator()(const Box& box) {
        out_ += "<rect class=\"f " + class_of(box.ink, box.style) + (box.pale ? " p" : "") + "\" x=\"" +
                coordinate(box.x) + "\" y=\"" + coordinate(box.y) + "\" width=\"" + coordinate(box.width) +
                "\" height=\"" + coordinate(box.height) + "\"/>";
    }

    void operator()(const Marker& marker) {
        const std::string classes =
            "f c-s" + std::to_string(marker.style % style_count) + (marker.pale ? " p" : "");
        const std::string x = coordinate(marker.at.x), y = coordinate(marker.at.y);
        switch (marker.style % 3) {
        case 0:
            out_ += "<circle class=\"" + classes + "\" cx=\"" + x + "\" cy=\"" + y + "\" r=\"" +
                    (marker.pale ? "2" : "4") + "\"/>";
            break;
        case 1:
            out_ += "<path class=\"" + classes + "\" d=\"M" + x + ' ' + coordinate(marker.at.y - 5) +
                    "l5 5l-5 5l-5-5z\"/>";
            break;
        default:
            out_ += "<path class=\"" + classes + "\" d=\"M" + coordinate(marker.at.x - 4) + ' ' +
                    coordinate(marker.at.y - 4) + "h8v8h-8z\"/>";
        }
    }

    void operator()(const Text& text) {
        out_ += "<text class=\"";
        out_ += class_of(text.ink);
        if (text.font == Font::title)
            out_ += " t";
        if (text.anchor != Anchor::start)
            out_ += text.anchor == Anchor::middle ? " m" : " e";
        out_ += "\" x=\"" + coordinate(text.at.x) + "\" y=\"" + coordinate(text.at.y) + "\">" +
                escaped(text.text) + "</text>";
    }

  private:
    std::string& out_;
};

} // namespace

std::string render_svg(const Chart& chart, int width, int height) {
    const Scene scene = lay_out(chart, width, height);
    std::string out = "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 " + std::to_string(width) + ' ' +
                      std::to_string(height) + "\" preserveAspectRatio=\"xMidYMid meet\">";
    out += "<title>" + escaped(chart.title) + "</title>";
    if (!chart.description.empty())
        out += "<desc>" + escaped(chart.description) + "</desc>";
    SvgWriter writer(out);
    for (const Shape& shape : scene.shapes)
        std::visit(writer, shape);
    return out + "</svg>";
}

} // namespace rekindle::trainer
