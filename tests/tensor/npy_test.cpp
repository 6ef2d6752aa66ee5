#include "tensor/npy.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensor/creation.h"
#include "tensor/memory.h"
#include "tests/temporary_folder.h"

using namespace heed;

namespace {

/// A file with this header and these elements.
std::string npy(
    const std::string& header, const std::string& elements, int version = 1) {
  std::string file = "\x93NUMPY";
  file += {static_cast<char>(version), '\0'};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(header.size() >> (8 * i) & 255);
  }
  return file + header + elements;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return std::string(
      reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::string reversed_bytes_of(const std::vector<float>& values) {
  std::string bytes = bytes_of(values);
  for (size_t i = 0; i < bytes.size(); i += 4) {
    std::swap(bytes[i], bytes[i + 3]);
    std::swap(bytes[i + 1], bytes[i + 2]);
  }
  return bytes;
}

Tensor load(const std::string& bytes) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.npy", bytes);
  return load_npy(folder / "x.npy");
}

std::string error_of(const std::string& bytes) {
  return message_of<std::runtime_error>([&] { load(bytes); });
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::vector<float> kSix = {1, 2, 3, 4, 5, 6};

}  // namespace

TEST_CASE("npy: a tensor comes back as it was") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  const auto check = [&](const Tensor& x) {
    save_npy(path, x);
    const Tensor y = load_npy(path);
    CHECK(y.dtype() == x.dtype());
    CHECK(y.shape() == x.shape());
    CHECK(y.to_vector<double>() == x.to_vector<double>());
  };
  check(tensor({{1.5, -2.5}, {INFINITY, 1e-45}}));
  check(tensor({1e-300, 0.1}, kFloat64));
  check(full({2, 2}, std::numeric_limits<int64_t>::min(), kInt64));
  check(tensor({true, false, true}));
  check(tensor(3));
  check(zeros({0, 2}));
  check(arange(256).reshape({2, 2, 2, 2, 2, 2, 2, 2}));
  check(arange(12).reshape({3, 4}).transpose(0, 1).slice(0, 1, 4, 2));
}

TEST_CASE("npy: a file is what NumPy writes") {
  const TemporaryFolder folder;
  save_npy(folder / "x.npy", from_vector(kSix, {2, 3}));
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  CHECK(read_bytes(folder / "x.npy") == npy(header + "\n", bytes_of(kSix)));
  save_npy(folder / "x.npy", tensor({true}));
  header = "{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }";
  header.resize(117, ' ');
  CHECK(read_bytes(folder / "x.npy") == npy(header + "\n", "\1"));
}

TEST_CASE("npy: column-major elements come to their places") {
  const std::string header =
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n";
  const Tensor x = load(npy(header, bytes_of<float>({1, 4, 2, 5, 3, 6})));
  CHECK(x.shape() == Shape{2, 3});
  CHECK(x.is_contiguous());
  CHECK(x.to_vector<float>() == kSix);
  const Tensor y = load(
      npy("{'descr': '<i8', 'fortran_order': True, 'shape': (2, 1, 2)}",
          bytes_of<int64_t>({1, 3, 2, 4})));
  CHECK(y.shape() == Shape{2, 1, 2});
  CHECK(y.to_vector<int64_t>() == std::vector<int64_t>{1, 2, 3, 4});
}

TEST_CASE("npy: all versions, long headers, any spelling of the dictionary") {
  const std::string plain =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  const std::string data = bytes_of(kSix);
  for (const std::string& header :
       {plain,
        plain + "\n",
        plain + std::string(300, ' ') + "\n",
        plain + std::string(60'000, ' ') + "\n",
        std::string("{'shape':(2,3),'fortran_order':False,'descr':'<f4'}"),
        std::string("{ \"descr\" : \"<f4\" , \"shape\" : ( 2L , 3L , ) , "
                    "\"fortran_order\" : False , } ")}) {
    for (const int version : {1, 2, 3}) {
      const Tensor x = load(npy(header, data, version));
      CHECK(x.shape() == Shape{2, 3});
      CHECK(x.to_vector<float>() == kSix);
    }
  }
  const std::string long_header = plain + std::string(100'000, ' ') + "\n";
  CHECK(load(npy(long_header, data, 2)).to_vector<float>() == kSix);
}

TEST_CASE("npy: numbers, vectors and empty arrays") {
  const auto header = [](const std::string& shape) {
    return "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}";
  };
  CHECK(load(npy(header("()"), bytes_of<float>({7}))).item<float>() == 7);
  CHECK(
      load(npy(header("(3,)"), bytes_of<float>({1, 2, 3}))).shape() ==
      Shape{3});
  CHECK(load(npy(header("(0, 2)"), "")).shape() == Shape{0, 2});
}

TEST_CASE("npy: either byte order, and the types that heed's own can take") {
  const auto read = [](const std::string& descr, const std::string& data) {
    return load(
        npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2,)}",
            data));
  };
  const auto same = [](const Tensor& x, DType dtype, double a, double b) {
    CHECK(x.dtype() == dtype);
    CHECK(x.to_vector<double>() == std::vector<double>{a, b});
  };
  same(read(">f4", reversed_bytes_of({1.5f, -2})), kFloat32, 1.5, -2);
  same(read("<f8", bytes_of<double>({0.1, 2})), kFloat64, 0.1, 2);
  same(read("=f4", bytes_of<float>({1, 2})), kFloat32, 1, 2);
  same(read("<f2", {"\x00\x3c\x00\xc0", 4}), kFloat32, 1, -2);
  same(read(">f2", {"\x3c\x00\xc0\x00", 4}), kFloat32, 1, -2);
  same(read("|b1", {"\0\1", 2}), kBool, 0, 1);
  same(read("|i1", "\x80\x7f"), kInt64, -128, 127);
  same(read("|u1", {"\xff\x00", 2}), kInt64, 255, 0);
  same(read("<i2", {"\x00\x80\xff\x7f", 4}), kInt64, -32768, 32767);
  same(read(">i2", {"\x80\x00\x7f\xff", 4}), kInt64, -32768, 32767);
  same(read("<u2", {"\xff\xff\x01\x00", 4}), kInt64, 65535, 1);
  same(read("<i4", bytes_of<int32_t>({-5, 6})), kInt64, -5, 6);
  same(read("<u4", bytes_of<uint32_t>({4294967295, 6})), kInt64, 4294967295, 6);
  same(
      read(">i8", {"\xff\xff\xff\xff\xff\xff\xff\xfe\0\0\0\0\0\0\0\5", 16}),
      kInt64,
      -2,
      5);
}

