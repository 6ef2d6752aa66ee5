#include "tensor/atomic_file.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/temporary_folder.h"

using namespace heed;
namespace fs = std::filesystem;

namespace {

void save(const std::string& path, std::string_view text) {
  AtomicFile file("save", path);
  file.write(text);
  file.commit();
}

std::string error_of_saving(const std::string& path, std::string_view text) {
  return message_of<std::runtime_error>([&] { save(path, text); });
}

/// As `ulimit -f` does: no file of the process may grow beyond so many bytes.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

}  // namespace

TEST_CASE(
    "atomic file: the old bytes stay until commit, then the new are there") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  save(path, "old");
  {
    AtomicFile file("save", path);
    file.write("ne");
    file.write("w");
    CHECK(read_bytes(path) == "old");
    file.commit();
  }
  CHECK(read_bytes(path) == "new");
  CHECK(folder.names() == std::set<std::string>{"file"});
}

TEST_CASE("atomic file: without commit nothing has happened") {
  const TemporaryFolder folder;
  { AtomicFile("save", folder / "new").write("half"); }
  CHECK(folder.names().empty());
  save(folder / "file", "old");
  { AtomicFile("save", folder / "file").write("half"); }
  CHECK(read_bytes(folder / "file") == "old");
  CHECK(folder.names() == std::set<std::string>{"file"});
}

TEST_CASE("atomic file: what a killed process left is written over") {
  const TemporaryFolder folder;
  write_bytes(folder / "file.tmp", "a long half of another file");
  save(folder / "file", "new");
  CHECK(read_bytes(folder / "file") == "new");
  CHECK(folder.names() == std::set<std::string>{"file"});
}

TEST_CASE("atomic file: a link stays one, and the file keeps its permissions") {
  const TemporaryFolder folder;
  save(folder / "file", "old");
  fs::permissions(folder / "file", fs::perms::owner_all);
  fs::create_symlink("file", folder / "link");
  save(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_bytes(folder / "file") == "new");
  CHECK(fs::status(folder / "file").permissions() == fs::perms::owner_all);
}

TEST_CASE("atomic file: a relative path needs no folder") {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder / "");
  save("file", "new");
  fs::current_path(before);
  CHECK(read_bytes(folder / "file") == "new");
}

TEST_CASE("atomic file: a device is written to and stays a device") {
  save("/dev/null", "gone");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(
      error_of_saving("/dev/full", "more") ==
      "save: cannot write /dev/full: No space left on device");
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("atomic file: no room for the new bytes leaves the old ones alone") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  save(path, "old");
  std::string message;
  {
    const FileSizeLimit limit(4096);
    message = error_of_saving(path, std::string(10'000, 'x'));
  }
  CHECK(message == "save: cannot write " + path + ": File too large");
  CHECK(read_bytes(path) == "old");
  CHECK(folder.names() == std::set<std::string>{"file"});
  save(path, "new");  // no signal is left over
  CHECK(read_bytes(path) == "new");
}

TEST_CASE("atomic file: errors name the file") {
  const TemporaryFolder folder;
  CHECK(
      error_of_saving(folder / "none/file", "x") ==
      "save: cannot create " + (folder / "none/file") +
          ": No such file or directory");
  CHECK(
      error_of_saving(folder / "", "x") ==
      "save: cannot open " + (folder / "") + ": Is a directory");
  // Where nobody may create files, not even root.
  CHECK(
      error_of_saving("/proc/self/file", "x").find("/proc/self/file: ") !=
      std::string::npos);
}

TEST_CASE("atomic file: who comes second waits and then replaces the file") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  for (int i = 0; i < 20; ++i) {
    AtomicFile first("save", path);
    first.write("fir");
    std::thread second([&] { save(path, "second"); });
    first.write("st");
    first.commit();
    second.join();
    CHECK(read_bytes(path) == "second");
  }
  CHECK(folder.names() == std::set<std::string>{"file"});
}
