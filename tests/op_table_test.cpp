#include "tests/op_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>

#include "autograd/grad_mode.h"
#include "autograd/gradcheck.h"
#include "autograd/node.h"
#include "tensor/memory.h"

using namespace heed;
using namespace heed::op_table;

namespace {

using Tensors = std::vector<Tensor>;
using Variables = std::vector<Variable>;

// Lists of inputs.

uint64_t seed_of(const Row& row) {
  uint64_t seed = 14695981039346656037u;  // FNV-1a
  for (const char c : row.name) {
    seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return seed;
}

Arrays values_for(const Row& row, const Shapes& shapes) {
  int64_t count = 0;
  for (const Shape& shape : shapes) {
    count += shape.numel();
  }
  count = std::max<int64_t>(count, 24);
  std::vector<double> pool;
  for (int64_t i = 0; i < count; ++i) {
    const bool negative = row.domain == Domain::real && i % 2 == 1;
    const int64_t step = row.domain == Domain::real ? i / 2 : i;
    const double size = 0.3637 + 0.1 * static_cast<double>(step);
    pool.push_back(negative ? 0.0274 - size : size);
  }
  std::mt19937_64 generator(seed_of(row));
  for (size_t i = pool.size(); i > 1; --i) {  // std::shuffle is not portable
    std::swap(pool[i - 1], pool[generator() % i]);
  }
  Arrays arrays;
  auto next = pool.begin();
  for (const Shape& shape : shapes) {
    arrays.push_back({shape, {next, next + shape.numel()}});
    next += shape.numel();
  }
  return arrays;
}

Tensor to_tensor(const Array& x, DType dtype) {
  Tensor y(x.shape, kFloat64);
  std::copy(x.data.begin(), x.data.end(), y.mutable_data<double>());
  return y.to(dtype);
}

Array to_array(const Tensor& x) { return {x.shape(), x.to_vector<double>()}; }

Arrays to_arrays(const Tensors& list) {
  Arrays arrays;
  for (const Tensor& x : list) {
    arrays.push_back(to_array(x));
  }
  return arrays;
}

Tensors inputs_for(const Row& row, const Shapes& shapes, DType dtype) {
  Tensors inputs;
  for (const Array& x : values_for(row, shapes)) {
    inputs.push_back(to_tensor(x, dtype));
  }
  return inputs;
}

Variables leaves(const Tensors& inputs, bool requires_grad = true) {
  Variables list;
  for (const Tensor& x : inputs) {
    list.emplace_back(x, requires_grad);
  }
  return list;
}

// The same numbers laid out otherwise in memory.

Tensor transposed(const Tensor& x) {
  Dims sizes;
  Dims reversed;
  for (int64_t i = x.dim(); i-- > 0;) {
    sizes.push_back(x.shape()[i]);
    reversed.push_back(i);
  }
  Tensor y = Tensor(Shape(sizes), x.dtype()).permute(reversed);
  return y.copy_(x);
}

// Every second element of a storage whose others are NaN.
Tensor sliced(const Tensor& x) {
  const Tensor flat = x.dim() == 0 ? x.reshape({1}) : x;
  Dims sizes = flat.shape();
  const int64_t last = flat.dim() - 1;
  sizes[last] = 2 * sizes[last] + 1;
  Tensor storage(Shape(sizes), x.dtype());
  storage.fill_(std::numeric_limits<double>::quiet_NaN());
  Tensor y = storage.slice(last, 1, sizes[last], 2);
  y.copy_(flat);
  return x.dim() == 0 ? y.select(0, 0) : y;
}

// The first entry along the first (last) dimension longer than 1, repeated.
Tensor expanded(const Tensor& x, bool last) {
  for (int64_t i = 0; i < x.dim(); ++i) {
    const int64_t dim = last ? x.dim() - 1 - i : i;
    if (x.size(dim) > 1) {
      return x.slice(dim, 0, 1).expand(x.shape());
    }
  }
  return x;
}

// Gradients, contracted with fixed numbers that are no plain sum.

std::vector<Variable> output_gradients(const Variables& outputs) {
  std::mt19937_64 generator(7);
  Variables gradients;
  for (const Variable& y : outputs) {
    Array dy{y.shape(), {}};
    for (int64_t i = 0; i < y.numel(); ++i) {
      dy.data.push_back(static_cast<double>(generator() % 2001) / 1000 - 1);
    }
    gradients.emplace_back(to_tensor(dy, y.dtype()));
  }
  return gradients;
}

Tensors gradients_of(
    const Variables& outputs, const Variables& inputs, bool create_graph) {
  const Variables gradients = grad(
      outputs,
      inputs,
      {.grad_outputs = output_gradients(outputs),
       .create_graph = create_graph});
  Tensors tensors;
  for (const Variable& dx : gradients) {
    tensors.push_back(dx.value());
  }
  return tensors;
}

Tensors gradients_at(
    const Row& row, const Tensors& inputs, bool create_graph = false) {
  const Variables in = leaves(inputs);
  return gradients_of(row.fn(in), in, create_graph);
}

// Comparison.

bool same(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) {
    return false;
  }
  const Tensor x = a.contiguous();
  const Tensor y = b.contiguous();
  const size_t bytes = static_cast<size_t>(x.numel() * itemsize(x.dtype()));
  return bytes == 0 || visit_dtype(x.dtype(), [&]<typename T>(TypeTag<T>) {
           return std::memcmp(x.data<T>(), y.data<T>(), bytes) == 0;
         });
}

bool same(const Tensors& a, const Tensors& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](auto& x, auto& y) {
        return same(x, y);
      });
}

