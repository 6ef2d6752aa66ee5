#include "autograd/reduction.h"

#include <algorithm>
#include <cmath>

#include "tests/op_table.h"

namespace heed::op_table {
namespace {

using Group = std::vector<double>;

const std::vector<Shapes> kAny = {{{2, 3}}, {{}}, {{4}}, {{0, 3}}};
// With a dimension 1 and a last one that may be reduced.
const std::vector<Shapes> kMatrices = {
    {{3, 4}}, {{2, 2, 3}}, {{1, 2}}, {{0, 2, 3}}};

double sum_of(const Group& group) {
  double sum = 0;
  for (const double v : group) {
    sum += v;
  }
  return sum;
}

double mean_of(const Group& group) {
  return sum_of(group) / static_cast<double>(group.size());
}

double squares_from_mean(const Group& group) {
  double sum = 0;
  for (const double v : group) {
    sum += (v - mean_of(group)) * (v - mean_of(group));
  }
  return sum;
}

double sample_variance_of(const Group& group) {
  return group.empty() ? std::nan("")
                       : squares_from_mean(group) /
                             (static_cast<double>(group.size()) - 1);
}

double population_variance_of(const Group& group) {
  return squares_from_mean(group) / static_cast<double>(group.size());
}

double logsumexp_of(const Group& group) {
  double sum = 0;
  for (const double v : group) {
    sum += std::exp(v);
  }
  return std::log(sum);
}

double norm_of(const Group& group) {
  double sum = 0;
  for (const double v : group) {
    sum += v * v;
  }
  return std::sqrt(sum);
}

double max_of(const Group& group) {
  return *std::max_element(group.begin(), group.end());
}

double min_of(const Group& group) {
  return *std::min_element(group.begin(), group.end());
}

/// The overload that reduces everything.
template <typename F>
Row over_all(const std::string& name, F f, Fold reference) {
  return row(
      name + "(Variable)",
      [f](const auto& in) { return f(in[0]); },
      fold_all(reference),
      kAny);
}

/// The overload that takes dims and keepdim: one, the last and kept, several.
template <typename F>
Rows over_dims(const std::string& name, F f, Fold reference) {
  const auto over = [&](const char* note, const Dims& dims, bool keepdim) {
    return row(
        name + " " + note,
        [=](const auto& in) { return f(in[0], dims, keepdim); },
        fold(reference, dims, keepdim),
        kMatrices);
  };
  return {
      over("over dim 1", 1, false),
      over("over the last dim, kept", -1, true),
      over("over two dims", {-1, -2}, false)};
}

}  // namespace

Rows reduction_rows() {
  Rows rows = {
      over_all(
          "sum", [](auto& x) { return sum(x); }, sum_of)
          .integers(),
      over_all(
          "mean", [](auto& x) { return mean(x); }, mean_of),
      over_all(
          "logsumexp", [](auto& x) { return logsumexp(x); }, logsumexp_of),
      over_all(
          "norm", [](auto& x) { return norm(x); }, norm_of),
      row(
          "sum(Variable, Dims, bool) over no dims",
          [](auto& in) { return sum(in[0], Dims{}); },
          each([](double x) { return x; }),
          kAny)
          .integers(),
      row(
          "sum_to(Variable, Shape)",
          [](auto& in) {
            return sum_to(in[0], {2, 1});
          },
          [](const Arrays& in) -> Arrays {
            const Array& x = in[0];
            return {
                x.dim() == 2 ? fold(x, sum_of, 1, true)
                             : fold(fold(x, sum_of, 0), sum_of, 1, true)};
          },
          {{{2, 3}}, {{3, 2, 2}}, {{2, 1}}, {{0, 2, 3}}})
          .refuses({{{3, 4}}, {{2}}})
          .integers(),
      row("var(Variable)",
          [](auto& in) { return var(in[0]); },
          fold_all(sample_variance_of),
          {{{2, 3}}, {{4}}, {{0, 3}}}),
      row("var(Variable, Dims, int64_t, bool) of samples, over dim 0",
          [](auto& in) { return var(in[0], 0); },
          fold(sample_variance_of, 0),
          {{{2, 3}}, {{4}}, {{3, 0}}}),
      row("var(Variable, Dims, int64_t, bool) of a population, kept",
          [](auto& in) {
            return var(in[0], {0, -1}, 0, true);
          },
          fold(population_variance_of, {0, -1}, true),
          {{{2, 3}}, {{2, 2, 2}}, {{0, 3}}}),
      row("max(Variable)",
          [](auto& in) { return max(in[0]); },
          fold_all(max_of),
          {{{2, 3}}, {{}}, {{4}}})
          .refuses({{{0, 3}}})
          .integers(),
      row("min(Variable)",
          [](auto& in) { return min(in[0]); },
          fold_all(min_of),
          {{{2, 3}}, {{}}, {{4}}})
          .refuses({{{0, 3}}})
          .integers(),
  };
  const auto add = [&](const std::string& name, auto f, Fold reference) {
    for (Row& row : over_dims(name, f, reference)) {
      rows.push_back(name.starts_with("sum") ? row.integers() : row);
    }
  };
  const auto add_extreme = [&](const std::string& name, auto f, Fold fold) {
    for (Row& row : over_dims(name, f, fold)) {
      rows.push_back(row.refuses({{{2, 0}}}).integers());
    }
  };
  add(
      "sum(Variable, Dims, bool)",
      [](auto& x, auto&... how) { return sum(x, how...); },
      sum_of);
  add(
      "mean(Variable, Dims, bool)",
      [](auto& x, auto&... how) { return mean(x, how...); },
      mean_of);
  add(
      "logsumexp(Variable, Dims, bool)",
      [](auto& x, auto&... how) { return logsumexp(x, how...); },
      logsumexp_of);
  add(
      "norm(Variable, Dims, bool)",
      [](auto& x, auto&... how) { return norm(x, how...); },
      norm_of);
  add_extreme(
      "max(Variable, Dims, bool)",
      [](auto& x, auto&... how) { return max(x, how...); },
      max_of);
  add_extreme(
      "min(Variable, Dims, bool)",
      [](auto& x, auto&... how) { return min(x, how...); },
      min_of);
  return rows;
}

}  // namespace heed::op_table
