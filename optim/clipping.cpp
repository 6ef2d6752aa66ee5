#include "optim/clipping.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_set>

#include "autograd/node.h"
#include "optim/for_each_row.h"
#include "tensor/error.h"
#include "tensor/simd.h"

namespace heed {
namespace {

constexpr int64_t kCost = 1;  // of an element, see for_each_row

template <typename T>
struct Row {
  int64_t numel;
  const T* x;
  T* y;
};

/// The parameters that have a gradient, each once.
std::vector<Variable> with_grad(
    std::string_view who, const std::vector<Variable>& parameters) {
  std::vector<Variable> result;
  std::unordered_set<const Node*> seen;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Variable& p = parameters[i];
    if (!p.defined()) {
      fail(who, "parameter ", i, " must be defined, got an empty handle");
    }
    if (p.grad().defined() && seen.insert(p.node()).second) {
      result.push_back(p);
    }
  }
  return result;
}

/// The gradients of type T.
template <typename T>
std::vector<Row<T>> rows_of(const std::vector<Tensor>& grads) {
  std::vector<Row<T>> rows;
  for (const Tensor& grad : grads) {
    if (grad.dtype() == dtype_of<T>) {
      rows.push_back({grad.numel(), grad.data<T>(), nullptr});
    }
  }
  return rows;
}

/// Gives f(x, n) of pieces of all gradients to join(a, b), in their order: the
/// same bits for any number of threads.
template <typename F, typename Join>
double reduce(const std::vector<Tensor>& grads, const F& f, const Join& join) {
  double result = 0;
  const auto of_type = [&]<typename T>(TypeTag<T>) {
    const std::vector<Row<T>> rows = rows_of<T>(grads);
    std::vector<double> parts(std::max<int64_t>(1, piece_count(rows, kCost)));
    for_each_row(
        rows,
        kCost,
        [&](const Row<T>& row, int64_t begin, int64_t end, int64_t piece) {
          parts[piece] = join(parts[piece], f(row.x + begin, end - begin));
        });
    for (const double part : parts) {
      result = join(result, part);
    }
  };
  of_type(TypeTag<float>{});
  of_type(TypeTag<double>{});
  return result;
}

template <typename T>
double sum_of_squares(const T* x, int64_t n, double scale) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(x[i]) * scale;
    sum += v * v;
  }
  return sum;
}

double sum_of_squares(const std::vector<Tensor>& grads, double scale) {
  return reduce(
      grads,
      [scale]<typename T>(const T* x, int64_t n) {
        return simd::call<sum_of_squares<T>>(x, n, scale);
      },
      std::plus<>());
}

/// NaN if any is.
double largest(const std::vector<Tensor>& grads) {
  const auto join = [](double a, double b) {
    return a >= b || std::isnan(a) ? a : b;
  };
  return reduce(
      grads,
      [join]<typename T>(const T* x, int64_t n) {
        double most = 0;
        for (int64_t i = 0; i < n; ++i) {
          most = join(most, std::abs(static_cast<double>(x[i])));
        }
        return most;
      },
      join);
}

double norm_of(const std::vector<Tensor>& grads) {
  const double sum = sum_of_squares(grads, 1);
  if (sum > 1e-280 && std::isfinite(sum)) {
    return std::sqrt(sum);
  }
  // Squares may have left the range of float64: scale by a power of two, which
  // rounds nothing, that brings the largest near 1.
  const double most = largest(grads);
  if (most == 0 || !std::isfinite(most)) {
    return most;
  }
  const int exponent = std::clamp(std::ilogb(most), -1000, 1000);
  return std::ldexp(
      std::sqrt(sum_of_squares(grads, std::ldexp(1, -exponent))), exponent);
}

template <typename T, typename F>
void map_row(const T* x, T* y, int64_t n, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = f(x[i]);
  }
}

/// Replaces every element x of the gradients by f(x), in place where nobody
/// else sees the memory.
template <typename F>
void map_grads(const std::vector<Variable>& parameters, const F& f) {
  std::vector<Tensor> results;
  for (const Variable& p : parameters) {
    const Variable grad = p.grad();
    const Tensor& x = grad.value();
    // Two handles: this one and the parameter's.
    const bool is_private = grad.node()->variable_count() == 2 &&
                            grad.is_leaf() && x.is_unique() &&
                            x.is_contiguous();
    results.push_back(is_private ? x : Tensor(x.shape(), x.dtype()));
  }
  std::vector<Tensor> sources;
  for (const Variable& p : parameters) {
    sources.push_back(p.grad().value().contiguous());
  }
  const auto of_type = [&]<typename T>(TypeTag<T>) {
    std::vector<Row<T>> rows;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].dtype() == dtype_of<T>) {
        rows.push_back(
            {results[i].numel(),
             sources[i].data<T>(),
             results[i].mutable_data<T>()});
      }
    }
    for_each_row(
        rows,
        kCost,
        [&](const Row<T>& row, int64_t begin, int64_t end, int64_t) {
          simd::call<map_row<T, F>>(
              row.x + begin, row.y + begin, end - begin, f);
        });
  };
  of_type(TypeTag<float>{});
  of_type(TypeTag<double>{});
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].shares_storage(parameters[i].grad().value())) {
      parameters[i].set_grad(Variable(results[i]));
    }
  }
}

}  // namespace

double clip_grad_norm(
    const std::vector<Variable>& parameters,
    double max_norm,
    ClipNormOptions options) {
  const char* const who = "clip_grad_norm";
  if (!(max_norm >= 0)) {
    fail(who, "max_norm must be >= 0, got ", max_norm);
  }
  if (options.norm_type != 2 && options.norm_type != INFINITY) {
    fail(who, "norm_type must be 2 or INFINITY, got ", options.norm_type);
  }
  const std::vector<Variable> clipped = with_grad(who, parameters);
  double norm = 0;
  {
    std::vector<Tensor> grads;
    for (const Variable& p : clipped) {
      grads.push_back(p.grad().value().contiguous());
    }
    norm = options.norm_type == 2 ? norm_of(grads) : largest(grads);
  }
  if (!std::isfinite(norm)) {
    if (options.error_if_nonfinite) {
      fail<std::runtime_error>(
          who, "the gradients must be finite, got a norm of ", norm);
    }
    return norm;
  }
  const double scale = max_norm / (norm + 1e-6);
  if (scale < 1) {
    map_grads(clipped, [scale]<typename T>(T x) {
      return static_cast<T>(static_cast<double>(x) * scale);
    });
  }
  return norm;
}

void clip_grad_value(const std::vector<Variable>& parameters, double limit) {
  const char* const who = "clip_grad_value";
  if (!(limit >= 0)) {
    fail(who, "limit must be >= 0, got ", limit);
  }
  map_grads(with_grad(who, parameters), [limit]<typename T>(T x) {
    const T most = static_cast<T>(limit);
    return x > most ? most : x < -most ? -most : x;
  });
}

}  // namespace heed