// Empty when a is b within `tolerance`, relative to the largest of b (or 1).
std::string difference(const Arrays& a, const Arrays& b, double tolerance) {
  std::ostringstream text;
  if (a.size() != b.size()) {
    text << a.size() << " instead of " << b.size() << " results";
    return text.str();
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape != b[i].shape) {
      text << "shape " << a[i].shape << " instead of " << b[i].shape;
      return text.str();
    }
    double scale = 1;
    for (const double v : b[i].data) {
      scale = std::isfinite(v) ? std::max(scale, std::abs(v)) : scale;
    }
    for (size_t k = 0; k < a[i].data.size(); ++k) {
      const double x = a[i].data[k];
      const double y = b[i].data[k];
      if (!(std::abs(x - y) <= tolerance * scale) && x != y &&
          !(std::isnan(x) && std::isnan(y))) {
        text << "element " << k << " of result " << i << " is " << x
             << " instead of " << y;
        return text.str();
      }
    }
  }
  return "";
}

std::string difference(const Tensors& a, const Tensors& b, double tolerance) {
  return difference(to_arrays(a), to_arrays(b), tolerance);
}

#define CHECK_CLOSE(a, b, tolerance) CHECK(difference(a, b, tolerance) == "")

// The message with which f throws, or "".
template <typename F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

std::string who(const Row& row) {
  if (!row.who.empty()) {
    return row.who;
  }
  const std::string name = row.name.substr(0, row.name.find('('));
  const size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

bool starts_with_name(const Row& row, const std::string& message) {
  return message.starts_with(who(row) + ": ");
}

std::string text(const Shape& shape) {
  std::ostringstream out;
  out << shape;
  return out.str();
}

std::string text(const Shapes& shapes) {
  std::string all;
  for (const Shape& shape : shapes) {
    all += (all.empty() ? "" : " ") + text(shape);
  }
  return all;
}

// Calls f(row) for each row; an exception fails that row and goes on.
template <typename F>
void for_each_row(const F& f) {
  for (const Row& row : rows()) {
    const std::string name = row.name;
    CAPTURE(name);
    try {
      f(row);
    } catch (const std::exception& error) {
      FAIL_CHECK("unexpected exception: ", std::string(error.what()));
    }
  }
}

template <typename F>
void for_each_case(const F& f) {
  for_each_row([&](const Row& row) {
    for (const Shapes& shapes : row.inputs) {
      const std::string inputs = text(shapes);
      CAPTURE(inputs);
      f(row, shapes);
    }
  });
}

}  // namespace

TEST_CASE(
    "op table: each row has a zero-size input, or says that it must not") {
  const auto any_empty = [](const std::vector<Shapes>& list) {
    return std::any_of(list.begin(), list.end(), [](const Shapes& shapes) {
      return std::any_of(shapes.begin(), shapes.end(), [](const Shape& shape) {
        return shape.numel() == 0;
      });
    });
  };
  for_each_row([&](const Row& row) {
    CHECK((any_empty(row.inputs) || any_empty(row.refused)));
    for (const Shapes& shapes : row.inputs) {
      CHECK(shapes.size() == row.inputs[0].size());
    }
  });
}

