#include "examples/translate/replaced_model.h"

#include <filesystem>
#include <system_error>

#include "examples/translate/model_folder.h"

namespace translate {
namespace {

namespace fs = std::filesystem;

fs::path aside(const std::string& folder) {
  return fs::path(folder) / "replaced";
}

}  // namespace

ReplacedModel::ReplacedModel(const std::string& folder) : folder_(folder) {
  for (const std::string& file : model_files(folder)) {
    const std::string name = fs::relative(file, folder).string();
    const fs::path to = aside(folder) / name;
    fs::create_directories(to.parent_path());
    fs::rename(file, to);
    names_.push_back(name);
  }
}

ReplacedModel::~ReplacedModel() {
  if (names_.empty()) {
    return;
  }
  std::error_code ignored;  // nothing else can be done for it
  for (const std::string& file : model_files(folder_)) {
    fs::remove(file, ignored);
  }
  for (const std::string& name : names_) {
    fs::rename(aside(folder_) / name, fs::path(folder_) / name, ignored);
  }
  fs::remove_all(aside(folder_), ignored);
}

void ReplacedModel::forget() {
  if (!names_.empty()) {
    fs::remove_all(aside(folder_));
    names_.clear();
  }
}

}  // namespace translate
