#include "autograd/gradcheck.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ostream>
#include <random>
#include <sstream>

#include "autograd/grad_mode.h"

namespace heed {
namespace {

using Function = GradcheckVectorFunction;
using Values = std::vector<std::vector<double>>;

constexpr size_t kMismatchesShown = 8;

Function as_vector_function(const GradcheckFunction& function) {
  return [&function](const std::vector<Variable>& inputs) {
    return std::vector<Variable>{function(inputs)};
  };
}

GradcheckReport failed(std::string_view who, const std::string& what) {
  GradcheckReport report;
  report.ok = false;
  report.message = std::string(who) + ": " + what;
  return report;
}

// A number in [-1.5, -1] or [0.5, 1]: none is so small that it hides an error.
double random_weight(std::mt19937_64& generator) {
  const double uniform =
      static_cast<double>(generator() >> 11) * (1.0 / (uint64_t{1} << 53));
  return uniform < 0.5 ? uniform - 1.5 : uniform;
}

Tensor random_like(const Variable& y, std::mt19937_64& generator) {
  Tensor weights(y.shape(), kFloat64);
  double* const w = weights.mutable_data<double>();
  std::generate_n(w, weights.numel(), [&] { return random_weight(generator); });
  return weights;
}

// A copy that the function cannot tell from `x` but that nobody else sees. An
// expanded tensor becomes a dense one, so that its elements can differ.
Tensor private_copy(const Tensor& x) {
  if (x.has_internal_overlap() || x.numel() == 0) {
    return x.clone();
  }
  int64_t extent = 1;
  for (int64_t i = 0; i < x.dim(); ++i) {
    extent += (x.shape()[i] - 1) * x.strides()[i];
  }
  Tensor storage({extent}, x.dtype());
  storage.zero_();
  Tensor copy = storage.as_strided(x.shape(), x.strides(), 0);
  copy.copy_(x);
  return copy;
}

Dims index_of(int64_t element, const Shape& shape) {
  Dims index = shape;
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    index[i] = element % shape[i];
    element /= shape[i];
  }
  return index;
}

double& element_of(Tensor& x, const Dims& index) {
  int64_t offset = 0;
  for (int64_t i = 0; i < index.size(); ++i) {
    offset += index[i] * x.strides()[i];
  }
  return x.mutable_data<double>()[offset];
}

bool all_finite(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](auto& list) {
    return std::all_of(
        list.begin(), list.end(), [](double v) { return std::isfinite(v); });
  });
}

bool same_bits(const Values& a, const Values& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](auto& x, auto& y) {
        return std::equal(
            x.begin(), x.end(), y.begin(), y.end(), [](double v, double w) {
              return std::bit_cast<uint64_t>(v) == std::bit_cast<uint64_t>(w);
            });
      });
}

Values values_of(const std::vector<Variable>& variables) {
  Values values;
  for (const Variable& x : variables) {
    values.push_back(
        x.defined() ? x.value().to_vector<double>() : std::vector<double>());
  }
  return values;
}

// Checks one function at one point; `who` is the name in its messages.
class Check {
 public:
  Check(
      std::string_view who,
      const Function& function,
      const std::vector<Variable>& inputs,
      const GradcheckOptions& options);

  GradcheckReport run();
  /// Whether the gradients with and without create_graph agree.
  GradcheckReport compare_create_graph();
  /// Other random numbers, one for each output element.
  std::vector<Variable> random_output_gradients() const;

 private:
  std::vector<Variable> leaves(const std::vector<Tensor>& tensors) const;
  std::vector<Variable> call(const std::vector<Variable>& inputs) const;
  Values values_at(const std::vector<Tensor>& tensors) const;
  std::vector<Variable> gradients(bool create_graph) const;
  /// The derivative of the weighted outputs along one element, which is
  /// moved and put back.
  double numeric(std::vector<Tensor>& at, double& element) const;
  bool close(double a, double b) const {
    return std::abs(a - b) <= options_.atol + options_.rtol * std::abs(b);
  }
  bool close(const Values& a, const Values& b) const;
  void describe(GradcheckReport& report) const;

  std::string_view who_;
  const Function& function_;
  GradcheckOptions options_;
  std::vector<Tensor> originals_;
  std::vector<bool> wanted_;  // by input: whether it requires a gradient
  std::vector<Tensor> weights_;
  Values weight_values_;
};

Check::Check(
    std::string_view who,
    const Function& function,
    const std::vector<Variable>& inputs,
    const GradcheckOptions& options)
    : who_(who), function_(function), options_(options) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Variable& x = inputs[i];
    if (!x.defined()) {
      fail(who, "input ", i, " must be defined, got an empty handle");
    }
    if (x.requires_grad() && x.dtype() != kFloat64) {
      fail(
          who,
          "an input that requires a gradient must be float64, got ",
          x.dtype(),
          " for input ",
          i);
    }
    originals_.push_back(x.value());
    wanted_.push_back(x.requires_grad());
  }
  if (std::find(wanted_.begin(), wanted_.end(), true) == wanted_.end()) {
    fail(who, "at least one input must require a gradient, got none");
  }
  if (!(options.eps > 0)) {
    fail(who, "eps must be positive, got ", options.eps);
  }
}