TEST_CASE("op table: values equal the float64 reference") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    for (const DType dtype : {kFloat64, kFloat32}) {
      CAPTURE(std::string(dtype_name(dtype)));
      const Tensors inputs = inputs_for(row, shapes, dtype);
      const Tensors outputs = row.fn(inputs);
      CHECK_CLOSE(
          to_arrays(outputs),
          row.reference(to_arrays(inputs)),
          dtype == kFloat64 ? 1e-13 : row.tolerance32);
      for (const Tensor& y : outputs) {
        CHECK(y.dtype() == dtype);
      }
    }
  });
}

TEST_CASE(
    "op table: a Variable's numbers are the Tensor function's, bit by bit") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    const Tensors inputs = inputs_for(row, shapes, kFloat32);
    const Tensors expected = row.fn(inputs);
    const auto numbers = [](const Variables& list) {
      Tensors tensors;
      for (const Variable& y : list) {
        tensors.push_back(y.value());
      }
      return tensors;
    };
    for (const Variable& y : row.fn(leaves(inputs))) {
      CHECK(y.requires_grad());
      CHECK(!y.is_leaf());
    }
    CHECK(same(numbers(row.fn(leaves(inputs))), expected));
    CHECK(same(numbers(row.fn(leaves(inputs, false))), expected));
  });
}

TEST_CASE(
    "op table: without grad mode, or of constants, a result is constant") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    const Tensors inputs = inputs_for(row, shapes, kFloat32);
    const auto check_constant = [](const Variables& outputs) {
      for (const Variable& y : outputs) {
        CHECK(!y.requires_grad());
        CHECK(y.is_leaf());
      }
    };
    check_constant(row.fn(leaves(inputs, false)));
    const NoGradGuard guard;
    // A function that has nothing to do may return the leaf it was given.
    for (const Variable& y : row.fn(leaves(inputs))) {
      CHECK(y.is_leaf());
    }
  });
}

namespace {

// Whether there is something to differentiate: the mean of nothing is NaN.
bool is_finite(const Row& row, const Shapes& shapes) {
  const Arrays outputs = row.reference(values_for(row, shapes));
  return std::all_of(outputs.begin(), outputs.end(), [](const Array& y) {
    return std::all_of(y.data.begin(), y.data.end(), [](double v) {
      return std::isfinite(v);
    });
  });
}

}  // namespace

TEST_CASE("op table: only what is empty has no finite value") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    if (!is_finite(row, shapes)) {
      for (const Tensor& dx :
           gradients_at(row, inputs_for(row, shapes, kFloat64))) {
        CHECK(dx.numel() == 0);
      }
    }
  });
}

TEST_CASE("op table: gradients equal finite differences") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    if (!is_finite(row, shapes)) {
      return;
    }
    const auto report = gradcheck(
        [&](const Variables& in) { return row.fn(in); },
        leaves(inputs_for(row, shapes, kFloat64)));
    CHECK_MESSAGE(report.ok, report.message);
  });
}

TEST_CASE("op table: second derivatives equal finite differences") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    if (!is_finite(row, shapes)) {
      return;
    }
    const auto report = gradgradcheck(
        [&](const Variables& in) { return row.fn(in); },
        leaves(inputs_for(row, shapes, kFloat64)));
    CHECK_MESSAGE(report.ok, report.message);
  });
}

TEST_CASE(
    "op table: gradients of the first order do not need a graph of them") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    const Tensors inputs = inputs_for(row, shapes, kFloat32);
    CHECK_CLOSE(
        gradients_at(row, inputs, /*create_graph=*/true),
        gradients_at(row, inputs, /*create_graph=*/false),
        1e-5);
  });
}

TEST_CASE("op table: float32 gradients are close to float64 gradients") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    const Tensors inputs = inputs_for(row, shapes, kFloat32);
    Tensors precise;
    for (const Tensor& x : inputs) {
      precise.push_back(x.to(kFloat64));
    }
    CHECK_CLOSE(
        gradients_at(row, inputs),
        gradients_at(row, precise),
        10 * row.tolerance32);
  });
}

