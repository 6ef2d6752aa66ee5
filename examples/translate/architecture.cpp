#include "examples/translate/architecture.h"

#include <nlohmann/json.hpp>

#include "examples/translate/vocabulary.h"

namespace translate {

using Json = nlohmann::ordered_json;

heed::TransformerOptions Architecture::transformer_options() const {
  if (activation != "relu" && activation != "gelu") {
    heed::fail(
        "translate", "activation must be relu or gelu, got ", activation);
  }
  if (tie != "all" && tie != "output" && tie != "none") {
    heed::fail("translate", "tie must be all, output or none, got ", tie);
  }
  return {
      .num_encoder_layers = num_encoder_layers,
      .num_decoder_layers = num_decoder_layers,
      .d_model = d_model,
      .num_heads = num_heads,
      .d_ff = d_ff,
      .dropout = dropout,
      .attention_dropout = attention_dropout,
      .activation = activation == "gelu" ? heed::ActivationKind::gelu
                                         : heed::ActivationKind::relu,
      .norm_first = norm_first,
      .pad_id = kPadId,
      .tie_source_target = tie == "all",
      .tie_output = tie != "none"};
}

Json to_json(const Architecture& a) {
  return {
      {"encoder_layers", a.num_encoder_layers},
      {"decoder_layers", a.num_decoder_layers},
      {"d_model", a.d_model},
      {"num_heads", a.num_heads},
      {"d_ff", a.d_ff},
      {"dropout", a.dropout},
      {"attention_dropout", a.attention_dropout},
      {"activation", a.activation},
      {"norm_first", a.norm_first},
      {"tie", a.tie}};
}

Architecture architecture_from(const Json& json) {
  Architecture a;
  try {
    a.num_encoder_layers = json.at("encoder_layers").get<int64_t>();
    a.num_decoder_layers = json.at("decoder_layers").get<int64_t>();
    a.d_model = json.at("d_model").get<int64_t>();
    a.num_heads = json.at("num_heads").get<int64_t>();
    a.d_ff = json.at("d_ff").get<int64_t>();
    a.dropout = json.at("dropout").get<double>();
    a.attention_dropout = json.at("attention_dropout").get<double>();
    a.activation = json.at("activation").get<std::string>();
    a.norm_first = json.at("norm_first").get<bool>();
    a.tie = json.at("tie").get<std::string>();
  } catch (const Json::exception& error) {
    heed::fail<std::runtime_error>("translate", error.what());
  }
  return a;
}

}  // namespace translate
