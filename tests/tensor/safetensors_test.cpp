#include "tensor/safetensors.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tensor/creation.h"
#include "tensor/generator.h"
#include "tensor/memory.h"
#include "tests/temporary_folder.h"

using namespace heed;

namespace {

std::string number_bytes(uint64_t number) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &number, 8);
  return bytes;
}

/// A file with this header and these elements.
std::string file_of(const std::string& header, const std::string& elements) {
  return number_bytes(header.size()) + header + elements;
}

std::string header_of(
    const std::string& dtype,
    const std::string& shape,
    const std::string& offsets) {
  return R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape +
         R"(,"data_offsets":)" + offsets + "}}";
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return std::string(
      reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

Safetensors load(const std::string& bytes) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.safetensors", bytes);
  return load_safetensors(folder / "x.safetensors");
}

std::string error_of(const std::string& bytes) {
  return message_of<std::runtime_error>([&] { load(bytes); });
}

/// Whether the file is refused for this reason.
bool refused(const std::string& bytes, const std::string& reason) {
  const std::string message = error_of(bytes);
  INFO(message);
  CHECK(message.starts_with("load_safetensors: "));
  CHECK(message.size() < 1000);
  return message.find(reason) != std::string::npos;
}

StateDict some_tensors() {
  return {
      {"layers.0.weight", tensor({{1.5, -2}, {INFINITY, 1e-45}})},
      {"layers.0.bias", tensor({0.1, 1e-300}, kFloat64)},
      {"ids", tensor({-1, 7})},
      {"mask", tensor({true, false, true})}};
}

/// Every name, shape, dtype and element.
void check_same(const StateDict& a, const StateDict& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& [key, x] : a) {
    const std::string& name = key;
    CAPTURE(name);
    REQUIRE(b.contains(name));
    CHECK(b.at(name).dtype() == x.dtype());
    CHECK(b.at(name).shape() == x.shape());
    CHECK(b.at(name).to_vector<double>() == x.to_vector<double>());
  }
}

}  // namespace

TEST_CASE("safetensors: tensors and texts come back as they were") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  StateDict tensors = some_tensors();
  tensors["number"] = tensor(3);
  tensors["empty"] = zeros({0, 2});
  tensors["deep"] = arange(256).reshape({2, 2, 2, 2, 2, 2, 2, 2});
  tensors["view"] =
      arange(12).reshape({3, 4}).transpose(0, 1).slice(0, 1, 4, 2);
  tensors["extreme"] = full({2}, std::numeric_limits<int64_t>::min(), kInt64);
  tensors[""] = ones({1});
  tensors["\"größe\"\n"] = ones({1});
  const std::map<std::string, std::string> texts = {
      {"", ""}, {"options", "{\"d_model\": 512}\n\t"}, {"name", "Übersetzung"}};
  save_safetensors(path, tensors, texts);
  const Safetensors loaded = load_safetensors(path);
  check_same(tensors, loaded.tensors);
  CHECK(loaded.metadata == texts);
  save_safetensors(path, {});
  CHECK(load_safetensors(path).tensors.empty());
  CHECK(load_safetensors(path).metadata.empty());
}

TEST_CASE("safetensors: a file is the header, spaces to eight, the elements") {
  const TemporaryFolder folder;
  save_safetensors(
      folder / "x.safetensors",
      {{"a", tensor({true})}, {"b", tensor({{1., 2.}})}, {"c", tensor(5)}},
      {{"format", "pt"}});
  std::string header =
      R"({"__metadata__":{"format":"pt"},)"
      R"("c":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]},)"
      R"("a":{"dtype":"BOOL","shape":[1],"data_offsets":[16,17]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  CHECK(
      read_bytes(folder / "x.safetensors") ==
      file_of(
          header,
          bytes_of<int64_t>({5}) + bytes_of<float>({1, 2}) +
              std::string("\1")));
}

