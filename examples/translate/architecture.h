#pragma once

#include <heed/nn/transformer.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace translate {

/// The options of a translation model that are written down with it.
struct Architecture {
  int64_t num_encoder_layers = 3;
  int64_t num_decoder_layers = 3;
  int64_t d_model = 256;
  int64_t num_heads = 4;
  int64_t d_ff = 1024;
  double dropout = 0.1;
  double attention_dropout = 0;
  std::string activation = "relu";  ///< relu or gelu
  bool norm_first = false;
  /// all: one matrix for both embeddings and the output; output: the target
  /// embedding and the output share theirs; none.
  std::string tie = "all";

  /// Throws std::invalid_argument for an activation or tie of another name.
  heed::TransformerOptions transformer_options() const;
};

nlohmann::ordered_json to_json(const Architecture& architecture);
/// Throws std::runtime_error for what to_json did not write.
Architecture architecture_from(const nlohmann::ordered_json& json);

}  // namespace translate
