#include "scene.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/chart.h>

#include <agg2/agg_conv_dash.h>
#include <agg2/agg_conv_stroke.h>
#include <agg2/agg_ellipse.h>
#include <agg2/agg_embedded_raster_fonts.h>
#include <agg2/agg_glyph_raster_bin.h>
#include <agg2/agg_path_storage.h>
#include <agg2/agg_pixfmt_rgb.h>
#include <agg2/agg_rasterizer_scanline_aa.h>
#include <agg2/agg_renderer_base.h>
#include <agg2/agg_renderer_raster_text.h>
#include <agg2/agg_renderer_scanline.h>
#include <agg2/agg_rendering_buffer.h>
#include <agg2/agg_scanline_u.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <png.h>

namespace rekindle::trainer {

namespace {

using PixelFormat = agg::pixfmt_rgb24;
using Base = agg::renderer_base<PixelFormat>;
using Glyphs = agg::glyph_raster_bin<agg::rgba8>;

constexpr int bytes_per_pixel = 3;

// Okabe and Ito's palette for every kind of color vision, without its yellow, which is too light on white.
constexpr std::array<std::array<unsigned, 3>, style_count> palette{
    {{0, 114, 178}, {213, 94, 0}, {0, 158, 115}, {204, 121, 167}, {90, 90, 90}, {86, 180, 233}}};

agg::rgba8 color_of(Ink ink, int style, bool pale) {
    switch (ink) {
    case Ink::text:
        return {28, 32, 38};
    case Ink::muted:
        return {92, 100, 112};
    case Ink::ground:
        return {255, 255, 255};
    case Ink::grid:
        return {229, 232, 236};
    case Ink::axis:
        return {150, 156, 166};
    case Ink::rule:
        return {70, 76, 86};
    case Ink::band:
        return {238, 242, 247};
    case Ink::series:
        break;
    }
    const auto& rgb = palette[static_cast<std::size_t>(style % style_count)];
    return {rgb[0], rgb[1], rgb[2], pale ? 110U : 255U};
}

const agg::int8u* font_of(Font font) {
    return font == Font::title ? agg::verdana13_bold : agg::verdana12;
}

/// The fonts have only ASCII; the few other characters are replaced by ASCII spellings.
std::string ascii(const std::string& text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte >= 0x20 && byte < 0x7f) {
            result.push_back(text[i]);
        } else if (byte >= 0xc0) {
            const std::string_view rest = std::string_view(text).substr(i);
            result += rest.starts_with("\u00b2")                                 ? "^2"
                      : rest.starts_with("\u2212") || rest.starts_with("\u2013") ? "-"
                      : rest.starts_with("\u00b7")                               ? "*"
                                                                                 : "?";
        }
    }
    return result;
}

class Painter {
  public:
    explicit Painter(Base& base) : base_(base) {}
    void offset(double x) { offset_ = x; }

    void operator()(const Polyline& line) {
        agg::path_storage path;
        for (std::size_t i = 0; i < line.points.size(); ++i) {
            // Hair lines sit on pixels, so that they stay one pixel wide.
            const bool hair = line.weight == Weight::hair;
            const double x = offset_ + (hair ? std::floor(line.points[i].x) + 0.5 : line.points[i].x);
            const double y = hair ? std::floor(line.points[i].y) + 0.5 : line.points[i].y;
            i == 0 ? path.move_to(x, y) : path.line_to(x, y);
        }
        const double width = line.weight == Weight::strong ? 2 : line.weight == Weight::normal ? 1.25 : 1;
        const agg::rgba8 color = color_of(line.ink, line.style, false);
        const std::vector<double> dashes = line.dashed ? dashes_of(line.style) : std::vector<double>();
        if (dashes.empty()) {
            stroke(path, width, color);
        } else {
            agg::conv_dash<agg::path_storage> dashed(path);
            for (std::size_t i = 0; i + 1 < dashes.size(); i += 2)
                dashed.add_dash(dashes[i], dashes[i + 1]);
            stroke(dashed, width, color);
        }
    }

    void operator()(const Box& box) {
        agg::path_storage path;
        const double x = offset_ + box.x;
        path.move_to(x, box.y);
        path.line_to(x + box.width, box.y);
        path.line_to(x + box.width, box.y + box.height);
        path.line_to(x, box.y + box.height);
        path.close_polygon();
        fill(path, color_of(box.ink, box.style, box.pale));
    }

