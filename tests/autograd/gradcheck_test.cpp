#include "autograd/gradcheck.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>

#include "autograd/elementwise.h"
#include "autograd/grad_mode.h"
#include "autograd/record.h"
#include "tensor/reduction.h"

using namespace heed;

namespace {

using Variables = std::vector<Variable>;

Tensor numbers(const Shape& shape, double first = 0.3) {
  Tensor x(shape, kFloat64);
  double* const data = x.mutable_data<double>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    data[i] = first + 0.37 * static_cast<double>(i);
  }
  return x;
}

Variable leaf(const Tensor& x) { return Variable(x, true); }

// x^2 with a derivative that is off by `factor`.
Variable square(const Variable& x, double factor = 1) {
  return record(
      "square",
      x.value() * x.value(),
      {{x, [x = saved(x), factor](const Variable& dy) {
          return dy * x * (2 * factor);
        }}});
}

// Its rule makes a gradient without history.
Variable square_once(const Variable& x) {
  return record(
      "square_once",
      x.value() * x.value(),
      {{x, [x = saved(x)](const Variable& dy) {
          return Variable(dy.value() * x.get().value() * 2);
        }}});
}

std::string text(const GradcheckReport& report) {
  std::ostringstream out;
  out << report;
  return out.str();
}

}  // namespace

TEST_CASE("gradcheck: a right gradient passes, and the report says how well") {
  const auto report = gradcheck(
      [](const Variables& in) { return square(in[0]) * in[1]; },
      {leaf(numbers({2, 3})), leaf(numbers({3}, -1.1))});
  CHECK(report);
  CHECK(report.elements == 9);
  CHECK(report.largest_difference < 1e-10);
  CHECK(report.mismatches.empty());
  CHECK(text(report).starts_with(
      "gradcheck: 9 gradient elements agree, largest difference "));
}

TEST_CASE("gradcheck: an error of one in a million is found and described") {
  const auto report = gradcheck(
      [](const Variables& in) { return in[0] + square(in[1], 1.000001); },
      {leaf(numbers({2, 2})), leaf(numbers({2, 2}))});
  CHECK(!report);
  REQUIRE(report.mismatches.size() == 4);
  const GradcheckMismatch& wrong = report.mismatches[2];
  CHECK(wrong.input == 1);
  CHECK(wrong.index == Dims{1, 0});
  CHECK(wrong.analytic == doctest::Approx(wrong.numeric * 1.000001));
  CHECK(
      text(report).starts_with("gradcheck: 4 of 8 gradient elements are wrong\n"
                               "  input 1 [2, 2] at [0, 0]: analytic "));
  CHECK(text(report).find(", numeric ") != std::string::npos);
  CHECK(text(report).find(", difference ") != std::string::npos);
}

TEST_CASE("gradcheck: a report shows eight wrong elements and keeps all") {
  const auto report = gradcheck(
      [](const Variables& in) { return square(in[0], 2); },
      {leaf(numbers({20}))});
  CHECK(report.mismatches.size() == 20);
  CHECK(text(report).find("at [7]") != std::string::npos);
  CHECK(text(report).find("at [8]") == std::string::npos);
  CHECK(text(report).ends_with("and so on"));
}

TEST_CASE("gradcheck: an error that a plain sum would cancel is found") {
  // The outputs x / sum(x) sum to 1; this rule says that nothing depends on x.
  const auto report = gradcheck(
      [](const Variables& in) {
        const Tensor& x = in[0].value();
        return record("share", x / sum(x), {{in[0], [](const Variable& dy) {
                                               return dy * 0;
                                             }}});
      },
      {leaf(numbers({4}))});
  CHECK(!report);
}

