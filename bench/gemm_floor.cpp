// The floor of a training step: its matrix products alone, as bare OpenBLAS
// calls on the kernels that heed settles on, driven in the better of two ways.
// Faster is only who has faster kernels, drives these better or leaves products
// away.
//
//   gemm_floor small    copy, tiny, small, base, gpt, scaling:d=..,T=..,B=..
#include <cblas.h>
#include <heed/heed.h>
#include <heed/tensor/blas_info.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include "bench/gemm_list.h"
#include "bench/report.h"
#include "bench/settings.h"
#include "bench/timing.h"

namespace {

using bench::Gemm;

struct Window {  // of the result
  int64_t row;
  int64_t rows;
  int64_t column;
  int64_t columns;
};

/// A part of the result of product `index` of a batch.
void multiply(const Gemm& g, int64_t index, const Window& part) {
  const int64_t lda = g.trans_a ? g.m : g.k;
  const int64_t ldb = g.trans_b ? g.k : g.n;
  const float* a = g.a + index * g.m * g.k;
  const float* b = g.b + index * g.k * g.n;
  float* c = g.c + index * g.m * g.n;
  cblas_sgemm(
      CblasRowMajor,
      g.trans_a ? CblasTrans : CblasNoTrans,
      g.trans_b ? CblasTrans : CblasNoTrans,
      static_cast<int>(part.rows),
      static_cast<int>(part.columns),
      static_cast<int>(g.k),
      1.0F,
      a + part.row * (g.trans_a ? 1 : lda),
      static_cast<int>(lda),
      b + part.column * (g.trans_b ? ldb : 1),
      static_cast<int>(ldb),
      0.0F,
      c + part.row * g.n + part.column,
      static_cast<int>(g.n));
}

void multiply(const Gemm& g, int64_t index = 0) {
  multiply(g, index, {0, g.m, 0, g.n});
}

/// One piece a thread, each a single-threaded call: rows or columns of the
/// result, of which there are more.
void multiply_in_pieces(const Gemm& g) {
  const bool by_rows = g.m >= g.n;
  const int64_t length = by_rows ? g.m : g.n;
#pragma omp parallel
  {
    const int64_t threads = omp_get_num_threads();
    const int64_t thread = omp_get_thread_num();
    const int64_t step = ((length + threads - 1) / threads + 15) / 16 * 16;
    const int64_t begin = std::min(length, thread * step);
    const int64_t size = std::min(length - begin, step);
    if (size > 0) {
      multiply(
          g,
          0,
          by_rows ? Window{begin, size, 0, g.n} : Window{0, g.m, begin, size});
    }
  }
}

void multiply_heads_in_parallel(const Gemm& g) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g.batch; ++i) {
    multiply(g, i);
  }
}

void multiply_heads_in_turn(const Gemm& g) {
  for (int64_t i = 0; i < g.batch; ++i) {
    multiply(g, i);
  }
}

bench::Timing time_products(
    const std::vector<Gemm>& products,
    const std::function<void(const Gemm&)>& multiply,
    const bench::Settings& settings) {
  return bench::time_calls(
      [&] { std::for_each(products.begin(), products.end(), multiply); },
      {.warmup = 2,
       .min_reps = 10,
       .min_ms = settings.min_ms,
       .max_ms = settings.max_ms});
}

double flops(const std::vector<Gemm>& products) {
  double sum = 0;
  for (const Gemm& product : products) {
    sum += product.flops();
  }
  return sum;
}

bench::GemmList gemm_list(const std::string& workload) {
  if (workload == "gpt") {
    return bench::GemmList(bench::GptWorkload());
  }
  if (workload.rfind("scaling:", 0) == 0) {
    return bench::GemmList(bench::scaling_workload(workload));
  }
  return bench::GemmList(bench::seq2seq_workload(workload));
}

void measure(const bench::Settings& settings) {
  const bench::Report report("gemm_floor", settings.threads);
  const bench::GemmList products = gemm_list(settings.workload);
  const heed::BlasInfo& blas = heed::blas_info();  // repairs the kernels
  omp_set_num_threads(settings.threads);
  openblas_set_num_threads(settings.threads);
  const auto& linear = products.linear();
  const auto& attention = products.attention();
  const bench::Timing whole = time_products(
      linear, [](const Gemm& g) { multiply(g); }, settings);
  const bench::Timing pieces =
      time_products(linear, multiply_in_pieces, settings);
  const bench::Timing in_turn =
      time_products(attention, multiply_heads_in_turn, settings);
  const bench::Timing in_parallel =
      time_products(attention, multiply_heads_in_parallel, settings);
  const double median_ms = std::min(whole.median_ms, pieces.median_ms) +
                           std::min(in_turn.median_ms, in_parallel.median_ms);
  const double min_ms = std::min(whole.min_ms, pieces.min_ms) +
                        std::min(in_turn.min_ms, in_parallel.min_ms);
  const double all_flops = flops(linear) + flops(attention);
  report.print(
      settings.workload,
      blas.core,
      {{"median_ms", median_ms},
       {"min_ms", min_ms},
       {"linear_ms", whole.median_ms},
       {"linear_split_ms", pieces.median_ms},
       {"attn_seq_ms", in_turn.median_ms},
       {"attn_par_ms", in_parallel.median_ms},
       {"gflop", all_flops / 1e9},
       {"attn_gflop", flops(attention) / 1e9},
       {"gflop_per_s", all_flops / median_ms / 1e6},
       {"gemms", linear.size() + attention.size()}});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Settings settings;
  CLI::App app(
      "Measures the matrix products of a training step alone: copy, tiny, "
      "small, base, gpt or scaling:d=256,T=64,B=32.");
  bench::add_options(app, settings);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    measure(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemm_floor: %s\n", error.what());
    return 2;
  }
  return 0;
}
