#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/error.h"
#include "tensor/tensor.h"

namespace heed {

/// One thing that PyTorch was asked to compute; README.md lists them all.
class ParityCase {
 public:
  ParityCase(std::string name, const nlohmann::json& data)
      : name_(std::move(name)), options_(data.at("options")) {
    for (const auto& [key, value] : data.at("tensors").items()) {
      tensors_.emplace(key, read(value));
    }
  }

  const std::string& name() const { return name_; }
  const nlohmann::json& options() const { return options_; }

  bool has(const std::string& name) const { return tensors_.contains(name); }
  /// The tensor as PyTorch had it: float64, int64 or bool.
  /// Throws std::runtime_error when the case has none of that name.
  const Tensor& operator[](const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      fail<std::runtime_error>("parity", name_, " has no tensor ", name);
    }
    return found->second;
  }
  /// The tensor, floating ones in the given precision.
  Tensor tensor(const std::string& name, DType precision) const {
    const Tensor& x = (*this)[name];
    return is_floating(x.dtype()) ? x.to(precision) : x;
  }

  /// What follows `prefix` in the names of the tensors that begin with it:
  /// names("state.") are PyTorch's parameter names.
  std::vector<std::string> names(std::string_view prefix) const {
    std::vector<std::string> result;
    for (const auto& [name, tensor] : tensors_) {
      if (name.starts_with(prefix)) {
        result.push_back(name.substr(prefix.size()));
      }
    }
    return result;
  }

  /// The largest difference between `got` and tensor `name`, as a fraction of
  /// that tensor's largest value; infinite when the counts differ or for a NaN.
  double error(const std::string& name, const Tensor& got) const {
    const std::vector<double> expected = (*this)[name].to_vector<double>();
    const std::vector<double> values = got.to_vector<double>();
    if (values.size() != expected.size()) {
      return INFINITY;
    }
    double scale = 0;
    double difference = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double d = std::abs(values[i] - expected[i]);
      difference = std::isnan(d) ? INFINITY : std::max(difference, d);
      scale = std::max(scale, std::abs(expected[i]));
    }
    return scale > 0 ? difference / scale : difference;
  }

  /// Checks that `got` is tensor `name`: same shape, error() at most 1e-5 in
  /// float32, 1e-12 in float64, none in integers.
  void check(const std::string& name, const Tensor& got) const {
    INFO(name_, ": ", name, " in ", std::string(dtype_name(got.dtype())));
    REQUIRE(got.defined());
    CHECK(got.shape() == (*this)[name].shape());
    CHECK(error(name, got) <= tolerance(got.dtype()));
  }

 private:
  static double tolerance(DType dtype) {
    return dtype == kFloat32 ? 1e-5 : dtype == kFloat64 ? 1e-12 : 0;
  }

  static Tensor read(const nlohmann::json& tensor) {
    const std::string dtype = tensor.at("dtype");
    const nlohmann::json& data = tensor.at("data");
    const Shape shape(Dims(tensor.at("shape").get<std::vector<int64_t>>()));
    return dtype == "int64"  ? filled<int64_t>(shape, data)
           : dtype == "bool" ? filled<bool>(shape, data)
                             : filled<double>(shape, data);
  }

  template <typename T>
  static Tensor filled(const Shape& shape, const nlohmann::json& data) {
    Tensor result(shape, dtype_of<T>);
    std::transform(
        data.begin(),
        data.end(),
        result.mutable_data<T>(),
        [](const nlohmann::json& x) {
          return x.is_string() ? static_cast<T>(std::stod(x.get<std::string>()))
                               : x.get<T>();  // the string is "-inf"
        });
    return result;
  }

  std::string name_;
  nlohmann::json options_;
  std::map<std::string, Tensor> tensors_;
};

/// The files of PyTorch's results.
struct Parity {
  /// The cases of tests/parity/`topic`.json whose names begin with `prefix`.
  /// Throws std::runtime_error when there are none: a test over no cases would
  /// pass.
  static std::vector<ParityCase> load(
      const std::string& topic, std::string_view prefix = "") {
    const std::string path =
        std::string(HEED_SOURCE_DIR) + "/tests/parity/" + topic + ".json";
    std::ifstream file(path);
    if (!file) {
      fail<std::runtime_error>("parity", "cannot open ", path);
    }
    const nlohmann::json cases = nlohmann::json::parse(file);
    std::vector<ParityCase> result;
    for (const auto& [name, data] : cases.items()) {
      if (name.starts_with(prefix)) {
        result.emplace_back(name, data);
      }
    }
    if (result.empty()) {
      fail<std::runtime_error>("parity", path, " has no case ", prefix);
    }
    return result;
  }
};

}  // namespace heed
