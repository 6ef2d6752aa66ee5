#include "tensor/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "tensor/error.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

/// While it lives, a file that may not grow any more (ulimit -f) is an error of
/// write() and not a signal that ends the process.
class FileSizeSignalHeld {
 public:
  FileSizeSignalHeld() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~FileSizeSignalHeld() {
    sigset_t pending;
    sigpending(&pending);
    if (sigismember(&pending, SIGXFSZ) && !sigismember(&before_, SIGXFSZ)) {
      int taken = 0;
      sigwait(&signal_, &taken);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  FileSizeSignalHeld(const FileSizeSignalHeld&) = delete;
  FileSizeSignalHeld& operator=(const FileSizeSignalHeld&) = delete;

 private:
  sigset_t signal_;
  sigset_t before_;
};

/// Calls f again as long as a signal interrupts it.
template <typename F>
auto uninterrupted(const F& f) {
  auto result = f();
  while (result < 0 && errno == EINTR) {
    result = f();
  }
  return result;
}

/// The file behind `path`: renaming must not put a file in a link's place.
std::string without_links(const std::string& path) {
  std::error_code error;
  const fs::path target =
      fs::is_symlink(path, error) ? fs::canonical(path, error) : fs::path();
  return target.empty() ? path : target.string();
}

/// Brings the new name of a file to the disk, where the file system can.
void sync_folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  const int descriptor =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    uninterrupted([&] { return ::fsync(descriptor); });
    ::close(descriptor);
  }
}

}  // namespace

AtomicFile::AtomicFile(std::string_view who, const std::string& path)
    : who_(who), path_(path), target_(without_links(path)) {
  struct stat old;
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) {
    descriptor_ = uninterrupted(
        [&] { return ::open(target_.c_str(), O_WRONLY | O_CLOEXEC); });
    if (descriptor_ < 0) {
      fail_errno("open");
    }
    return;
  }
  // A rename would replace even a file that nobody may write to.
  if (exists && ::access(target_.c_str(), W_OK) != 0) {
    fail_errno("write");
  }
  temporary_ = target_ + ".tmp";
  open_temporary();
  if (exists) {
    ::fchmod(descriptor_, old.st_mode & 07777);
  }
}

void AtomicFile::open_temporary() {
  for (;;) {
    descriptor_ = uninterrupted([&] {
      return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    });
    if (descriptor_ < 0) {
      fail_errno("create");
    }
    // File systems without locks do without.
    uninterrupted([&] { return ::flock(descriptor_, LOCK_EX); });
    struct stat locked;
    struct stat named;
    if (::fstat(descriptor_, &locked) == 0 &&
        ::stat(temporary_.c_str(), &named) == 0 &&
        locked.st_dev == named.st_dev && locked.st_ino == named.st_ino) {
      break;
    }
    ::close(descriptor_);  // whoever held the lock has renamed this file
  }
  if (::ftruncate(descriptor_, 0) != 0) {
    fail_errno("write");
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    if (!temporary_.empty()) {
      ::unlink(temporary_.c_str());
    }
    ::close(descriptor_);
  }
}

void AtomicFile::fail_errno(std::string_view action) const {
  fail<std::runtime_error>(
      who_, "cannot ", action, " ", path_, ": ", std::strerror(errno));
}

void AtomicFile::write(const void* data, int64_t bytes) {
  const FileSizeSignalHeld held;
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = uninterrupted(
        [&] { return ::write(descriptor_, next, static_cast<size_t>(bytes)); });
    if (written < 0) {
      fail_errno("write");
    }
    next += written;
    bytes -= written;
  }
}

void AtomicFile::commit() {
  if (!temporary_.empty()) {
    if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) {
      fail_errno("write");
    }
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
      fail_errno("replace");
    }
    sync_folder_of(target_);
  }
  ::close(std::exchange(descriptor_, -1));
}

}  // namespace heed
