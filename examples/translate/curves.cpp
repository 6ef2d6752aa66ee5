#include "examples/translate/curves.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "examples/output_file.h"

namespace translate {
namespace {

using Record = TrainingLog::Record;

struct Point {
  double x, y;
};

struct Curve {
  std::string name;
  std::string color;
  std::vector<Point> points;
};

struct Panel {
  std::string title;
  std::vector<Curve> curves;
};

constexpr int kWidth = 640;   // of the plotted area
constexpr int kHeight = 220;  // likewise
constexpr int kLeft = 56;
constexpr int kTop = 44;
constexpr int kBetween = 72;  // from one panel's area to the next
constexpr int kRight = 24;
constexpr int kBottom = 48;  // below the last panel's area

std::vector<Point> points_of(
    const std::vector<Record>& records, const char* key) {
  std::vector<Point> points;
  for (const Record& record : records) {
    if (record.contains(key) && record[key].is_number()) {
      points.push_back(
          {record["step"].get<double>(), record[key].get<double>()});
    }
  }
  return points;
}

// 1, 2 or 5 times a power of ten: about `count` of them make `range`.
double round_step(double range, int count) {
  const double rough = range / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double part = rough / power;
  return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

void draw(std::ostream& out, const Panel& panel, double last_step, int top) {
  double low = 0;
  double high = 1;
  for (const Curve& curve : panel.curves) {
    for (const Point& point : curve.points) {
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  const double y_step = round_step(high - low, 5);
  high = y_step * std::ceil(high / y_step + 1e-9);
  const double x_step = round_step(last_step, 6);
  const auto x_of = [&](double x) { return kLeft + kWidth * x / last_step; };
  const auto y_of = [&](double y) {
    return top + kHeight * (high - y) / (high - low);
  };
  for (double y = low; y <= high + 1e-9 * y_step; y += y_step) {
    out << "<line class=\"grid\" x1=\"" << kLeft << "\" x2=\"" << kLeft + kWidth
        << "\" y1=\"" << coordinate(y_of(y)) << "\" y2=\""
        << coordinate(y_of(y)) << "\"/>\n<text class=\"left\" x=\"" << kLeft - 6
        << "\" y=\"" << coordinate(y_of(y) + 4) << "\">" << number(y)
        << "</text>\n";
  }
  for (double x = 0; x <= last_step * (1 + 1e-9); x += x_step) {
    out << "<text class=\"below\" x=\"" << coordinate(x_of(x)) << "\" y=\""
        << top + kHeight + 16 << "\">" << number(x) << "</text>\n";
  }
  out << "<text class=\"title\" x=\"" << kLeft << "\" y=\"" << top - 12 << "\">"
      << panel.title << "</text>\n";
  int legend = kLeft + kWidth;
  for (const Curve& curve : panel.curves) {
    legend -= 8 * static_cast<int>(curve.name.size()) + 26;
  }
  for (const Curve& curve : panel.curves) {
    out << "<line class=\"curve\" x1=\"" << legend << "\" x2=\"" << legend + 16
        << "\" y1=\"" << top - 16 << "\" y2=\"" << top - 16 << "\" stroke=\""
        << curve.color << "\"/>\n<text x=\"" << legend + 20 << "\" y=\""
        << top - 12 << "\">" << curve.name << "</text>\n";
    legend += 8 * static_cast<int>(curve.name.size()) + 26;
    if (!curve.points.empty()) {
      out << "<polyline class=\"curve\" stroke=\"" << curve.color
          << "\" points=\"";
      for (const Point& point : curve.points) {
        out << coordinate(x_of(point.x)) << ',' << coordinate(y_of(point.y))
            << ' ';
      }
      const Point& last = curve.points.back();
      out << "\"/>\n<circle cx=\"" << coordinate(x_of(last.x)) << "\" cy=\""
          << coordinate(y_of(last.y)) << "\" r=\"2.5\" fill=\"" << curve.color
          << "\"><title>" << curve.name << " " << number(last.y)
          << "</title></circle>\n";
    }
  }
}

}  // namespace

void draw_curves(
    const std::string& path,
    const std::vector<Record>& records,
    double label_smoothing) {
  double last_step = 1;
  for (const Record& record : records) {
    last_step = std::max(last_step, record["step"].get<double>());
  }
  const std::string training =
      label_smoothing > 0
          ? "training, label smoothing " + number(label_smoothing)
          : "training";
  const std::vector<Panel> panels = {
      {"Loss a token",
       {{training, "#9aa5b1", points_of(records, "loss")},
        {"validation", "#0b4f8a", points_of(records, "valid_loss")}}},
      {"Validation BLEU, greedy",
       {{"BLEU", "#b5541c", points_of(records, "valid_bleu")}}}};
  const int width = kLeft + kWidth + kRight;
  const int height = kTop +
                     static_cast<int>(panels.size()) * (kHeight + kBetween) -
                     kBetween + kBottom;
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width
      << "\" height=\"" << height << "\" viewBox=\"0 0 " << width << ' '
      << height << "\">\n"
      << "<style>text { font: 12px sans-serif; fill: #333 }"
         " .title { font-weight: bold } .left { text-anchor: end }"
         " .below { text-anchor: middle } .grid { stroke: #e4e4e4 }"
         " .curve { fill: none; stroke-width: 1.6 }</style>\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  int top = kTop;
  for (const Panel& panel : panels) {
    draw(out, panel, last_step, top);
    top += kHeight + kBetween;
  }
  out << "<text class=\"below\" x=\"" << kLeft + kWidth / 2 << "\" y=\""
      << height - 14 << "\">updates</text>\n</svg>\n";
  examples::write_file(path, out.str());
}

}  // namespace translate
