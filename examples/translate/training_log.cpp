#include "examples/translate/training_log.h"

#include <heed/tensor/error.h>

#include <fstream>
#include <utility>

#include "examples/output_file.h"

namespace translate {

TrainingLog::TrainingLog(std::string path, int64_t last_step)
    : path_(std::move(path)) {
  std::ifstream file(path_);
  std::string kept;
  for (std::string line; last_step > 0 && std::getline(file, line);) {
    const Record record =
        Record::parse(line, nullptr, /*allow_exceptions=*/false);
    const bool whole = record.is_object() && record.contains("step") &&
                       record["step"].is_number_integer();
    if (!whole || record["step"].get<int64_t>() > last_step) {
      break;
    }
    records_.push_back(record);
    kept += line + "\n";
  }
  examples::write_file(path_, kept);
}

void TrainingLog::add(const Record& record) {
  records_.push_back(record);
  std::ofstream file(path_, std::ios::app);
  file << record.dump() << '\n';
  file.close();
  if (!file) {
    heed::fail<std::runtime_error>(path_, "cannot be written");
  }
}

}  // namespace translate
