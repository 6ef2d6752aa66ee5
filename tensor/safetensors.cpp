// The format (github.com/huggingface/safetensors): the header's length as eight
// bytes, the lowest first; the header, a JSON object
//
//     {"__metadata__": {"key": "text"},
//      "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//
// that spaces may fill up; the elements of all tensors, without gaps, the
// offsets counted from the header's end.

#include "tensor/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/atomic_file.h"
#include "tensor/error.h"
#include "tensor/input_file.h"
#include "tensor/stored_type.h"

namespace heed {
namespace {

using nlohmann::json;

static_assert(
    std::endian::native == std::endian::little,
    "safetensors files hold the lowest byte first");

constexpr std::string_view kMetadata = "__metadata__";

/// As much as the format's own library reads.
constexpr int64_t kMaxHeader = 100'000'000;

constexpr std::array<std::pair<std::string_view, StoredType>, 12> kTypes = {{
    {"F16", StoredType::float16},
    {"BF16", StoredType::bfloat16},
    {"F32", StoredType::float32},
    {"F64", StoredType::float64},
    {"BOOL", StoredType::boolean},
    {"I8", StoredType::int8},
    {"I16", StoredType::int16},
    {"I32", StoredType::int32},
    {"I64", StoredType::int64},
    {"U8", StoredType::uint8},
    {"U16", StoredType::uint16},
    {"U32", StoredType::uint32},
}};

std::string_view type_name(StoredType type) {
  return std::find_if(
             kTypes.begin(),
             kTypes.end(),
             [&](const auto& entry) { return entry.second == type; })
      ->first;
}

/// Text from a file as a message shows it: short, without control characters.
std::string shown(const std::string& text) {
  constexpr size_t kLongest = 80;
  const std::string start = text.substr(0, kLongest);
  return json(start).dump(-1, ' ', true, json::error_handler_t::replace) +
         (text.size() > kLongest ? "..." : "");
}

/// A tensor as the header describes it.
struct Entry {
  std::string name;
  StoredType type = StoredType::float32;
  Shape shape;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Takes the header apart while it is parsed, and refuses what does not belong
/// there as soon as it comes: nothing is kept that no tensor needs.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  HeaderReader(
      const InputFile& file,
      std::vector<Entry>& entries,
      std::map<std::string, std::string>& metadata)
      : file_(file), entries_(entries), metadata_(metadata) {}

  bool start_object(size_t) override {
    if (place_ == Place::before) {
      place_ = Place::header;
    } else if (place_ == Place::header && name_ == kMetadata) {
      place_ = Place::metadata;
    } else if (place_ == Place::header) {
      place_ = Place::tensor;
      fields_.clear();
      type_.clear();
      shape_ = Dims();
      offsets_.clear();
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool key(std::string& key) override {
    if (place_ == Place::header) {
      name_ = key;
      if (!names_.insert(key).second) {
        file_.reject(
            "every name must be there once, got ", shown(key), " twice");
      }
      return true;
    }
    key_ = key;
    if (place_ == Place::tensor && key != "dtype" && key != "shape" &&
        key != "data_offsets") {
      unexpected("the field " + shown(key));
    }
    if (place_ == Place::metadata ? metadata_.contains(key)
                                  : !fields_.insert(key).second) {
      unexpected(shown(key) + " twice");
    }
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::metadata) {
      metadata_[key_] = text;
    } else if (place_ == Place::tensor && key_ == "dtype") {
      type_ = text;
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::tensor || key_ == "dtype") {
      unexpected("an array");
    }
    place_ = key_ == "shape" ? Place::shape : Place::offsets;
    return true;
  }

  bool number_unsigned(uint64_t number) override {
    if (number > std::numeric_limits<int64_t>::max()) {
      unexpected("a number beyond 63 bits");
    }
    if (place_ == Place::shape && shape_.size() < kMaxRank) {
      shape_.push_back(static_cast<int64_t>(number));
    } else if (place_ == Place::shape) {
      unexpected("more than " + std::to_string(kMaxRank) + " dimensions");
    } else if (place_ == Place::offsets && offsets_.size() < 2) {
      offsets_.push_back(static_cast<int64_t>(number));
    } else {
      unexpected("a number");
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::tensor;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) {
      add_entry();
    }
    place_ = place_ == Place::header ? Place::after : Place::header;
    return true;
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a bool"); }
  bool number_integer(int64_t) override { unexpected("a negative number"); }
  bool number_float(double, const std::string&) override {
    unexpected("a number that is no integer");
  }
  bool binary(json::binary_t&) override { unexpected("binary data"); }
  bool parse_error(
      size_t position, const std::string&, const json::exception&) override {
    file_.reject(
        "the header must be JSON in UTF-8, got something else at its byte ",
        position);
  }

 private:
  enum class Place { before, header, metadata, tensor, shape, offsets, after };

  [[noreturn]] void unexpected(const std::string& what) const {
    file_.reject(
        "the header must map names to dtype, shape and data_offsets, got ",
        what,
        place_ == Place::before ? "" : " at " + shown(name_));
  }

  void add_entry() {
    if (fields_.size() != 3 || offsets_.size() != 2) {
      unexpected("not all of them");
    }
    const auto type =
        std::find_if(kTypes.begin(), kTypes.end(), [this](const auto& entry) {
          return entry.first == type_;
        });
    if (type == kTypes.end()) {
      file_.reject(
          shown(name_),
          ": dtype must be one of F16, BF16, F32, F64, BOOL, I8, I16, I32, "
          "I64, U8, U16 and U32, got ",
          shown(type_));
    }
    Entry entry{name_, type->second, {}, offsets_[0], offsets_[1]};
    try {
      entry.shape = Shape(shape_);
    } catch (const std::invalid_argument& error) {
      file_.reject(shown(name_), ": ", error.what());
    }
    const int64_t size = itemsize(entry.type);
    const int64_t bytes = entry.end - entry.begin;
    if (bytes < 0 || bytes % size != 0 || bytes / size != entry.shape.numel()) {
      file_.reject(
          shown(name_),
          ": data_offsets must span the bytes of ",
          type_,
          " ",
          entry.shape,
          ", got [",
          entry.begin,
          ", ",
          entry.end,
          "]");
    }
    entries_.push_back(std::move(entry));
  }

  const InputFile& file_;
  std::vector<Entry>& entries_;
  std::map<std::string, std::string>& metadata_;

  Place place_ = Place::before;
  std::set<std::string> names_;
  std::string name_;  // of the tensor
  std::string key_;   // within it, or within the metadata
  std::set<std::string> fields_;
  std::string type_;
  Dims shape_;
  std::vector<int64_t> offsets_;
};

std::string read_header(InputFile& file) {
  uint64_t length = 0;
  if (file.size() < 8) {
    file.reject(
        "must begin with eight bytes, the length of the header; got ",
        file.size());
  }
  file.read(&length, 8);
  const int64_t most = std::min(file.remaining(), kMaxHeader);
  if (length < 2 || length > static_cast<uint64_t>(most)) {
    file.reject(
        "no safetensors file: the length of the header must be in [2, ",
        most,
        "], got ",
        length);
  }
  std::string header(length, '\0');
  file.read(header.data(), static_cast<int64_t>(length));
  if (header[0] != '{') {
    file.reject("the header must begin with {");
  }
  return header;
}

/// `text` as JSON writes it.
std::string quoted(const std::string& text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    fail(
        "save_safetensors", "names and texts must be UTF-8, got ", shown(text));
  }
}

std::string metadata_header(const std::map<std::string, std::string>& texts) {
  std::string header;
  for (const auto& [key, text] : texts) {
    header += header.empty() ? "" : ",";
    header += quoted(key) + ":" + quoted(text);
  }
  return quoted(std::string(kMetadata)) + ":{" + header + "}";
}

std::string tensor_header(
    const std::string& name, const Tensor& x, int64_t begin) {
  std::string shape;
  for (const int64_t size : x.shape()) {
    shape += (shape.empty() ? "" : ",") + std::to_string(size);
  }
  const int64_t end = begin + x.numel() * itemsize(x.dtype());
  return quoted(name) + R"(:{"dtype":")" +
         std::string(type_name(stored_type(x.dtype()))) + R"(","shape":[)" +
         shape + R"(],"data_offsets":[)" + std::to_string(begin) + "," +
         std::to_string(end) + "]}";
}

}  // namespace

