#include "tensor/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace heed {

InputFile::InputFile(std::string_view who, const std::string& path)
    : who_(who), path_(path) {
  // A pipe without a writer must be refused, not waited for.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat status;
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    reject("cannot be opened: ", std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    reject("must be a regular file");
  }
  size_ = remaining_ = status.st_size;
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(void* data, int64_t bytes) {
  if (bytes > remaining_) {
    reject("must have ", bytes - remaining_, " bytes more than its ", size_);
  }
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::read(descriptor_, next, static_cast<size_t>(bytes));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      reject("cannot be read: ", std::strerror(errno));
    }
    if (got == 0) {
      reject("became shorter while it was read");
    }
    next += got;
    bytes -= got;
    remaining_ -= got;
  }
}

}  // namespace heed
