#include "examples/heat_map.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace examples {
namespace {

constexpr int kCell = 18;
constexpr int kGap = 26;
constexpr int kTitle = 20;    // height of a map's title line
constexpr int kLetter = 7;    // width a letter takes at most
constexpr int kHeading = 11;  // the same in the heading's larger type

std::string escaped(const std::string& text) {
  std::string safe;
  for (char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

// From white over blue to a dark blue, so that small weights can be seen.
std::string color_of(double weight) {
  const double w = std::clamp(std::isnan(weight) ? 0.0 : weight, 0.0, 1.0);
  const double t = std::sqrt(w);
  const auto mix = [t](double from, double to) {
    return static_cast<int>(std::lround(from + t * (to - from)));
  };
  char text[16];
  std::snprintf(
      text,
      sizeof text,
      "#%02x%02x%02x",
      mix(255, 8),
      mix(255, 48),
      mix(255, 107));
  return text;
}

bool continues_letter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;  // in UTF-8
}

size_t letters(const std::string& text) {
  return text.size() - static_cast<size_t>(std::count_if(
                           text.begin(), text.end(), continues_letter));
}

std::string first_letters(const std::string& text, size_t count) {
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (!continues_letter(text[end]) && count-- == 0) {
      break;
    }
  }
  return text.substr(0, end);
}

int width_of(const std::string& text, int letter = kLetter) {
  return letter * static_cast<int>(letters(text));
}

/// Room for labels, left of a map and above it.
int margin_of(const HeatMap& map) {
  int width = 3 * kLetter;
  for (const auto* labels : {&map.row_labels, &map.column_labels}) {
    for (const std::string& label : *labels) {
      width = std::max(width, width_of(label));
    }
  }
  return width + 10;
}

struct Size {
  int width, height;
};

Size size_of(const HeatMap& map) {
  const int margin = margin_of(map);
  const int cells = kCell * static_cast<int>(map.weights.size(1));
  return {
      margin + std::max(cells, width_of(map.title)),
      kTitle + margin + kCell * static_cast<int>(map.weights.size(0))};
}

void draw(std::ostream& out, const HeatMap& map, int x, int y) {
  const std::vector<double> w = map.weights.to_vector<double>();
  const auto rows = static_cast<size_t>(map.weights.size(0));
  const auto columns = static_cast<size_t>(map.weights.size(1));
  const int margin = margin_of(map);
  out << "<g transform=\"translate(" << x << ' ' << y << ")\">\n"
      << "<text class=\"title\" x=\"" << margin << "\" y=\"12\">"
      << escaped(map.title) << "</text>\n";
  const int top = kTitle + margin;
  for (size_t j = 0; j < columns && j < map.column_labels.size(); ++j) {
    const int cx = margin + kCell * static_cast<int>(j) + kCell / 2;
    out << "<text class=\"key\" transform=\"translate(" << cx + 4 << ' '
        << top - 5 << ") rotate(-60)\">" << escaped(map.column_labels[j])
        << "</text>\n";
  }
  for (size_t i = 0; i < rows; ++i) {
    const int cy = top + kCell * static_cast<int>(i);
    if (i < map.row_labels.size()) {
      out << "<text class=\"query\" x=\"" << margin - 5 << "\" y=\"" << cy + 13
          << "\">" << escaped(map.row_labels[i]) << "</text>\n";
    }
    for (size_t j = 0; j < columns; ++j) {
      const double weight = w[i * columns + j];
      char percent[32];
      std::snprintf(percent, sizeof percent, "%.1f %%", 100 * weight);
      out << "<rect x=\"" << margin + kCell * static_cast<int>(j) << "\" y=\""
          << cy << "\" width=\"" << kCell << "\" height=\"" << kCell
          << "\" fill=\"" << color_of(weight) << "\"><title>" << percent
          << "</title></rect>\n";
    }
  }
  out << "</g>\n";
}

}  // namespace

std::string to_terminal(const HeatMap& map) {
  constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
  constexpr size_t kColumn = 9;  // letters wide, a gap included
  const std::vector<double> w = map.weights.to_vector<double>();
  const auto rows = static_cast<size_t>(map.weights.size(0));
  const auto columns = static_cast<size_t>(map.weights.size(1));
  size_t label_width = 0;
  for (const std::string& label : map.row_labels) {
    label_width = std::max(label_width, letters(label));
  }
  std::ostringstream out;
  if (!map.title.empty()) {
    out << map.title << '\n';
  }
  out << std::string(label_width, ' ');
  for (size_t j = 0; j < columns; ++j) {
    const std::string label =
        j < map.column_labels.size()
            ? first_letters(map.column_labels[j], kColumn - 1)
            : "";
    out << std::string(kColumn - letters(label), ' ') << label;
  }
  out << '\n';
  for (size_t i = 0; i < rows; ++i) {
    const std::string label =
        i < map.row_labels.size() ? map.row_labels[i] : "";
    out << std::string(label_width - letters(label), ' ') << label;
    for (size_t j = 0; j < columns; ++j) {
      const double weight = std::clamp(w[i * columns + j], 0.0, 1.0);
      const auto shade =
          static_cast<size_t>(std::lround(4 * std::sqrt(weight)));
      char percent[16];
      std::snprintf(percent, sizeof percent, "%3.0f%%", 100 * weight);
      out << "   " << kShades[shade] << kShades[shade] << percent;
    }
    out << '\n';
  }
  return out.str();
}

std::string to_svg(
    const std::string& title, const std::vector<HeatMap>& maps, int columns) {
  constexpr int kEdge = 16;
  constexpr int kHeadingLine = 34;
  std::ostringstream body;
  int width = 2 * kEdge + width_of(title, kHeading);
  int y = kEdge + kHeadingLine;
  for (size_t first = 0; first < maps.size();) {
    const size_t last =
        std::min(maps.size(), first + static_cast<size_t>(columns));
    int x = kEdge;
    int height = 0;
    for (; first < last; ++first) {
      const Size size = size_of(maps[first]);
      draw(body, maps[first], x, y);
      x += size.width + kGap;
      height = std::max(height, size.height);
    }
    width = std::max(width, x - kGap + kEdge);
    y += height + kGap;
  }
  const int height = y - kGap + kEdge;
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width
      << "\" height=\"" << height << "\" viewBox=\"0 0 " << width << ' '
      << height << "\">\n"
      << "<style>text { font: 11px sans-serif; fill: #222 }"
         " .heading { font-size: 16px; font-weight: bold }"
         " .title { font-weight: bold } .query { text-anchor: end }"
         " rect { stroke: #e4e4e4; stroke-width: 0.5 }</style>\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      << "<text class=\"heading\" x=\"" << kEdge << "\" y=\"" << kEdge + 14
      << "\">" << escaped(title) << "</text>\n"
      << body.str() << "</svg>\n";
  return out.str();
}

}  // namespace examples
