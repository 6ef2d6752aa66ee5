#include "tensor/config.h"

#include <doctest/doctest.h>

#include <string>

#include "tensor/blas_info.h"
#include "tensor/parallel.h"

TEST_CASE("config: names version, BLAS, kernels and threads") {
  const std::string text = heed::config();
  CHECK(text.find("heed      0.") != std::string::npos);
  CHECK(text.find(heed::blas_info().library) != std::string::npos);
  CHECK(text.find(heed::blas_info().core) != std::string::npos);
  const std::string threads =
      "threads   " + std::to_string(heed::num_threads()) + " of ";
  CHECK(text.find(threads) != std::string::npos);
}
