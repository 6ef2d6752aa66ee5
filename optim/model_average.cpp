#include "optim/model_average.h"

#include <algorithm>

#include "optim/checkpoint.h"
#include "tensor/comparison.h"
#include "tensor/error.h"

namespace heed {
namespace {

constexpr std::string_view kWho = "average_models";

/// Throws unless both have the same names, shapes and dtypes.
void check_same_kind(
    const StateDict& first,
    const std::string& first_path,
    const StateDict& other,
    const std::string& path) {
  const auto missing = [](const StateDict& from, const StateDict& in) {
    return std::find_if(from.begin(), from.end(), [&](const auto& entry) {
      return !in.contains(entry.first);
    });
  };
  const auto absent = missing(first, other);
  const auto added = missing(other, first);
  if (absent != first.end() || added != other.end()) {
    const bool lacks = absent != first.end();
    fail<std::runtime_error>(
        kWho,
        path,
        " must have the tensors of ",
        first_path,
        ", got one ",
        lacks ? "without " : "with ",
        lacks ? absent->first : added->first);
  }
  for (const auto& [name, x] : first) {
    const Tensor& y = other.at(name);
    if (x.dtype() != y.dtype() || x.shape() != y.shape()) {
      fail<std::runtime_error>(
          kWho,
          path,
          ": ",
          name,
          " must be ",
          x.dtype(),
          " ",
          x.shape(),
          " as in ",
          first_path,
          ", got ",
          y.dtype(),
          " ",
          y.shape());
    }
  }
}

}  // namespace

StateDict average_models(std::vector<std::string> paths) {
  if (paths.empty()) {
    fail(kWho, "paths must name a checkpoint, got none");
  }
  std::sort(paths.begin(), paths.end());
  const auto twice = std::adjacent_find(paths.begin(), paths.end());
  if (twice != paths.end()) {
    fail(kWho, "every checkpoint must be given once, got ", *twice, " twice");
  }
  const StateDict first = load_checkpoint(paths[0]).model;
  StateDict sums;
  for (const auto& [name, x] : first) {
    sums[name] = is_floating(x.dtype()) ? x.to(kFloat64).clone() : x;
  }
  for (size_t i = 1; i < paths.size(); ++i) {
    const StateDict model = load_checkpoint(paths[i]).model;
    check_same_kind(first, paths[0], model, paths[i]);
    for (auto& [name, sum] : sums) {
      const Tensor& x = model.at(name);
      if (is_floating(x.dtype())) {
        sum.add_(x.to(kFloat64));
      } else if (!equal(sum, x)) {
        fail<std::runtime_error>(
            kWho,
            paths[i],
            ": ",
            name,
            " is no float and must be equal in all models");
      }
    }
  }
  for (auto& [name, sum] : sums) {
    if (is_floating(sum.dtype())) {
      sum = sum.div_(static_cast<double>(paths.size()))
                .to(first.at(name).dtype());
    }
  }
  return sums;
}

StateDict average_last_models(const std::string& folder, int64_t count) {
  if (count < 1) {
    fail("average_last_models", "count must be >= 1, got ", count);
  }
  const std::vector<std::string> paths = checkpoints_in(folder);
  const auto found = static_cast<int64_t>(paths.size());
  if (found < count) {
    fail<std::runtime_error>(
        "average_last_models",
        folder,
        " must have ",
        count,
        " checkpoints, got ",
        found);
  }
  return average_models({paths.end() - count, paths.end()});
}

}  // namespace heed
