#pragma once

#include <string>

namespace translate {

/// While it lives, no other process trains in the folder. The system lets go of
/// it when the process ends, however that happens.
class FolderLock {
 public:
  /// Throws std::runtime_error when another process has it.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace translate
