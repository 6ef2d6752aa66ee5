#pragma once

#include <heed/tensor/tensor.h>

#include <string>
#include <vector>

#include "examples/heat_map.h"
#include "examples/translate/translation_model.h"

namespace translate {

/// What one kind of attention looked at: rows look at columns.
struct AttentionKind {
  std::string name;                        ///< cross, encoder or decoder
  std::string title;                       ///< For people.
  std::vector<std::string> rows, columns;  ///< Pieces.
  std::vector<heed::Tensor> layers;        ///< [num_heads, rows, columns]
};

/// What every head of a model looked at while it said a translation.
struct Attention {
  std::string source;
  std::string translation;
  bool cut = false;  ///< Whether only the start of the source was looked at.
  /// Cross-attention, then the encoder's and the decoder's own.
  std::vector<AttentionKind> kinds;
};

/// `ids` are those of the translation, without the special ones. A long line
/// counts as far as translate_lines() translates it. Throws
/// std::invalid_argument for a blank line.
Attention attention_of(
    TranslationModel& model, const std::string& line, const Ids& ids);

/// One head of one layer, both counted from 0.
examples::HeatMap head_map(
    const AttentionKind& kind, size_t layer, int64_t head);

/// Which source pieces each piece of the translation comes from: the mean of
/// all cross-attention.
examples::HeatMap alignment_map(const Attention& attention);

}  // namespace translate
