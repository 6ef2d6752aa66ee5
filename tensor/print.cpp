#include "tensor/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <sstream>
#include <vector>

namespace heed {
namespace {

/// The indices of a dimension that are shown; -1 stands for the dots.
std::vector<int64_t> shown(int64_t size, bool summary, int64_t edge) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size; ++i) {
    if (summary && size > 2 * edge && i == edge) {
      indices.push_back(-1);
      i = size - edge;
    }
    if (i < size) {
      indices.push_back(i);
    }
  }
  return indices;
}

/// The elements that are shown, in order.
template <typename T>
void collect(
    const Tensor& x, bool summary, int64_t edge, std::vector<T>& values) {
  if (x.dim() == 0) {
    values.push_back(x.item<T>());
    return;
  }
  for (int64_t i : shown(x.size(0), summary, edge)) {
    if (i >= 0) {
      collect(x[i], summary, edge, values);
    }
  }
}

template <typename T, typename... Format>
std::string characters(T value, Format... format) {
  char buffer[512];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, format...).ptr;
  return std::string(buffer, end);
}

std::string padded(std::string text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

/// The digits behind the point (after it, before any exponent).
size_t fraction_size(const std::string& text) {
  const size_t point = text.find('.');
  return std::min(text.find('e'), text.size()) - point - 1;
}

/// Writes floating numbers of one tensor alike.
template <typename T>
class FloatFormat {
 public:
  FloatFormat(const std::vector<T>& values, const PrintOptions& options)
      : precision_(std::clamp(options.precision, 0, 64)) {
    T largest = 0;
    T smallest = std::numeric_limits<T>::infinity();
    for (T v : values) {
      if (std::isfinite(v) && v != 0) {
        largest = std::max(largest, std::fabs(v));
        smallest = std::min(smallest, std::fabs(v));
      }
    }
    scientific_ =
        largest >= T(1e8) ||
        (largest > 0 && (smallest < T(1e-4) || largest / smallest > 1000));
    size_t other = 0;
    for (T v : values) {
      const std::string text = written(v);
      if (!std::isfinite(v)) {
        other = std::max(other, text.size());
        continue;
      }
      fraction_ = std::max(fraction_, fraction_size(text));
      left_ = std::max(left_, text.find('.'));
      if (scientific_) {
        exponent_ = std::max(exponent_, text.size() - text.find('e'));
      }
    }
    const size_t right = 1 + fraction_ + exponent_;
    left_ = std::max(left_, other - std::min(other, right));
    width_ = left_ + right;
  }

  std::string operator()(T value) const {
    std::string text = written(value);
    if (!std::isfinite(value)) {
      return padded(text, width_);
    }
    const size_t missing = fraction_ - fraction_size(text);
    if (scientific_) {
      text.insert(text.find('e'), missing, '0');
    } else {
      text.append(missing, ' ');
    }
    return padded(text, width_);
  }

 private:
  // With a point, and no zeros at the end of the fraction.
  std::string written(T value) const {
    if (std::isnan(value)) {
      return "nan";
    }
    if (std::isinf(value)) {
      return value < 0 ? "-inf" : "inf";
    }
    const auto style =
        scientific_ ? std::chars_format::scientific : std::chars_format::fixed;
    std::string text = characters(value, style);
    if (text.find('.') == std::string::npos) {
      text.insert(std::min(text.find('e'), text.size()), 1, '.');
    }
    if (fraction_size(text) > static_cast<size_t>(precision_)) {
      text = characters(value, style, precision_);
      if (text.find('.') == std::string::npos) {
        text.insert(std::min(text.find('e'), text.size()), 1, '.');
      }
      size_t end = std::min(text.find('e'), text.size());
      while (text[end - 1] == '0') {
        text.erase(--end, 1);
      }
    }
    return text;
  }

  int precision_;
  bool scientific_ = false;
  size_t left_ = 0;      // of the point
  size_t fraction_ = 0;  // digits right of the point
  size_t exponent_ = 0;  // as in e-05
  size_t width_ = 0;
};

/// Writes integers or bools of one tensor alike.
template <typename T>
class PlainFormat {
 public:
  PlainFormat(const std::vector<T>& values, const PrintOptions&) {
    for (T v : values) {
      width_ = std::max(width_, written(v).size());
    }
  }
  std::string operator()(T value) const {
    return padded(written(value), width_);
  }

 private:
  static std::string written(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else {
      return characters(value);
    }
  }
  size_t width_ = 0;
};

/// Brackets around rows, as NumPy's array2string sets them.
template <typename T, typename Format>
class Layout {
 public:
  Layout(const Format& format, const PrintOptions& options, bool summary)
      : format_(format), options_(options), summary_(summary) {}

  /// `indent` stands in front of each line but the first; `width` characters
  /// may be used.
  std::string write(
      const Tensor& x, const std::string& indent, int64_t width) const {
    if (x.dim() == 0) {
      return format_(x.item<T>());
    }
    std::string text = "[";
    text += x.dim() == 1 ? row(x, indent, width) : block(x, indent, width);
    text += ']';
    return text;
  }

 private:
  std::string row(
      const Tensor& x, const std::string& indent, int64_t width) const {
    const std::vector<int64_t> indices =
        shown(x.size(0), summary_, options_.edge_items);
    std::string text;
    size_t used = indent.size();
    for (size_t i = 0; i < indices.size(); ++i) {
      const std::string word =
          indices[i] < 0 ? "..." : format_(x[indices[i]].item<T>());
      if (i > 0) {
        // One character is left for the comma or bracket that follows.
        const bool fits = static_cast<int64_t>(used + 2 + word.size()) < width;
        text += fits ? ", " : ",\n" + indent;
        used = fits ? used + 2 : indent.size();
      }
      text += word;
      used += word.size();
    }
    return text;
  }

  std::string block(
      const Tensor& x, const std::string& indent, int64_t width) const {
    std::string separator(1, ',');
    separator.append(x.dim() - 1, '\n').append(indent);
    std::string text;
    for (int64_t i : shown(x.size(0), summary_, options_.edge_items)) {
      text += text.empty() ? "" : separator;
      text += i < 0 ? "..." : write(x[i], indent + " ", width - 1);
    }
    return text;
  }

  const Format& format_;
  const PrintOptions& options_;
  bool summary_;
};

constexpr std::string_view kPrefix = "tensor(";

template <typename T>
std::string numbers(
    const Tensor& x, const PrintOptions& options, bool summary) {
  using Format = std::conditional_t<
      std::is_floating_point_v<T>,
      FloatFormat<T>,
      PlainFormat<T>>;
  std::vector<T> values;
  collect(x, summary, options.edge_items, values);
  const Format format(values, options);
  return Layout<T, Format>(format, options, summary)
      .write(x, std::string(kPrefix.size() + 1, ' '), options.line_width);
}

}  // namespace