TEST_CASE("gradcheck: a lost history is found") {
  const auto report = gradcheck(
      [](const Variables& in) { return square(in[0].detach()) + in[1]; },
      {leaf(numbers({2})), leaf(numbers({2}))});
  CHECK(!report);
  REQUIRE(report.mismatches.size() == 2);
  CHECK(report.mismatches[0].analytic == 0);
  CHECK(!gradcheck(
      [](const Variables& in) { return in[0].detach(); },
      {leaf(numbers({2}))}));
}

TEST_CASE("gradcheck: an input without effect is an error unless allowed") {
  const Variable weight = leaf(numbers({2}));
  const auto function = [&](const Variables& in) {
    return square(in[0]) * weight;  // and not in[1]
  };
  const Variables inputs = {leaf(numbers({2})), weight};
  CHECK(
      text(gradcheck(function, inputs)) ==
      "gradcheck: input 1 [2] requires a gradient but plays no part in what "
      "the function returns");
  CHECK(gradcheck(function, inputs, {.allow_unused = true}));
}

TEST_CASE("gradcheck: values that are not finite are an error") {
  const auto root = [](const Variables& in) { return sqrt(in[0]); };
  CHECK(
      text(gradcheck(root, {leaf(numbers({2}, -0.1))})) ==
      "gradcheck: the function's value is not finite");
  CHECK(
      text(gradcheck(root, {leaf(numbers({2}, 0))})) ==
      "gradcheck: the analytic gradient is not finite");
  CHECK(
      text(gradcheck(root, {leaf(numbers({2}, 1e-4))})) ==
      "gradcheck: the function is not finite near input 0 at [0]");
}

TEST_CASE("gradcheck: a function that varies from call to call is an error") {
  double calls = 0;
  const auto report = gradcheck(
      [&](const Variables& in) { return in[0] * (calls += 1); },
      {leaf(numbers({2}))});
  CHECK(
      text(report) ==
      "gradcheck: the function gives other values when it is called again");
}

TEST_CASE("gradcheck: a function that reads past strides is an error") {
  // Takes the elements in the order they lie in memory.
  const auto careless = [](const Variables& in) {
    Tensor y(in[0].shape(), kFloat64);
    const double* const x = in[0].value().data<double>();
    std::copy_n(x, y.numel(), y.mutable_data<double>());
    return record(
        "careless", y, {{in[0], [](const Variable& dy) { return dy; }}});
  };
  CHECK(gradcheck(careless, {leaf(numbers({2, 2}))}));
  CHECK(
      text(gradcheck(careless, {leaf(numbers({2, 2}).transpose(0, 1))})) ==
      "gradcheck: the function gives other values for strided than for dense "
      "inputs");
}

TEST_CASE("gradcheck: strided and expanded inputs are seen as they are") {
  bool was_strided = false;
  bool was_expanded = false;
  const auto function = [&](const Variables& in) {
    was_strided |= !in[0].value().is_contiguous();
    was_expanded |= in[1].value().has_internal_overlap();
    return in[0] * square(in[1]);
  };
  const Tensor storage = numbers({3, 8});
  const Tensor strided = storage.slice(1, 1, 8, 2).transpose(0, 1);
  const Tensor expanded = numbers({3}).expand({4, 3});
  const auto report = gradcheck(function, {leaf(strided), leaf(expanded)});
  CHECK_MESSAGE(report.ok, report.message);
  CHECK(report.elements == 24);
  CHECK(was_strided);
  CHECK(was_expanded);
  CHECK(gradgradcheck(function, {leaf(strided), leaf(expanded)}));
}

TEST_CASE("gradcheck: inputs stay as they are, also after an exception") {
  const Variable x = leaf(numbers({3}));
  const std::vector<double> before = x.value().to_vector<double>();
  const uint32_t version = x.value().version();
  int calls = 0;
  CHECK_THROWS_AS(
      gradcheck(
          [&](const Variables& in) {
            if (++calls == 9) {
              throw std::runtime_error("enough");
            }
            return square(in[0]);
          },
          {x}),
      std::runtime_error);
  CHECK(calls == 9);
  CHECK(gradcheck([](const Variables& in) { return square(in[0]); }, {x}));
  CHECK(x.value().to_vector<double>() == before);
  CHECK(x.value().version() == version);
  CHECK(!x.grad().defined());
}

