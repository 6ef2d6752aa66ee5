#include "nn/decoding_state.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "nn/transformer.h"
#include "tensor/creation.h"

using namespace heed;

TEST_CASE("DecodingState: rows that do not fit are refused") {
  const TransformerOptions options{
      .num_encoder_layers = 1,
      .num_decoder_layers = 1,
      .d_model = 16,
      .num_heads = 4,
      .d_ff = 32,
      .dropout = 0};
  const Transformer model(11, 11, options);
  DecodingState state = model.start_decoding(ones({3, 2}, kInt64));
  state.select_rows({0, 0, 1, 1, 2, 2}, 2);
  CHECK_THROWS_WITH_AS(
      state.select_rows({0, 6}, 2),
      "DecodingState: rows must be in [0, 6), got 6",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      state.select_rows({0, 1, 2}, 2),
      "DecodingState: rows must be a multiple of rows_per_source, got 3 and 2",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      state.select_rows({0, 1, 1, 2}, 2),
      "DecodingState: rows of one source must come from one, got 2 at 3",
      std::invalid_argument);
  CHECK_THROWS_AS(state.select_rows({}, 0), std::invalid_argument);
  CHECK(state.batch == 6);
  model.decode_step(ones({6}, kInt64), state);
}