TEST_CASE("safetensors: types that heed's own can take become those") {
  const auto same = [](const std::string& type,
                       const std::string& data,
                       DType dtype,
                       double a,
                       double b) {
    const std::string offsets = "[0," + std::to_string(data.size()) + "]";
    const Tensor x =
        load(file_of(header_of(type, "[2]", offsets), data)).tensors.at("x");
    CHECK(x.dtype() == dtype);
    CHECK(x.to_vector<double>() == std::vector<double>{a, b});
  };
  same("BF16", {"\x80\x3f\x00\xc0", 4}, kFloat32, 1, -2);
  same("I8", "\x80\x7f", kInt64, -128, 127);
  same("U8", {"\xff\x00", 2}, kInt64, 255, 0);
  same("I16", {"\x00\x80\xff\x7f", 4}, kInt64, -32768, 32767);
  same("U16", {"\xff\xff\x01\x00", 4}, kInt64, 65535, 1);
  same("I32", bytes_of<int32_t>({-5, 6}), kInt64, -5, 6);
  same("U32", bytes_of<uint32_t>({4294967295, 6}), kInt64, 4294967295, 6);
}

TEST_CASE("safetensors: every float16 becomes the float32 of its value") {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) {
    halves[i] = static_cast<uint16_t>(i);
  }
  const Tensor x =
      load(file_of(header_of("F16", "[65536]", "[0,131072]"), bytes_of(halves)))
          .tensors.at("x");
  const auto* values = x.data<float>();
  int64_t wrong = 0;
  for (int i = 0; i < 65536; ++i) {
    const int exponent = i >> 10 & 31;
    const int mantissa = i & 1023;
    const double size = exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
                        : exponent == 0
                            ? std::ldexp(mantissa, -24)
                            : std::ldexp(1024 + mantissa, exponent - 25);
    wrong += std::signbit(values[i]) != (i >= 32768) ||
             (std::isnan(size) ? !std::isnan(values[i])
                               : std::abs(values[i]) != size);
  }
  CHECK(wrong == 0);
}

TEST_CASE("safetensors: spaces, any order of fields and of tensors") {
  const Safetensors loaded = load(file_of(
      R"({ "b" : {"data_offsets": [8, 12], "shape": [1], "dtype": "F32"},
           "a":{"shape":[2],"dtype":"F32","data_offsets":[0,8]},
           "none":{"shape":[0],"dtype":"F32","data_offsets":[8,8]},
           "__metadata__": {"key": "text"}}    )",
      bytes_of<float>({1, 2, 3})));
  CHECK(loaded.tensors.at("a").to_vector<float>() == std::vector<float>{1, 2});
  CHECK(loaded.tensors.at("b").to_vector<float>() == std::vector<float>{3});
  CHECK(loaded.tensors.at("none").numel() == 0);
  CHECK(loaded.metadata.at("key") == "text");
}

TEST_CASE("safetensors: every file cut short or too long is told its size") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  save_safetensors(path, some_tensors(), {{"key", "text"}});
  const std::string good = read_bytes(path);
  uint64_t header = 0;
  std::memcpy(&header, good.data(), 8);
  const auto message = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return message_of<std::runtime_error>([&] { load_safetensors(path); });
  };
  const auto expected = [&](size_t length) {
    return "load_safetensors: " + path + ": must have " +
           std::to_string(good.size()) + " bytes by its header, got " +
           std::to_string(length);
  };
  for (size_t length = 0; length < good.size(); ++length) {
    CAPTURE(length);
    const std::string got = message(good.substr(0, length));
    if (length >= 8 + header) {
      CHECK(got == expected(length));
    } else {
      CHECK(got.find(path) != std::string::npos);
      CHECK(got.find("got") != std::string::npos);
    }
  }
  CHECK(message(good + '\0') == expected(good.size() + 1));
  CHECK(message(good + good) == expected(2 * good.size()));
  CHECK(message(good) == "");
}