TEST_CASE("op table: strided inputs count as their numbers do") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    const Tensors dense = inputs_for(row, shapes, kFloat64);
    const auto check_equal = [&](const Tensors& strided, const Tensors& plain) {
      CHECK_CLOSE(row.fn(strided), row.fn(plain), 1e-13);
      for (const bool create_graph : {false, true}) {
        CHECK_CLOSE(
            gradients_at(row, strided, create_graph),
            gradients_at(row, plain, create_graph),
            1e-13);
      }
    };
    Tensors transposed_inputs;
    Tensors sliced_inputs;
    for (const Tensor& x : dense) {
      transposed_inputs.push_back(transposed(x));
      sliced_inputs.push_back(sliced(x));
    }
    check_equal(transposed_inputs, dense);
    check_equal(sliced_inputs, dense);
    for (const bool last : {false, true}) {
      Tensors expanded_inputs;
      Tensors repeated;
      for (const Tensor& x : dense) {
        expanded_inputs.push_back(expanded(x, last));
        repeated.push_back(expanded_inputs.back().clone());
      }
      check_equal(expanded_inputs, repeated);
    }
  });
}

TEST_CASE(
    "op table: an input's gradient does not depend on who else wants one") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    const Tensors inputs = inputs_for(row, shapes, kFloat64);
    const Tensors all = gradients_at(row, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      CAPTURE(i);
      for (const bool create_graph : {false, true}) {
        Variables in = leaves(inputs, false);
        in[i].set_requires_grad(true);
        const Tensors one = gradients_of(row.fn(in), {in[i]}, create_graph);
        CHECK_CLOSE(one, Tensors{all[i]}, 1e-13);
      }
    }
  });
}

TEST_CASE("op table: inputs and incoming gradients are left alone") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    const Tensors inputs = inputs_for(row, shapes, kFloat32);
    Tensors copies;
    for (const Tensor& x : inputs) {
      copies.push_back(x.clone());
    }
    for (const bool create_graph : {false, true}) {
      const Variables in = leaves(inputs);
      const Variables outputs = row.fn(in);
      const Variables dys = output_gradients(outputs);
      Tensors before;
      for (const Variable& dy : dys) {
        before.push_back(dy.value().clone());
      }
      grad(outputs, in, {.grad_outputs = dys, .create_graph = create_graph});
      for (size_t i = 0; i < inputs.size(); ++i) {
        CHECK(same(inputs[i], copies[i]));
      }
      for (size_t i = 0; i < dys.size(); ++i) {
        CHECK(same(dys[i].value(), before[i]));
      }
    }
  });
}

namespace {

void collect_names(const Node* node, std::vector<std::string>& names) {
  if (node != nullptr && !node->is_leaf()) {
    names.push_back(node->name);
    for (const Node::Edge& edge : node->edges()) {
      collect_names(edge.input.get(), names);
    }
  }
}

// What is overwritten between forward and backward must not be used unnoticed.
void check_overwritten(
    const Row& row, const Shapes& shapes, size_t which, bool output) {
  const Tensors inputs = inputs_for(row, shapes, kFloat64);
  const Tensors expected = gradients_at(row, inputs);
  const Variables in = leaves(inputs);
  const Variables outputs = row.fn(in);
  Tensor victim = output ? outputs.at(which).value() : inputs.at(which);
  if (victim.has_internal_overlap() || victim.numel() == 0) {
    return;
  }
  victim.mul_(0.5).add_(3.25);
  try {
    const Tensors found = gradients_of(outputs, in, false);
    CHECK_CLOSE(found, expected, 1e-13);
  } catch (const std::logic_error& error) {
    const std::string message = error.what();
    CAPTURE(message);
    std::vector<std::string> names;
    for (const Variable& y : outputs) {
      collect_names(y.node(), names);
    }
    CHECK(message.starts_with("backward: "));
    CHECK(message.find("overwritten") != std::string::npos);
    CHECK(std::any_of(names.begin(), names.end(), [&](auto& name) {
      return message.find("\"" + name + "\"") != std::string::npos;
    }));
  }
}

}  // namespace

TEST_CASE("op table: a saved value that was overwritten is noticed, by name") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      CAPTURE(i);
      check_overwritten(row, shapes, i, /*output=*/false);
    }
    const size_t outputs = row.fn(inputs_for(row, shapes, kFloat64)).size();
    for (size_t i = 0; i < outputs; ++i) {
      check_overwritten(row, shapes, i, /*output=*/true);
    }
  });
}

