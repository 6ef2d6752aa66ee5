// The format (numpy.org/doc/stable/reference/generated/numpy.lib.format.html):
// "\x93NUMPY"; the version, two bytes; the length of the header, two bytes in
// version 1 and four in 2 and 3, the lowest first; the header, a dictionary as
// Python writes it,
//
//     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
// that spaces and a line's end may fill up; the elements.

#include "tensor/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "tensor/atomic_file.h"
#include "tensor/error.h"
#include "tensor/input_file.h"
#include "tensor/stored_type.h"

namespace heed {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

constexpr bool kLittleEndian = std::endian::native == std::endian::little;

constexpr std::array<std::pair<std::string_view, StoredType>, 11> kTypes = {{
    {"f2", StoredType::float16},
    {"f4", StoredType::float32},
    {"f8", StoredType::float64},
    {"b1", StoredType::boolean},
    {"i1", StoredType::int8},
    {"i2", StoredType::int16},
    {"i4", StoredType::int32},
    {"i8", StoredType::int64},
    {"u1", StoredType::uint8},
    {"u2", StoredType::uint16},
    {"u4", StoredType::uint32},
}};

struct Header {
  StoredType type = StoredType::float32;
  bool swapped = false;
  bool fortran_order = false;
  Dims shape;
};

/// Takes the dictionary apart from left to right.
class HeaderReader {
 public:
  HeaderReader(const InputFile& file, std::string_view text)
      : file_(file), rest_(text) {}

  Header read() {
    Header header;
    std::set<std::string_view> keys;
    expect("{");
    while (!accept("}")) {
      const std::string_view key = quoted();
      if (!keys.insert(key).second) {
        unexpected();
      }
      expect(":");
      if (key == "descr") {
        read_type(header);
      } else if (key == "fortran_order") {
        header.fortran_order = accept("True");
        if (!header.fortran_order) {
          expect("False");
        }
      } else if (key == "shape") {
        header.shape = read_shape();
      } else {
        unexpected();
      }
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    skip_space();
    if (!rest_.empty() || keys.size() != 3) {
      unexpected();
    }
    return header;
  }

 private:
  void skip_space() {
    rest_.remove_prefix(
        std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool accept(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) {
      return false;
    }
    rest_.remove_prefix(token.size());
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) {
      unexpected();
    }
  }

  std::string_view quoted() {
    const bool is_single = accept("'");
    if (!is_single) {
      expect("\"");
    }
    const size_t length = rest_.find(is_single ? '\'' : '"');
    if (length == std::string_view::npos) {
      unexpected();
    }
    const std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(length + 1);
    return text;
  }

  void read_type(Header& header) {
    skip_space();
    if (rest_.starts_with('[')) {
      file_.reject("elements must be numbers or bools, got records");
    }
    const std::string_view text = quoted();
    const std::string_view order = text.substr(0, 1);
    const auto type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& entry) {
          return !text.empty() && entry.first == text.substr(1);
        });
    if (type == kTypes.end() ||
        (order != "<" && order != ">" && order != "|" && order != "=")) {
      file_.reject(
          "elements must be bools, integers of 8 to 64 bits but uint64, or "
          "floats of 16 to 64 bits, got ",
          printable(text));
    }
    header.type = type->second;
    header.swapped = order == (kLittleEndian ? ">" : "<");
  }

  Dims read_shape() {
    Dims shape;
    expect("(");
    while (!accept(")")) {
      skip_space();
      int64_t size = 0;
      const auto [end, error] =
          std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0) {
        unexpected();
      }
      if (shape.size() == kMaxRank) {
        file_.reject("there must be at most ", kMaxRank, " dimensions");
      }
      shape.push_back(size);
      rest_.remove_prefix(end - rest_.data());
      accept("L");  // Python 2 wrote long integers so
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
    return shape;
  }