std::vector<Variable> Check::leaves(const std::vector<Tensor>& tensors) const {
  std::vector<Variable> leaves;
  for (size_t i = 0; i < tensors.size(); ++i) {
    leaves.emplace_back(tensors[i], wanted_[i]);
  }
  return leaves;
}

std::vector<Variable> Check::call(const std::vector<Variable>& inputs) const {
  const GradMode mode(true);
  std::vector<Variable> outputs = function_(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || outputs[i].dtype() != kFloat64) {
      fail(
          who_,
          "each output of the function must be float64, got ",
          outputs[i].defined() ? dtype_name(outputs[i].dtype())
                               : "an empty handle",
          " for output ",
          i);
    }
  }
  return outputs;
}

Values Check::values_at(const std::vector<Tensor>& tensors) const {
  return values_of(call(leaves(tensors)));
}

std::vector<Variable> Check::gradients(bool create_graph) const {
  const std::vector<Variable> inputs = leaves(originals_);
  const std::vector<Variable> results = call(inputs);
  std::vector<Variable> outputs;
  std::vector<Variable> wanted;
  GradOptions options{.create_graph = create_graph, .allow_unused = true};
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].requires_grad()) {
      outputs.push_back(results[i]);
      options.grad_outputs.emplace_back(weights_[i]);
    }
  }
  for (const Variable& x : inputs) {
    if (x.requires_grad()) {
      wanted.push_back(x);
    }
  }
  const std::vector<Variable> found = outputs.empty()
                                          ? std::vector<Variable>(wanted.size())
                                          : grad(outputs, wanted, options);
  std::vector<Variable> all;
  for (size_t i = 0, next = 0; i < inputs.size(); ++i) {
    all.push_back(wanted_[i] ? found[next++] : Variable());
  }
  return all;
}

double Check::numeric(std::vector<Tensor>& at, double& element) const {
  const double x = element;
  const double h = options_.eps;
  const auto at_distance = [&](double distance) {
    element = x + distance;
    return values_at(at);
  };
  const Values far_up = at_distance(2 * h);
  const Values up = at_distance(h);
  const Values down = at_distance(-h);
  const Values far_down = at_distance(-2 * h);
  element = x;
  // Differences first: an output that does not change adds exactly nothing.
  double sum = 0;
  for (size_t i = 0; i < up.size(); ++i) {
    for (size_t j = 0; j < up[i].size(); ++j) {
      const double near = up[i][j] - down[i][j];
      const double far = far_up[i][j] - far_down[i][j];
      sum += weight_values_[i][j] * (8 * near - far);
    }
  }
  return sum / (12 * h);
}

bool Check::close(const Values& a, const Values& b) const {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) {
      return false;
    }
    for (size_t j = 0; j < a[i].size(); ++j) {
      if (!close(a[i][j], b[i][j])) {
        return false;
      }
    }
  }
  return true;
}

GradcheckReport Check::run() {
  const Values before = values_of(leaves(originals_));
  const std::vector<Variable> outputs = call(leaves(originals_));
  const Values values = values_of(outputs);
  if (!all_finite(values)) {
    return failed(who_, "the function's value is not finite");
  }
  std::mt19937_64 generator(options_.seed);
  for (const Variable& y : outputs) {
    weights_.push_back(random_like(y, generator));
    weight_values_.push_back(weights_.back().to_vector<double>());
  }
  const std::vector<Variable> analytic = gradients(/*create_graph=*/false);
  const Values analytic_values = values_of(analytic);
  if (!same_bits(values_of(leaves(originals_)), before)) {
    return failed(who_, "the function writes to its inputs");
  }
  if (!all_finite(analytic_values)) {
    return failed(who_, "the analytic gradient is not finite");
  }
  if (!same_bits(values_at(originals_), values) ||
      !same_bits(values_of(gradients(false)), analytic_values)) {
    return failed(
        who_, "the function gives other values when it is called again");
  }
  std::vector<Tensor> copies;
  std::vector<Tensor> dense;
  for (const Tensor& x : originals_) {
    copies.push_back(private_copy(x));
    dense.push_back(x.contiguous());
  }
  if (!close(values_at(dense), values)) {
    return failed(
        who_,
        "the function gives other values for strided than for dense "
        "inputs");
  }

  GradcheckReport report;
  for (size_t i = 0; i < copies.size(); ++i) {
    if (!wanted_[i]) {
      continue;
    }
    bool has_effect = analytic[i].defined();
    for (int64_t k = 0; k < copies[i].numel(); ++k) {
      const Dims index = index_of(k, copies[i].shape());
      const double expected = numeric(copies, element_of(copies[i], index));
      if (!std::isfinite(expected)) {
        std::ostringstream what;
        what << "the function is not finite near input " << i << " at "
             << index;
        return failed(who_, what.str());
      }
      const double found = analytic[i].defined() ? analytic_values[i][k] : 0;
      has_effect |= expected != 0;
      ++report.elements;
      report.largest_difference =
          std::max(report.largest_difference, std::abs(found - expected));
      if (!close(found, expected)) {
        report.mismatches.push_back(
            {static_cast<int64_t>(i), index, found, expected});
      }
    }
    if (!has_effect && !options_.allow_unused) {
      std::ostringstream what;
      what << "input " << i << " " << copies[i].shape()
           << " requires a gradient but plays no part in what the function "
              "returns";
      return failed(who_, what.str());
    }
  }
  describe(report);
  return report;
}

