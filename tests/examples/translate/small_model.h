#pragma once

#include <memory>
#include <string>

#include "examples/translate/number_words.h"
#include "examples/translate/piece_vocabulary.h"
#include "examples/translate/translation_model.h"

/// An untrained model for number words, the same each time.
inline std::unique_ptr<translate::TranslationModel> small_model(
    double dropout = 0, const std::string& tie = "all") {
  heed::manual_seed(11);
  return std::make_unique<translate::TranslationModel>(
      translate::Architecture{
          .num_encoder_layers = 1,
          .num_decoder_layers = 2,
          .d_model = 16,
          .num_heads = 2,
          .d_ff = 32,
          .dropout = dropout,
          .norm_first = true,
          .tie = tie},
      std::make_unique<translate::PieceVocabulary>(translate::number_pieces()),
      "numbers");
}