    void operator()(const Marker& marker) {
        const double x = offset_ + marker.at.x, y = marker.at.y;
        const agg::rgba8 color = color_of(Ink::series, marker.style, marker.pale);
        if (marker.style % 3 == 0) {
            const double radius = marker.pale ? 2 : 4;
            agg::ellipse circle(x, y, radius, radius, 24);
            fill(circle, color);
            return;
        }
        agg::path_storage path;
        const bool diamond = marker.style % 3 == 1;
        path.move_to(x, y - (diamond ? 5 : 4));
        if (diamond) {
            path.line_to(x + 5, y);
            path.line_to(x, y + 5);
            path.line_to(x - 5, y);
        } else {
            path.line_to(x + 4, y - 4);
            path.line_to(x + 4, y + 4);
            path.line_to(x - 4, y + 4);
            path.line_to(x - 4, y - 4);
        }
        path.close_polygon();
        fill(path, color);
    }

    void operator()(const Text& text) {
        const std::string content = ascii(text.text);
        Glyphs glyphs(font_of(text.font));
        const double width = glyphs.width(content.c_str());
        double x = offset_ + text.at.x;
        if (text.anchor != Anchor::start)
            x -= text.anchor == Anchor::middle ? width / 2 : width;
        agg::renderer_raster_htext_solid<Base, Glyphs> renderer(base_, glyphs);
        renderer.color(color_of(text.ink, 0, false));
        renderer.render_text(std::round(x), std::round(text.at.y), content.c_str(), true);
    }

  private:
    template <class Source>
    void stroke(Source& source, double width, agg::rgba8 color) {
        agg::conv_stroke<Source> line(source);
        line.width(width);
        line.line_join(agg::round_join);
        fill(line, color);
    }

    template <class Source>
    void fill(Source& source, agg::rgba8 color) {
        rasterizer_.reset();
        rasterizer_.add_path(source);
        agg::render_scanlines_aa_solid(rasterizer_, scanline_, base_, color);
    }

    Base& base_;
    double offset_ = 0;
    agg::rasterizer_scanline_aa<> rasterizer_;
    agg::scanline_u8 scanline_;
};

void append_png_bytes(png_structp png, png_bytep data, png_size_t length) {
    static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(data), length);
}

[[noreturn]] void png_failed(png_structp, png_const_charp message) {
    throw internal_error(std::string("cannot encode the image: ") + message);
}

/// libpng with an error handler that throws: no setjmp between C++ objects.
struct PngWriter {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, png_failed, nullptr);
    png_infop info = png ? png_create_info_struct(png) : nullptr;
    PngWriter() = default;
    PngWriter(const PngWriter&) = delete;
    PngWriter& operator=(const PngWriter&) = delete;
    ~PngWriter() { png_destroy_write_struct(&png, &info); }
};

std::string encode_png(const std::vector<unsigned char>& pixels, int width, int height) {
    std::string bytes;
    const PngWriter writer;
    if (!writer.info)
        throw internal_error("libpng is out of memory");
    png_set_write_fn(writer.png, &bytes, append_png_bytes, nullptr);
    png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
                 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(writer.png, 4);
    png_set_filter(writer.png, 0, PNG_FILTER_NONE); // flat areas compress best, and fastest, as they are
    png_write_info(writer.png, writer.info);
    for (int row = 0; row < height; ++row)
        png_write_row(
            writer.png,
            &pixels[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) * bytes_per_pixel]);
    png_write_end(writer.png, writer.info);
    return bytes;
}

} // namespace

double text_width(const std::string& text, Font font) {
    return Glyphs(font_of(font)).width(ascii(text).c_str());
}

void write_png(const std::filesystem::path& path, std::span<const Chart> charts, int width, int height) {
    const int total = width * static_cast<int>(std::max<std::size_t>(1, charts.size()));
    std::vector<unsigned char> pixels(static_cast<std::size_t>(total) * static_cast<std::size_t>(height) *
                                      bytes_per_pixel);
    agg::rendering_buffer buffer(pixels.data(), static_cast<unsigned>(total), static_cast<unsigned>(height),
                                 total * bytes_per_pixel);
    PixelFormat format(buffer);
    Base base(format);
    base.clear(agg::rgba8(255, 255, 255));
    Painter painter(base);
    for (std::size_t i = 0; i < charts.size(); ++i) {
        painter.offset(static_cast<double>(i) * width);
        const Scene scene = lay_out(charts[i], width, height);
        for (const Shape& shape : scene.shapes)
            std::visit(painter, shape);
    }
    write_file_atomically(path, encode_png(pixels, total, height));
}

} // namespace rekindle::trainer