void Check::describe(GradcheckReport& report) const {
  std::ostringstream text;
  text << who_ << ": ";
  if (report.mismatches.empty()) {
    text << report.elements << " gradient elements agree, largest difference "
         << report.largest_difference;
  } else {
    report.ok = false;
    text << report.mismatches.size() << " of " << report.elements
         << " gradient elements are wrong";
    for (size_t i = 0; i < report.mismatches.size(); ++i) {
      if (i == kMismatchesShown) {
        text << "\n  and so on";
        break;
      }
      const GradcheckMismatch& wrong = report.mismatches[i];
      text << "\n  input " << wrong.input << " "
           << originals_[static_cast<size_t>(wrong.input)].shape() << " at "
           << wrong.index << ": analytic " << wrong.analytic << ", numeric "
           << wrong.numeric << ", difference "
           << wrong.analytic - wrong.numeric;
    }
  }
  report.message = text.str();
}

GradcheckReport Check::compare_create_graph() {
  std::mt19937_64 generator(options_.seed);
  for (const Variable& y : call(leaves(originals_))) {
    weights_.push_back(random_like(y, generator));
  }
  const Values plain = values_of(gradients(/*create_graph=*/false));
  const Values recorded = values_of(gradients(/*create_graph=*/true));
  GradcheckReport report;
  if (!close(recorded, plain)) {
    report = failed(
        who_, "the gradient is another one when computed with create_graph");
  }
  return report;
}

std::vector<Variable> Check::random_output_gradients() const {
  std::mt19937_64 generator(options_.seed + 1);
  std::vector<Variable> gradients;
  for (const Variable& y : call(leaves(originals_))) {
    gradients.emplace_back(random_like(y, generator), /*requires_grad=*/true);
  }
  return gradients;
}

// (inputs..., gradients of the outputs...) -> gradients of the inputs.
std::vector<Variable> first_derivatives(
    const Function& function,
    const std::vector<Variable>& arguments,
    size_t n) {
  const std::vector<Variable> inputs(arguments.begin(), arguments.begin() + n);
  const std::vector<Variable> results = function(inputs);
  std::vector<Variable> outputs;
  std::vector<Variable> wanted;
  GradOptions options{.create_graph = true, .allow_unused = true};
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].requires_grad()) {
      outputs.push_back(results[i]);
      options.grad_outputs.push_back(arguments[n + i]);
    }
  }
  for (const Variable& x : inputs) {
    if (x.requires_grad()) {
      wanted.push_back(x);
    }
  }
  if (outputs.empty()) {
    return {};
  }
  std::vector<Variable> gradients = grad(outputs, wanted, options);
  std::erase_if(gradients, [](const Variable& dx) { return !dx.defined(); });
  return gradients;
}

GradcheckReport check_once(
    const Function& function,
    const std::vector<Variable>& inputs,
    const GradcheckOptions& options) {
  return Check("gradcheck", function, inputs, options).run();
}

GradcheckReport check_twice(
    const Function& function,
    const std::vector<Variable>& inputs,
    GradcheckOptions options) {
  constexpr std::string_view who = "gradgradcheck";
  Check check(who, function, inputs, options);
  const GradcheckReport report = check.compare_create_graph();
  if (!report) {
    return report;
  }
  std::vector<Variable> arguments = inputs;
  for (const Variable& dy : check.random_output_gradients()) {
    arguments.push_back(dy);
  }
  // The gradient of a linear function does not depend on its input.
  options.allow_unused = true;
  const Function first = [&](const std::vector<Variable>& all) {
    return first_derivatives(function, all, inputs.size());
  };
  return Check(who, first, arguments, options).run();
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const GradcheckReport& report) {
  return out << report.message;
}

GradcheckReport gradcheck(
    const GradcheckFunction& function,
    const std::vector<Variable>& inputs,
    const GradcheckOptions& options) {
  return check_once(as_vector_function(function), inputs, options);
}

GradcheckReport gradcheck(
    const GradcheckVectorFunction& function,
    const std::vector<Variable>& inputs,
    const GradcheckOptions& options) {
  return check_once(function, inputs, options);
}

GradcheckReport gradgradcheck(
    const GradcheckFunction& function,
    const std::vector<Variable>& inputs,
    const GradcheckOptions& options) {
  return check_twice(as_vector_function(function), inputs, options);
}

GradcheckReport gradgradcheck(
    const GradcheckVectorFunction& function,
    const std::vector<Variable>& inputs,
    const GradcheckOptions& options) {
  return check_twice(function, inputs, options);
}

}  // namespace heed