  static std::string printable(std::string_view text) {
    std::string result(text.substr(0, 40));
    std::replace_if(
        result.begin(),
        result.end(),
        [](unsigned char c) { return c < 32 || c > 126; },
        '?');
    return result;
  }

  [[noreturn]] void unexpected() const {
    file_.reject(
        "the header must be a dictionary of descr, fortran_order and shape, "
        "got something else at \"",
        printable(rest_),
        "\"");
  }

  const InputFile& file_;
  std::string_view rest_;
};

std::string read_header(InputFile& file) {
  std::array<unsigned char, 8> start;
  if (file.remaining() < 8) {
    file.reject("must begin as a .npy file does, got ", file.size(), " bytes");
  }
  file.read(start.data(), 8);
  if (!std::equal(
          kMagic.begin(),
          kMagic.end(),
          start.begin(),
          [](char a, unsigned char b) {
            return static_cast<unsigned char>(a) == b;
          })) {
    file.reject("must begin with \\x93NUMPY");
  }
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) {
    file.reject(
        "the version must be 1.0, 2.0 or 3.0, got ",
        version,
        ".",
        static_cast<int>(start[7]));
  }
  std::array<unsigned char, 4> bytes = {};
  file.read(bytes.data(), version == 1 ? 2 : 4);
  int64_t length = 0;
  for (int i = 3; i >= 0; --i) {
    length = length << 8 | bytes[i];
  }
  if (length > file.remaining()) {
    file.reject(
        "the header must fit into the file, got ",
        length,
        " bytes with ",
        file.remaining(),
        " left");
  }
  std::string header(length, '\0');
  file.read(header.data(), length);
  return header;
}

std::string header_of(const Tensor& x) {
  const auto* const type =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& entry) {
        return entry.second == stored_type(x.dtype());
      });
  std::string text = "{'descr': '";
  text += x.dtype() == kBool ? '|' : kLittleEndian ? '<' : '>';
  text += std::string(type->first) + "', 'fortran_order': False, 'shape': (";
  for (int64_t i = 0; i < x.dim(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(x.size(i));
  }
  text += x.dim() == 1 ? ",), }" : "), }";
  // The elements begin at a multiple of 64.
  const size_t before = kMagic.size() + 4;
  text.resize((before + text.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
  return text + "\n";
}

}  // namespace

void save_npy(const std::string& path, const Tensor& x) {
  check_defined("save_npy", x);
  const Tensor dense = x.contiguous();
  const std::string header = header_of(dense);
  const std::array<char, 4> version_and_length = {
      1,
      0,
      static_cast<char>(header.size() % 256),
      static_cast<char>(header.size() / 256)};
  const auto elements = element_bytes(dense);

  AtomicFile file("save_npy", path);
  file.write(kMagic);
  file.write(version_and_length.data(), version_and_length.size());
  file.write(header);
  file.write(elements.data(), static_cast<int64_t>(elements.size()));
  file.commit();
}

Tensor load_npy(const std::string& path) {
  InputFile file("load_npy", path);
  const Header header = HeaderReader(file, read_header(file)).read();
  Shape shape;
  try {
    shape = Shape(header.shape);
  } catch (const std::invalid_argument& error) {
    file.reject(error.what());
  }
  const int64_t size = itemsize(header.type);
  if (file.remaining() % size != 0 ||
      file.remaining() / size != shape.numel()) {
    file.reject(
        "must hold the ",
        shape.numel(),
        " elements of ",
        size,
        " bytes of shape ",
        shape,
        ", got ",
        file.remaining(),
        " bytes");
  }
  if (!header.fortran_order) {
    return read_elements(file, header.type, shape, header.swapped);
  }
  // Column-major is the row-major order of the dimensions turned round.
  Dims reversed;
  Dims order;
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    reversed.push_back(shape[i]);
    order.push_back(i);
  }
  return read_elements(file, header.type, Shape(reversed), header.swapped)
      .permute(order)
      .contiguous();
}

}  // namespace heed