TEST_CASE("npy: every file that is cut short or goes on too long is refused") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  save_npy(path, from_vector(kSix, {2, 3}));
  const std::string good = read_bytes(path);
  for (size_t length = 0; length < good.size(); ++length) {
    write_bytes(path, good.substr(0, length));
    const std::string message =
        message_of<std::runtime_error>([&] { load_npy(path); });
    CAPTURE(length);
    CHECK(holds(message, "load_npy: " + path + ": "));
  }
  write_bytes(path, good + '\0');
  CHECK(
      message_of<std::runtime_error>([&] { load_npy(path); }) ==
      "load_npy: " + path +
          ": must hold the 6 elements of 4 bytes of shape [2, 3], got 25 "
          "bytes");
}

TEST_CASE("npy: what is no such file is refused, by name of what is wrong") {
  const auto with = [](const std::string& descr, const std::string& shape) {
    return npy(
        "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape +
            "}",
        "12345678");
  };
  CHECK(holds(error_of("\x93NUMPX\1\1\1\1"), "must begin with \\x93NUMPY"));
  CHECK(holds(error_of(npy("", "", 4)), "got 4.0"));
  CHECK(holds(error_of(npy("", "", 0)), "got 0.0"));
  CHECK(holds(error_of(with("'<c8'", "(1,)")), "got <c8"));
  CHECK(holds(error_of(with("'<u8'", "(1,)")), "got <u8"));
  CHECK(holds(error_of(with("'|O'", "(1,)")), "got |O"));
  CHECK(holds(error_of(with("''", "(1,)")), "floats of 16 to 64 bits, got "));
  CHECK(holds(error_of(with("[('a', '<f4')]", "(2,)")), "got records"));
  CHECK(
      holds(error_of(with("'|b1'", "(8,)")), "a bool must be 0 or 1, got 49"));
  const std::string eight = "1, 1, 1, 1, 1, 1, 1, 1";
  CHECK(holds(error_of(with("'<f8'", "(" + eight + ", 1)")), "at most 8"));
  CHECK(holds(
      error_of(with("'<f4'", "(4611686018427387904, 4)")), "must fit 64 bits"));
  CHECK(holds(
      error_of(with("'<f4'", "(4611686018427387904, 4, 0)")),
      "must fit 64 bits"));
  CHECK(holds(
      error_of(with("'<f4'", "(2305843009213693954,)")),
      "2305843009213693954 elements of 4 bytes"));
  for (const std::string& header :
       {std::string(),
        std::string("{}"),
        std::string("{"),
        std::string("[1]"),
        std::string(100'000, '{'),
        std::string("{'descr': '<f4', 'shape': (2,)}"),
        std::string("{'descr': '<f4"),
        std::string("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False}"),
        std::string("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}"),
        std::string("{'descr': '<f4', 'fortran_order': False, 'shape': 2}"),
        std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"),
        std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (2 2)}"),
        std::string("{'descr': '<f4', 'fortran_order': False, 'shape': "
                    "(99999999999999999999,)}"),
        std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}}"),
        std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), "
                    "'x': 1}")}) {
    CAPTURE(header);
    CHECK(holds(error_of(npy(header, "12345678", 2)), "must be a dictionary"));
  }
}

TEST_CASE("npy: a length that the file does not have makes no room for it") {
  std::string file = npy("", "", 2);
  file.replace(8, 4, "\xff\xff\xff\xff");
  CHECK(holds(error_of(file), "got 4294967295 bytes with 0 left"));
  const int64_t before = memory_stats().live_bytes;
  CHECK(!error_of(npy("{'descr': '<f8', 'fortran_order': False, 'shape': "
                      "(1000000000000,)}",
                      "12345678"))
             .empty());
  CHECK(memory_stats().live_bytes == before);
}

TEST_CASE("npy: any byte of a header changed loads or is refused") {
  const std::string good =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
          bytes_of(kSix));
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  int refused = 0;
  for (size_t i = 0; i + 24 < good.size(); ++i) {
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      write_bytes(path, bad);
      refused +=
          !message_of<std::runtime_error>([&] { load_npy(path); }).empty();
    }
  }
  CHECK(refused > 500);
}

TEST_CASE("npy: saving an empty handle is refused and changes nothing") {
  const TemporaryFolder folder;
  save_npy(folder / "x.npy", ones({2}));
  CHECK_THROWS_AS(save_npy(folder / "x.npy", Tensor()), std::invalid_argument);
  CHECK(load_npy(folder / "x.npy").shape() == Shape{2});
}
