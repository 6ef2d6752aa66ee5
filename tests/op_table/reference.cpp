#include "tests/op_table/reference.h"

namespace heed::op_table {
namespace {

Dims positive(const Dims& dims, int64_t rank) {
  Dims result = dims;
  for (int64_t i = 0; i < dims.size(); ++i) {
    result[i] += dims[i] < 0 ? rank : 0;
  }
  return result;
}

}  // namespace

double Array::operator()(const Index& index) const {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    offset = offset * shape[static_cast<int64_t>(i)] + index[i];
  }
  return data.at(static_cast<size_t>(offset));
}

Array build(const Shape& shape, const std::function<double(const Index&)>& f) {
  Array y{shape, {}};
  Index index(static_cast<size_t>(shape.size()));
  for (int64_t n = 0; n < shape.numel(); ++n) {
    int64_t rest = n;
    for (int64_t i = shape.size() - 1; i >= 0; --i) {
      index[static_cast<size_t>(i)] = rest % shape[i];
      rest /= shape[i];
    }
    y.data.push_back(f(index));
  }
  return y;
}

double broadcast_at(const Array& x, const Index& index) {
  Index own(index.end() - x.dim(), index.end());
  for (int64_t i = 0; i < x.dim(); ++i) {
    own[static_cast<size_t>(i)] *= x.shape[i] != 1;
  }
  return x(own);
}

Reference each(double (*f)(double)) {
  return [f](const Arrays& in) -> Arrays {
    return {build(in[0].shape, [&](const Index& i) { return f(in[0](i)); })};
  };
}

Reference each(double (*f)(double, double)) {
  return [f](const Arrays& in) -> Arrays {
    const Shape shape = broadcast_shapes("each", in[0].shape, in[1].shape);
    return {build(shape, [&](const Index& i) {
      return f(broadcast_at(in[0], i), broadcast_at(in[1], i));
    })};
  };
}

Array fold(const Array& x, Fold f, const Dims& dims, bool keepdim) {
  const Dims reduced = positive(dims, x.dim());
  const Shape shape = reduced_shape(x.shape, reduced, keepdim);
  std::vector<std::vector<double>> groups(static_cast<size_t>(shape.numel()));
  build(x.shape, [&](const Index& index) {
    size_t group = 0;
    for (int64_t i = 0; i < x.dim(); ++i) {
      if (!reduced.contains(i)) {
        group = group * static_cast<size_t>(x.shape[i]) +
                static_cast<size_t>(index[static_cast<size_t>(i)]);
      }
    }
    groups[group].push_back(x(index));
    return 0.0;
  });
  Array y{shape, {}};
  for (const std::vector<double>& group : groups) {
    y.data.push_back(f(group));
  }
  return y;
}

Reference fold(Fold f, const Dims& dims, bool keepdim) {
  return [=](const Arrays& in) -> Arrays {
    return {fold(in[0], f, dims, keepdim)};
  };
}

Reference fold_all(Fold f) {
  return [f](const Arrays& in) -> Arrays {
    return {Array{{}, {f(in[0].data)}}};
  };
}

Reference along(int64_t dim, Line f) {
  return [=](const Arrays& in) -> Arrays {
    const Array& x = in[0];
    const size_t d = static_cast<size_t>(dim < 0 ? dim + x.dim() : dim);
    return {build(x.shape, [&](const Index& index) {
      std::vector<double> line;
      Index i = index;
      for (i[d] = 0; i[d] < x.size(dim); ++i[d]) {
        line.push_back(x(i));
      }
      return f(line)[static_cast<size_t>(index[d])];
    })};
  };
}

Array matmul(const Array& a, const Array& b) {
  const bool row = a.dim() == 1;
  const bool column = b.dim() == 1;
  const Array left{row ? Shape{1, a.size(0)} : a.shape, a.data};
  const Array right{column ? Shape{b.size(0), 1} : b.shape, b.data};
  const auto batch = [](const Array& x) {
    Dims sizes = x.shape;
    sizes.erase(sizes.size() - 1);
    sizes.erase(sizes.size() - 1);
    return Shape(sizes);
  };
  const Shape batches = broadcast_shapes("matmul", batch(left), batch(right));
  Dims full = batches;
  full.push_back(left.size(-2));
  full.push_back(right.size(-1));
  Array y = build(Shape(full), [&](const Index& index) {
    double sum = 0;
    for (int64_t k = 0; k < left.size(-1); ++k) {
      const auto at = [&](const Array& x, int64_t i, int64_t j) {
        Index own;
        const int64_t skipped = static_cast<int64_t>(index.size()) - x.dim();
        for (int64_t d = 0; d < x.dim() - 2; ++d) {
          own.push_back(
              x.shape[d] == 1 ? 0 : index[static_cast<size_t>(d + skipped)]);
        }
        own.push_back(i);
        own.push_back(j);
        return x(own);
      };
      sum += at(left, index[index.size() - 2], k) *
             at(right, k, index[index.size() - 1]);
    }
    return sum;
  });
  Dims shape = batches;
  if (!row) {
    shape.push_back(left.size(-2));
  }
  if (!column) {
    shape.push_back(right.size(-1));
  }
  y.shape = Shape(shape);
  return y;
}

}  // namespace heed::op_table
