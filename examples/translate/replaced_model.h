#pragma once

#include <string>
#include <vector>

namespace translate {

/// Puts the model that is in a folder aside, within the folder, for another to
/// take its place: until forget() it comes back when something goes wrong.
class ReplacedModel {
 public:
  explicit ReplacedModel(const std::string& folder);
  /// Brings it back, whatever is in its place, unless forgotten.
  ~ReplacedModel();
  ReplacedModel(const ReplacedModel&) = delete;
  ReplacedModel& operator=(const ReplacedModel&) = delete;

  /// Removes it for good.
  void forget();

 private:
  const std::string folder_;
  std::vector<std::string> names_;  // of files, seen from the folder
};

}  // namespace translate