void save_safetensors(
    const std::string& path,
    const StateDict& tensors,
    const std::map<std::string, std::string>& metadata) {
  std::vector<const StateDict::value_type*> order;
  for (const auto& entry : tensors) {
    if (!entry.second.defined()) {
      fail(
          "save_safetensors",
          "tensors must be defined, got an empty handle as ",
          shown(entry.first));
    }
    if (entry.first == kMetadata) {
      fail("save_safetensors", "no tensor may be named ", kMetadata);
    }
    order.push_back(&entry);
  }
  // Wide elements first: each then begins at a multiple of its size.
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) {
    return itemsize(a->second.dtype()) > itemsize(b->second.dtype());
  });

  std::string header = metadata.empty() ? "{" : "{" + metadata_header(metadata);
  int64_t offset = 0;
  for (const auto* entry : order) {
    const auto& [name, x] = *entry;
    header += header.size() > 1 ? "," : "";
    header += tensor_header(name, x, offset);
    offset += x.numel() * itemsize(x.dtype());
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t length = header.size();
  if (length > static_cast<uint64_t>(kMaxHeader)) {
    fail(
        "save_safetensors",
        "names, shapes and texts must fit ",
        kMaxHeader,
        " bytes, got ",
        length);
  }

  AtomicFile file("save_safetensors", path);
  file.write(&length, 8);
  file.write(header);
  for (const auto* entry : order) {
    const Tensor x = entry->second.contiguous();
    const auto bytes = element_bytes(x);
    file.write(bytes.data(), static_cast<int64_t>(bytes.size()));
  }
  file.commit();
}

Safetensors load_safetensors(const std::string& path) {
  InputFile file("load_safetensors", path);
  Safetensors result;
  std::vector<Entry> entries;
  {
    const std::string header = read_header(file);
    HeaderReader reader(file, entries, result.metadata);
    json::sax_parse(header, &reader);
  }

  std::sort(entries.begin(), entries.end(), [](auto& a, auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  const uint64_t data = entries.empty() ? 0 : entries.back().end;
  if (data != static_cast<uint64_t>(file.remaining())) {
    file.reject(
        "must have ",
        data + static_cast<uint64_t>(file.size() - file.remaining()),
        " bytes by its header, got ",
        file.size());
  }
  int64_t position = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != position) {
      file.reject(
          shown(entry.name),
          ": data must follow without gap or overlap at byte ",
          position,
          ", got ",
          entry.begin);
    }
    position = entry.end;
  }
  for (const Entry& entry : entries) {
    result.tensors.emplace(
        entry.name, read_elements(file, entry.type, entry.shape));
  }
  return result;
}

}  // namespace heed
