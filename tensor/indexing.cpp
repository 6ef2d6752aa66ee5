#include "tensor/indexing.h"

#include <algorithm>

#include "tensor/strided_loop.h"

namespace heed {
namespace {

// Throws unless index fits x and everything but `dim`, which is returned
// normalised.
int64_t check_index(
    std::string_view who, const Tensor& x, int64_t dim, const Tensor& index) {
  check_defined(who, x);
  check_ids(who, index, "index");
  dim = normalize_dim(who, dim, x.dim());
  bool fits = index.dim() == x.dim();
  for (int64_t d = 0; fits && d < x.dim(); ++d) {
    fits = d == dim || index.shape()[d] <= x.shape()[d];
  }
  if (!fits) {
    fail(
        who,
        "index must have the rank of x and be no larger except in dimension ",
        dim,
        ", got index ",
        index.shape(),
        " and x ",
        x.shape());
  }
  return dim;
}

Dims with_stride(Dims strides, int64_t dim, int64_t stride) {
  strides[dim] = stride;
  return strides;
}

// y[..., j, ...] = x[..., index[..., j, ...], ...]
Tensor pick(
    std::string_view who, const Tensor& x, int64_t dim, const Tensor& index) {
  Tensor y(index.shape(), x.dtype());
  const int64_t size = x.shape()[dim];
  const int64_t step = x.strides()[dim];
  const StridedLoop<3> loop(
      y.shape(),
      {y.strides(), index.strides(), with_stride(x.strides(), dim, 0)});
  const int64_t* const ids = index.data<int64_t>();
  visit_dtype(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    const auto checked = [&](const int64_t* id, int64_t element) {
      if (*id < 0 || *id >= size) {
        fail_out_of_range(who, "index", *id, size, element, index.shape());
      }
      return *id;
    };
    loop.run(2, [&](const auto& offset, int64_t n, const auto& stride) {
      const int64_t* id = ids + offset[1];
      const T* xi = from + offset[2];
      T* yi = to + offset[0];
      if (stride[1] == 0) {  // one id for the whole run
        xi += checked(id, offset[0]) * step;
        if (stride[2] == 1) {
          std::copy_n(xi, n, yi);
          return;
        }
        for (int64_t i = 0; i < n; ++i) {
          yi[i] = xi[i * stride[2]];
        }
        return;
      }
      for (int64_t i = 0; i < n; ++i) {
        const int64_t k = checked(id + i * stride[1], offset[0] + i);
        yi[i] = xi[i * stride[2] + k * step];
      }
    });
  });
  return y;
}

}  // namespace

void fail_out_of_range(
    std::string_view who,
    std::string_view name,
    int64_t value,
    int64_t size,
    int64_t element,
    const Shape& shape) {
  Dims position = shape;
  for (int64_t d = shape.size() - 1; d >= 0; --d) {
    position[d] = element % shape[d];
    element /= shape[d];
  }
  if (size == 0) {
    fail(who, name, " cannot choose from 0, got ", value, " at ", position);
  }
  fail(
      who,
      name,
      " must be in [0, ",
      size - 1,
      "], got ",
      value,
      " at ",
      position);
}

void check_ids(std::string_view who, const Tensor& ids, std::string_view name) {
  check_defined(who, ids, name);
  if (ids.dtype() != kInt64) {
    fail(who, name, " must have dtype int64, got ", ids.dtype());
  }
}

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  dim = check_index("gather", x, dim, index);
  return pick("gather", x, dim, index);
}

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  check_defined("index_select", x);
  check_ids("index_select", index, "index");
  dim = normalize_dim("index_select", dim, x.dim());
  if (index.dim() != 1) {
    fail("index_select", "index must have shape [n], got ", index.shape());
  }
  const int64_t* const ids = index.data<int64_t>();
  for (int64_t i = 0; i < index.numel(); ++i) {
    const int64_t id = ids[i * index.stride(0)];
    if (id < 0 || id >= x.shape()[dim]) {
      fail_out_of_range(
          "index_select", "index", id, x.shape()[dim], i, index.shape());
    }
  }
  Dims sizes = x.shape();
  sizes[dim] = index.numel();
  Dims strides = sizes;
  for (int64_t d = 0; d < sizes.size(); ++d) {
    strides[d] = d == dim ? index.stride(0) : 0;
  }
  return pick(
      "index_select",
      x,
      dim,
      index.as_strided(Shape(sizes), strides, index.storage_offset()));
}

Tensor scatter_add(
    const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  dim = check_index("scatter_add", x, dim, index);
  check_same_dtype("scatter_add", x, src);
  if (src.shape() != index.shape()) {
    fail(
        "scatter_add",
        "index and src must have one shape, got ",
        index.shape(),
        " and ",
        src.shape());
  }
  Tensor y = x.clone();
  const int64_t size = x.shape()[dim];
  const int64_t length = index.shape()[dim];
  const int64_t y_step = y.strides()[dim];
  const int64_t id_step = index.strides()[dim];
  const int64_t src_step = src.strides()[dim];
  // Lines along `dim` are independent: the loop is over the others, and adds
  // within a line one after the other.
  const Shape lines = reduced_shape(index.shape(), dim, /*keepdim=*/true);
  const Dims places = contiguous_strides(index.shape());
  const int64_t place_step = places[dim];
  const StridedLoop<4> loop(
      lines, {y.strides(), index.strides(), src.strides(), places});
  const int64_t* const ids = index.data<int64_t>();
  visit_number("scatter_add", x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* const from = src.data<T>();
    T* const to = y.mutable_data<T>();
    loop.run(
        std::max<int64_t>(2 * length, 1),
        [&](const auto& offset, int64_t n, const auto& stride) {
          for (int64_t j = 0; j < length; ++j) {
            const int64_t* id = ids + offset[1] + j * id_step;
            const T* s = from + offset[2] + j * src_step;
            T* t = to + offset[0];
            for (int64_t i = 0; i < n; ++i) {
              const int64_t k = id[i * stride[1]];
              if (k < 0 || k >= size) {
                fail_out_of_range(
                    "scatter_add",
                    "index",
                    k,
                    size,
                    offset[3] + j * place_step + i * stride[3],
                    index.shape());
              }
              t[i * stride[0] + k * y_step] += s[i * stride[2]];
            }
          }
        });
  });
  return y;
}

Tensor one_hot(const Tensor& ids, int64_t num_classes, DType dtype) {
  check_ids("one_hot", ids);
  if (num_classes < 0) {
    fail("one_hot", "num_classes must be >= 0, got ", num_classes);
  }
  Dims sizes = ids.shape();
  sizes.push_back(num_classes);
  Tensor y(Shape(sizes), dtype);
  y.zero_();
  const Tensor dense = ids.contiguous();
  const int64_t* const id = dense.data<int64_t>();
  visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    T* const to = y.mutable_data<T>();
    for (int64_t i = 0; i < dense.numel(); ++i) {
      if (id[i] < 0 || id[i] >= num_classes) {
        fail_out_of_range("one_hot", "ids", id[i], num_classes, i, ids.shape());
      }
      to[i * num_classes + id[i]] = T(1);
    }
  });
  return y;
}

}  // namespace heed