TEST_CASE("safetensors: the length of the header is held to the file's size") {
  const std::string header = header_of("F32", "[2]", "[0,8]");
  const std::string rest = header + "12345678";
  const uint64_t size = 8 + rest.size();
  rusage before;
  getrusage(RUSAGE_SELF, &before);
  for (const uint64_t length :
       {uint64_t{0},
        uint64_t{1},
        uint64_t{1} << 63,
        ~uint64_t{0},
        ~uint64_t{4},
        size - 7,
        size,
        uint64_t{200'000'000}}) {
    CAPTURE(length);
    CHECK(refused(
        number_bytes(length) + rest,
        "no safetensors file: the length of the header must be in [2, " +
            std::to_string(rest.size()) + "], got " + std::to_string(length)));
  }
  CHECK(refused(number_bytes(size - 8) + rest, "must be JSON"));
  CHECK(refused("", "must begin with eight bytes"));
  CHECK(refused("1234567", "got 7"));
  CHECK(refused(number_bytes(2) + "[]", "must begin with {"));
  rusage after;
  getrusage(RUSAGE_SELF, &after);
  CHECK(after.ru_maxrss - before.ru_maxrss < 50'000);  // KiB; bytes elsewhere
}

TEST_CASE("safetensors: sizes that the file does not have make no room") {
  const int64_t before = memory_stats().live_bytes;
  reset_peak_memory();
  const std::string shape = "[1000000000,1000]";
  CHECK(refused(
      file_of(header_of("F32", shape, "[0,4000000000000]"), "1234"),
      "must have 4000000000088 bytes by its header, got 92"));
  CHECK(refused(
      file_of(header_of("F32", shape, "[0,4]"), "1234"),
      "data_offsets must span the bytes of F32 [1000000000, 1000], got [0, "
      "4]"));
  CHECK(memory_stats().peak_bytes == before);
}

TEST_CASE("safetensors: what is no header is refused") {
  const auto wrong = [](const std::string& header, const std::string& reason) {
    return refused(file_of(header, ""), reason);
  };
  const std::string deep(100'000, '[');
  CHECK(wrong("{}}", "must be JSON in UTF-8, got something else at its byte"));
  CHECK(wrong("{\"x\"", "must be JSON"));
  CHECK(wrong("{\"x\":", "must be JSON"));
  CHECK(wrong("{x:1}", "must be JSON"));
  CHECK(wrong("{\"\xff\":{}}", "must be JSON"));
  CHECK(wrong(std::string("{\0}", 3), "must be JSON"));
  CHECK(wrong("{\"" + std::string(100'000, 'x'), "must be JSON"));
  CHECK(wrong(" {}", "must begin with {"));
  CHECK(wrong("null", "must begin with {"));
  CHECK(wrong(deep, "must begin with {"));
  CHECK(wrong("{\"x\":" + deep, "got an array at \"x\""));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) {
    objects += "{\"x\":";
  }
  CHECK(wrong(objects, "got the field \"x\" at \"x\""));
  CHECK(wrong("{\"x\":1}", "got a number at \"x\""));
  CHECK(wrong("{\"x\":\"y\"}", "got a string at \"x\""));
  CHECK(wrong("{\"x\":null}", "got null at \"x\""));
  CHECK(wrong("{\"x\":true}", "got a bool at \"x\""));
  CHECK(wrong("{\"x\":{}}", "got not all of them at \"x\""));
  CHECK(wrong(
      "{\"__metadata__\":{\"a\":1}}", "got a number at \"__metadata__\""));
  CHECK(wrong(
      "{\"__metadata__\":{\"a\":{}}}", "got an object at \"__metadata__\""));
  CHECK(wrong("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", "got \"a\" twice"));
  CHECK(wrong(
      "{\"__metadata__\":{},\"__metadata__\":{}}",
      "got \"__metadata__\" twice"));
  CHECK(wrong("{\"\\u001b[31m\":1}", "at \"\\u001b[31m\""));
  CHECK(wrong(
      "{\"" + std::string(10'000, 'x') + "\":1}",
      "at \"" + std::string(80, 'x') + "\"..."));
}

TEST_CASE("safetensors: a tensor must be described once, wholly and rightly") {
  const auto wrong = [](const std::string& header, const std::string& reason) {
    return refused(file_of(header, "12345678"), reason);
  };
  const auto one = [&](const std::string& dtype,
                       const std::string& shape,
                       const std::string& offsets,
                       const std::string& reason) {
    return wrong(header_of(dtype, shape, offsets), reason);
  };
  CHECK(one("F8_E4M3", "[8]", "[0,8]", "U32, got \"F8_E4M3\""));
  CHECK(one("U64", "[1]", "[0,8]", "got \"U64\""));
  CHECK(one("f32", "[2]", "[0,8]", "got \"f32\""));
  CHECK(one("F32", "[2.0]", "[0,8]", "got a number that is no integer"));
  CHECK(one("F32", "[2e0]", "[0,8]", "got a number that is no integer"));
  CHECK(one("F32", "[-2]", "[0,8]", "got a negative number"));
  CHECK(one("F32", "[\"2\"]", "[0,8]", "got a string"));
  CHECK(one("F32", "[[2]]", "[0,8]", "got an array"));
  CHECK(one("F32", "2", "[0,8]", "got a number"));
  CHECK(one("F32", "{}", "[0,8]", "got an object"));
  CHECK(one("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]", "more than 8 dimensions"));
  CHECK(one("F32", "[9223372036854775808]", "[0,8]", "beyond 63 bits"));
  CHECK(one("F32", "[99999999999999999999]", "[0,8]", "no integer"));
  CHECK(one("F32", "[4294967296,4294967296]", "[0,8]", "must fit 64 bits"));
  CHECK(one("F32", "[4294967296,4294967296,0]", "[0,8]", "must fit 64 bits"));
  CHECK(one("F32", "[2305843009213693954]", "[0,8]", "must span the bytes"));
  CHECK(one("F32", "[2]", "[0]", "got not all of them"));
  CHECK(one("F32", "[2]", "[0,8,8]", "got a number"));
  CHECK(one("F32", "[2]", "[8,0]", "must span the bytes"));
  CHECK(one("F32", "[2]", "[0,7]", "must span the bytes"));
  CHECK(one("F32", "[1]", "[0,7]", "must span the bytes"));
  CHECK(one("F32", "[3]", "[0,8]", "must span the bytes"));
  CHECK(one("F32", "[2]", "[1,9]", "must have 71 bytes by its header, got 70"));
  CHECK(
      one("F32",
          "[1]",
          "[4,8]",
          "\"x\": data must follow without gap or "
          "overlap at byte 0, got 4"));
  CHECK(one("F32", "[1]", "[0,4]", "must have 66 bytes by its header, got 70"));
  CHECK(
      one("BOOL",
          "[9223372036854775807]",
          "[0,9223372036854775807]",
          "must have 9223372036854775"));
  CHECK(one("BOOL", "[8]", "[0,8]", "a bool must be 0 or 1, got 49"));
  CHECK(wrong(
      R"({"x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      "got \"dtype\" twice at \"x\""));
  CHECK(wrong(
      R"({"x":{"dtype":"F32","shape":[2]}})", "got not all of them at \"x\""));
  CHECK(wrong(
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})",
      "got the field \"more\" at \"x\""));

  const auto two = [&](const std::string& first,
                       const std::string& second,
                       const std::string& name) {
    const auto entry = [](const std::string& key, const std::string& offsets) {
      return "\"" + key + R"(":{"dtype":"BOOL","shape":[4],"data_offsets":)" +
             offsets + "}";
    };
    return "{" + entry("x", first) + "," + entry(name, second) + "}";
  };
  CHECK(wrong(
      two("[0,4]", "[4,8]", "x"), "every name must be there once, got \"x\""));
  CHECK(wrong(two("[0,4]", "[0,4]", "y"), "must have"));
  CHECK(wrong(two("[0,4]", "[3,7]", "y"), "must have"));
  CHECK(wrong(two("[4,8]", "[3,7]", "y"), "at byte 0, got 3"));
  CHECK(wrong(two("[4,8]", "[4,8]", "y"), "at byte 0, got 4"));
  CHECK(wrong(
      R"({"x":{"dtype":"BOOL","shape":[5],"data_offsets":[0,5]},)"
      R"("y":{"dtype":"BOOL","shape":[4],"data_offsets":[4,8]}})",
      "\"y\": data must follow without gap or overlap at byte 5, got 4"));
}

TEST_CASE("safetensors: any byte of a header changed loads or is refused") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  save_safetensors(
      path, {{"a", tensor({1., 2.})}, {"b", tensor({true})}}, {{"k", "t"}});
  const std::string good = read_bytes(path);
  int refusals = 0;
  for (size_t i = 0; i + 9 < good.size(); ++i) {
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      write_bytes(path, bad);
      refusals += !message_of<std::runtime_error>([&] {
                     load_safetensors(path);
                   }).empty();
    }
  }
  CHECK(refusals > 1000);
}

TEST_CASE(
    "safetensors: shuffled, doubled and broken headers load or are refused") {
  const std::vector<std::string> pieces = {
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      "\"",
      "\"x\"",
      "\"y\"",
      "\"dtype\"",
      "\"F32\"",
      "\"shape\"",
      "[2]",
      "[0,8]",
      "0",
      "8",
      "-1",
      "1e9",
      "18446744073709551615",
      "null",
      "\"data_offsets\"",
      "\"__metadata__\"",
      "\xc3",
      "\\u0000",
      " ",
      "\"BOOL\""};
  const std::string good =
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  Generator generator(17);
  const auto below = [&](size_t range) {
    int64_t number = 0;
    fill_index(&number, 1, 0, static_cast<int64_t>(range), generator);
    return static_cast<size_t>(number);
  };
  int loaded = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string header = good;
    for (size_t edits = 1 + below(3); edits > 0; --edits) {
      const size_t at = below(header.size() + 1);
      const size_t length = below(std::min<size_t>(header.size() - at, 12) + 1);
      switch (below(3)) {
        case 0:
          header.replace(at, length, pieces[below(pieces.size())]);
          break;
        case 1:
          header.insert(at, header.substr(at, length));
          break;
        default:
          header.erase(at, length);
      }
    }
    write_bytes(path, file_of(header, "12345678"));
    loaded +=
        message_of<std::runtime_error>([&] { load_safetensors(path); }).empty();
  }
  CHECK(loaded > 0);
  CHECK(loaded < 1000);
}

TEST_CASE("safetensors: what cannot be saved is refused; the old file stays") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  save_safetensors(path, some_tensors());
  const auto error = [&](const StateDict& tensors,
                         const std::map<std::string, std::string>& texts = {}) {
    return message_of<std::invalid_argument>(
        [&] { save_safetensors(path, tensors, texts); });
  };
  CHECK(
      error({{"x", Tensor()}}) ==
      "save_safetensors: tensors must be defined, got an empty handle as "
      "\"x\"");
  CHECK(
      error({{"__metadata__", ones({1})}}) ==
      "save_safetensors: no tensor may be named __metadata__");
  CHECK(
      error({{"\xff", ones({1})}}) ==
      "save_safetensors: names and texts must be UTF-8, got \"\\ufffd\"");
  CHECK(!error({}, {{"key", "\xc3"}}).empty());
  CHECK(!error({}, {{"\xc3", "text"}}).empty());
  check_same(some_tensors(), load_safetensors(path).tensors);
  CHECK(folder.names() == std::set<std::string>{"x.safetensors"});
}

TEST_CASE("safetensors: what is no file is named") {
  const TemporaryFolder folder;
  const auto error = [](const std::string& path) {
    return message_of<std::runtime_error>([&] { load_safetensors(path); });
  };
  CHECK(
      error(folder / "none") ==
      "load_safetensors: " + (folder / "none") +
          ": cannot be opened: No such file or directory");
  CHECK(
      error(folder / "") ==
      "load_safetensors: " + (folder / "") + ": must be a regular file");
  CHECK(error("/dev/zero").find("must be a regular file") != std::string::npos);
}