TEST_CASE("op table: what an operation recorded is freed") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    const int64_t nodes = live_nodes();
    const int64_t tensors = memory_stats().live_tensors;
    const auto check_baseline = [&] {
      CHECK(live_nodes() == nodes);
      CHECK(memory_stats().live_tensors == tensors);
    };
    { row.fn(leaves(inputs_for(row, shapes, kFloat32))); }
    check_baseline();
    { gradients_at(row, inputs_for(row, shapes, kFloat32)); }
    check_baseline();
    {
      gradients_at(
          row, inputs_for(row, shapes, kFloat32), /*create_graph=*/true);
    }
    check_baseline();
    {
      const Variables in = leaves(inputs_for(row, shapes, kFloat32));
      const Variables outputs = row.fn(in);
      outputs[0].backward(
          output_gradients({outputs[0]})[0], {.retain_graph = true});
      CHECK(!in[0].grad().requires_grad());
    }
    check_baseline();
  });
}

TEST_CASE("op table: mixed dtypes are refused in the operation's name") {
  for_each_case([](const Row& row, const Shapes& shapes) {
    for (size_t i = 0; shapes.size() > 1 && i < shapes.size(); ++i) {
      CAPTURE(i);
      Tensors inputs = inputs_for(row, shapes, kFloat64);
      inputs[i] = inputs[i].to(kFloat32);
      const std::string of_tensors = refusal([&] { row.fn(inputs); });
      const std::string of_variables = refusal([&] { row.fn(leaves(inputs)); });
      CAPTURE(of_tensors);
      CHECK(starts_with_name(row, of_tensors));
      CHECK(of_tensors.find("float32") != std::string::npos);
      CHECK(of_tensors.find("float64") != std::string::npos);
      CHECK(of_variables == of_tensors);
    }
  });
}

TEST_CASE("op table: integers are computed exactly or refused by name") {
  for_each_row([](const Row& row) {
    const Shapes& shapes = row.inputs.at(0);
    Arrays values = values_for(row, shapes);
    Tensors inputs;
    for (Array& x : values) {
      for (double& v : x.data) {
        v = std::floor(10 * v);
      }
      inputs.push_back(to_tensor(x, kInt64));
    }
    const std::string message = refusal([&] { row.fn(inputs); });
    CAPTURE(message);
    if (row.takes_integers) {
      CHECK_CLOSE(to_arrays(row.fn(inputs)), row.reference(values), 0);
    } else {
      CHECK(starts_with_name(row, message));
    }
  });
}

TEST_CASE("op table: shapes that do not fit are refused and shown") {
  for_each_row([](const Row& row) {
    for (const Shapes& shapes : row.refused) {
      const std::string inputs = text(shapes);
      CAPTURE(inputs);
      const Tensors in = inputs_for(row, shapes, kFloat32);
      const std::string of_tensors = refusal([&] { row.fn(in); });
      const std::string of_variables = refusal([&] { row.fn(leaves(in)); });
      CAPTURE(of_tensors);
      CHECK(starts_with_name(row, of_tensors));
      CHECK(of_variables == of_tensors);
      // What came, and what it met or should have been.
      CHECK(std::any_of(shapes.begin(), shapes.end(), [&](const Shape& shape) {
        return of_tensors.find(text(shape)) != std::string::npos;
      }));
      CHECK(
          std::count(of_tensors.begin(), of_tensors.end(), '[') >=
          std::min<int64_t>(2, std::ssize(shapes)));
    }
  });
}

TEST_CASE("op table: an empty handle is an error, not a crash") {
  for_each_row([](const Row& row) {
    for (size_t i = 0; i < row.inputs.at(0).size(); ++i) {
      CAPTURE(i);
      Tensors tensors = inputs_for(row, row.inputs[0], kFloat32);
      Variables variables = leaves(tensors);
      tensors[i] = Tensor();
      variables[i] = Variable();
      // An optional input (a bias) may be empty.
      CHECK_NOTHROW(refusal([&] { row.fn(tensors); }));
      CHECK_NOTHROW(refusal([&] { row.fn(variables); }));
    }
  });
}