TEST_CASE("gradcheck: a function that writes to its inputs is an error") {
  const auto report = gradcheck(
      [](const Variables& in) {
        const Variable y = in[0] * 2;
        Tensor x = in[0].value();
        x.fill_(1);
        return y;
      },
      {leaf(numbers({2}))});
  CHECK(text(report) == "gradcheck: the function writes to its inputs");
}

TEST_CASE("gradcheck: several outputs, constants and empty inputs") {
  const auto report = gradcheck(
      [](const Variables& in) {
        return Variables{square(in[0]), in[0] * in[1], in[1]};
      },
      {leaf(numbers({2, 3})), Variable(numbers({3}))});
  CHECK(report);
  CHECK(report.elements == 6);
  CHECK(gradcheck(
      [](const Variables& in) { return square(in[0]); },
      {leaf(numbers({0, 3}))}));
  CHECK(gradcheck(
      [](const Variables& in) { return in[0]; }, {leaf(numbers({2}))}));
}

TEST_CASE("gradcheck: works where recording is off") {
  const NoGradGuard guard;
  CHECK(gradcheck(
      [](const Variables& in) { return square(in[0]); }, {leaf(numbers({2}))}));
  CHECK(!grad_enabled());
}

TEST_CASE("gradcheck: what it cannot check is refused") {
  const auto identity = [](const Variables& in) { return in[0] * 1; };
  CHECK_THROWS_WITH_AS(
      gradcheck(identity, {leaf(numbers({2}).to(kFloat32))}),
      "gradcheck: an input that requires a gradient must be float64, got "
      "float32 for input 0",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      gradcheck(identity, {Variable(numbers({2}))}),
      "gradcheck: at least one input must require a gradient, got none",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      gradcheck(identity, {Variable()}),
      "gradcheck: input 0 must be defined, got an empty handle",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      gradcheck(
          [](const Variables& in) { return in[0].to(kFloat32); },
          {leaf(numbers({2}))}),
      "gradcheck: each output of the function must be float64, got float32 for "
      "output 0",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      gradcheck(identity, {leaf(numbers({2}))}, {.eps = 0}),
      "gradcheck: eps must be positive, got 0",
      std::invalid_argument);
}

TEST_CASE("gradgradcheck: right second derivatives pass") {
  const auto report = gradgradcheck(
      [](const Variables& in) { return square(in[0]) * sin(in[1]); },
      {leaf(numbers({2, 3})), leaf(numbers({3}))});
  CHECK_MESSAGE(report.ok, report.message);
  CHECK(report.elements == 6 + 3 + 6);
  CHECK(gradgradcheck(
      [](const Variables& in) { return in[0] + in[1]; },
      {leaf(numbers({2})), leaf(numbers({2}))}));
}

TEST_CASE("gradgradcheck: a gradient without history is found") {
  const auto function = [](const Variables& in) { return square_once(in[0]); };
  CHECK(gradcheck(function, {leaf(numbers({3}))}));
  const auto report = gradgradcheck(function, {leaf(numbers({3}))});
  CHECK(!report);
  CHECK(text(report).starts_with(
      "gradgradcheck: 6 of 6 gradient elements are wrong"));
}

TEST_CASE("gradgradcheck: a fast path that differs is found") {
  const auto report = gradgradcheck(
      [](const Variables& in) {
        const Variable& x = in[0];
        return record(
            "square",
            x.value() * x.value(),
            {{x, [x = saved(x)](const Variable& dy) {
                return dy * x * (grad_enabled() ? 2 : 2.0001);
              }}});
      },
      {leaf(numbers({3}))});
  CHECK(
      text(report) ==
      "gradgradcheck: the gradient is another one when computed with "
      "create_graph");
}