std::string to_string(
    const Tensor& x, const PrintOptions& options, std::string_view notes) {
  if (!x.defined()) {
    return "tensor(undefined)";
  }
  if (options.edge_items < 1) {
    fail("to_string", "edge_items must be positive, got ", options.edge_items);
  }
  const bool summary = x.numel() > options.threshold;
  std::ostringstream suffix;
  if (summary || (x.numel() == 0 && x.dim() != 1)) {
    suffix << ", shape=" << x.shape();
  }
  if (x.dtype() == kFloat64 || (x.numel() == 0 && x.dtype() != kFloat32)) {
    suffix << ", dtype=" << x.dtype();
  }
  suffix << notes << ")";

  std::string text(kPrefix);
  if (x.numel() == 0) {
    text += "[]";
  } else {
    text += visit_dtype(x.dtype(), [&]<typename T>(TypeTag<T>) {
      return numbers<T>(x, options, summary);
    });
  }
  // A suffix too long for the last line goes to one of its own.
  std::string end = suffix.str();
  const size_t line = text.size() - (text.rfind('\n') + 1);
  if (end.size() > 1 &&
      static_cast<int64_t>(line + end.size()) > options.line_width) {
    text.append(",\n").append(kPrefix.size(), ' ');
    end.erase(0, 2);
  }
  return text + end;
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  return out << to_string(x);
}

}  // namespace heed
