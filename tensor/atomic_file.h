#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

/// A file that is replaced as a whole or not at all:
///
///     AtomicFile file("save_options", path);
///     file.write(text);
///     file.commit();
///
/// Bytes go to `path`.tmp in the same folder; commit() brings them to the disk
/// and renames. Until then `path` stays what it was, whatever happens: without
/// commit() the new bytes are removed, and those that a killed process left are
/// overwritten by the next save. Who saves to a path that another is saving to
/// waits for him. A link is followed; a pipe or a device is written to as it
/// is. All members throw std::runtime_error that names the file.
class AtomicFile {
 public:
  /// Errors are in the name of `who`.
  AtomicFile(std::string_view who, const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, int64_t bytes);
  void write(std::string_view text) {
    write(text.data(), static_cast<int64_t>(text.size()));
  }
  /// Puts the file in its place; nothing may be written afterwards.
  void commit();

 private:
  void open_temporary();
  [[noreturn]] void fail_errno(std::string_view action) const;

  const std::string who_;
  const std::string path_;  // as given, for messages
  std::string target_;      // the file itself, links followed
  std::string temporary_;   // empty when written in place
  int descriptor_ = -1;
};

}  // namespace heed
