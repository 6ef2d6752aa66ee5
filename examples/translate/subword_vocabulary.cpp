#include "examples/translate/subword_vocabulary.h"

#include <heed/tensor/error.h>

#ifdef HEED_WITH_SENTENCEPIECE
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <unordered_map>
#endif

namespace translate {

#ifdef HEED_WITH_SENTENCEPIECE
namespace {

void check(const sentencepiece::util::Status& status, const char* what) {
  if (!status.ok()) {
    heed::fail<std::runtime_error>(
        "SentencePiece", "could not ", what, ": ", status.ToString());
  }
}

/// Hands the lines over one by one.
class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  size_t at_ = 0;
};

class SubwordVocabulary : public Vocabulary {
 public:
  explicit SubwordVocabulary(std::string bytes) : bytes_(std::move(bytes)) {
    check(processor_.LoadFromSerializedProto(bytes_), "read the vocabulary");
    if (processor_.pad_id() != kPadId || processor_.unk_id() != kUnkId ||
        processor_.bos_id() != kBosId || processor_.eos_id() != kEosId) {
      heed::fail<std::runtime_error>(
          "SentencePiece", "the vocabulary has other special ids than ours");
    }
  }

  std::string kind() const override { return "sentencepiece"; }
  int64_t size() const override { return processor_.GetPieceSize(); }
  Ids encode(const std::string& line) const override {
    std::vector<int> ids;
    check(processor_.Encode(line, &ids), "encode a line");
    return {ids.begin(), ids.end()};
  }
  std::string decode(const Ids& ids) const override {
    std::vector<int> plain;
    for (int64_t id : ids) {
      if (id == kUnkId || id >= kSpecialIds) {
        plain.push_back(static_cast<int>(id));
      }
    }
    std::string line;
    check(processor_.Decode(plain, &line), "decode a line");
    return line;
  }
  std::string piece(int64_t id) const override {
    return processor_.IdToPiece(static_cast<int>(id));
  }
  std::string to_bytes() const override { return bytes_; }

 private:
  std::string bytes_;
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

bool has_subwords() { return true; }

std::unique_ptr<Vocabulary> train_subwords(
    const std::vector<std::string>& lines, int64_t size) {
  Lines iterator(lines);
  std::string bytes;
  check(
      sentencepiece::SentencePieceTrainer::Train(
          std::unordered_map<std::string, std::string>{
              {"model_type", "bpe"},
              {"vocab_size", std::to_string(size)},
              {"hard_vocab_limit", "false"},
              {"character_coverage", "1.0"},
              {"normalization_rule_name", "nmt_nfkc"},
              {"max_sentence_length", "100000"},
              {"pad_id", std::to_string(kPadId)},
              {"unk_id", std::to_string(kUnkId)},
              {"bos_id", std::to_string(kBosId)},
              {"eos_id", std::to_string(kEosId)},
              {"minloglevel", "2"}},
          &iterator,
          &bytes),
      "train a vocabulary");
  return std::make_unique<SubwordVocabulary>(bytes);
}

std::unique_ptr<Vocabulary> load_subwords(const std::string& bytes) {
  return std::make_unique<SubwordVocabulary>(bytes);
}

#else

namespace {
[[noreturn]] void fail_without() {
  heed::fail<std::runtime_error>(
      "SentencePiece", "this program was built without it");
}
}  // namespace

bool has_subwords() { return false; }

std::unique_ptr<Vocabulary> train_subwords(
    const std::vector<std::string>&, int64_t) {
  fail_without();
}

std::unique_ptr<Vocabulary> load_subwords(const std::string&) {
  fail_without();
}

#endif

}  // namespace translate
