#include "tensor/print.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "tensor/creation.h"
#include "tensor/elementwise.h"

using namespace heed;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

}  // namespace

TEST_CASE("print: brackets and columns are aligned") {
  CHECK(
      to_string(tensor({{1., 2.5}, {3.25, kInf}})) ==
      "tensor([[1.  , 2.5 ],\n"
      "        [3.25,  inf]])");
  CHECK(
      to_string(tensor({{1., -2.5}, {3.25, kNan}}, kFloat64)) ==
      "tensor([[ 1.  , -2.5 ],\n"
      "        [ 3.25,   nan]], dtype=float64)");
  CHECK(to_string(tensor({-1, 100, 20})) == "tensor([ -1, 100,  20])");
  CHECK(to_string(tensor({true, false})) == "tensor([ true, false])");
  CHECK(
      to_string(arange(8).reshape({2, 2, 2})) ==
      "tensor([[[0, 1],\n"
      "         [2, 3]],\n"
      "\n"
      "        [[4, 5],\n"
      "         [6, 7]]])");
}

TEST_CASE("print: numbers without dimensions, no numbers, no tensor") {
  CHECK(to_string(tensor(2.5)) == "tensor(2.5)");
  CHECK(to_string(tensor(3.)) == "tensor(3.)");
  CHECK(to_string(tensor(7)) == "tensor(7)");
  CHECK(to_string(tensor(true)) == "tensor(true)");
  CHECK(to_string(tensor(-kInf)) == "tensor(-inf)");
  CHECK(to_string(zeros({0})) == "tensor([])");
  CHECK(
      to_string(zeros({2, 0}, kInt64)) ==
      "tensor([], shape=[2, 0], dtype=int64)");
  CHECK(to_string(Tensor()) == "tensor(undefined)");
}

TEST_CASE("print: as many digits as the dtype tells apart, 8 at most") {
  CHECK(
      to_string(tensor({0.1, 0.2, 1. / 3})) ==
      "tensor([0.1       , 0.2       , 0.33333334])");
  CHECK(
      to_string(tensor({0.1, 0.2, 1. / 3}, kFloat64)) ==
      "tensor([0.1       , 0.2       , 0.33333333], dtype=float64)");
  CHECK(
      to_string(tensor({1. / 3, 2.}), {.precision = 3}) ==
      "tensor([0.333, 2.   ])");
  CHECK(to_string(tensor({123456.789})) == "tensor([123456.79])");
  CHECK(to_string(tensor({-0., 1.})) == "tensor([-0.,  1.])");
}

TEST_CASE("print: an exponent where sizes differ too much") {
  CHECK(to_string(tensor({1e-5, 2.5e10})) == "tensor([1.0e-05, 2.5e+10])");
  CHECK(to_string(tensor({1e8, 0.})) == "tensor([1.e+08, 0.e+00])");
  CHECK(to_string(tensor({1., 1001.})) == "tensor([1.000e+00, 1.001e+03])");
  CHECK(to_string(tensor({1., 1000.})) == "tensor([   1., 1000.])");
  CHECK(to_string(tensor({kInf, 1e9})) == "tensor([   inf, 1.e+09])");
  CHECK(
      to_string(tensor({5e-324}, kFloat64)) ==
      "tensor([5.e-324], dtype=float64)");
}

TEST_CASE("print: long rows are wrapped") {
  CHECK(
      to_string(arange(30)) ==
      "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, "
      "15, 16,\n"
      "        17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])");
}

TEST_CASE("print: more than a thousand elements are summarised") {
  CHECK(to_string(arange(1000)).find("...") == std::string::npos);
  CHECK(
      to_string(arange(2000)) ==
      "tensor([   0,    1,    2, ..., 1997, 1998, 1999], shape=[2000])");
  CHECK(
      to_string(arange(10000).reshape({100, 100})) ==
      "tensor([[   0,    1,    2, ...,   97,   98,   99],\n"
      "        [ 100,  101,  102, ...,  197,  198,  199],\n"
      "        [ 200,  201,  202, ...,  297,  298,  299],\n"
      "        ...,\n"
      "        [9700, 9701, 9702, ..., 9797, 9798, 9799],\n"
      "        [9800, 9801, 9802, ..., 9897, 9898, 9899],\n"
      "        [9900, 9901, 9902, ..., 9997, 9998, 9999]], shape=[100, 100])");
  CHECK(
      to_string(arange(5), {.threshold = 4, .edge_items = 1}) ==
      "tensor([0, ..., 4], shape=[5])");
  CHECK_THROWS_AS(
      to_string(arange(5), {.edge_items = 0}), std::invalid_argument);
}

TEST_CASE("print: what is not shown sets no width") {
  Tensor x = zeros({2000});
  x[1000].fill_(123456);
  CHECK(to_string(x) == "tensor([0., 0., 0., ..., 0., 0., 0.], shape=[2000])");
}

TEST_CASE("print: strided tensors, and operator<<") {
  std::ostringstream out;
  out << arange(6).reshape({2, 3}).transpose(0, 1);
  CHECK(
      out.str() ==
      "tensor([[0, 3],\n"
      "        [1, 4],\n"
      "        [2, 5]])");
}
