#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace translate {

/// The records of a training run, one JSON object a line, each with the `step`
/// it was made after. Kept in memory as well, to be drawn.
class TrainingLog {
 public:
  using Record = nlohmann::ordered_json;

  /// Goes on with the records up to `last_step` that the file has and drops
  /// what follows: a run that was killed wrote records that its checkpoint does
  /// not know of. Throws std::runtime_error when the file cannot be written.
  TrainingLog(std::string path, int64_t last_step);

  void add(const Record& record);
  const std::vector<Record>& records() const { return records_; }

 private:
  std::string path_;
  std::vector<Record> records_;
};

}  // namespace translate
