#include "examples/translate/folder_lock.h"

#include <fcntl.h>
#include <heed/tensor/error.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace translate {

FolderLock::FolderLock(const std::string& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  // A file system without locks is used without.
  if (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 &&
      errno == EWOULDBLOCK) {
    ::close(descriptor_);
    heed::fail<std::runtime_error>(
        folder, "must be left alone by others: a process trains in it");
  }
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

}  // namespace translate
