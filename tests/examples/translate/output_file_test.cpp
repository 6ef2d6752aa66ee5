#include "examples/output_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <stdexcept>

#include "tests/temporary_folder.h"

using namespace examples;

TEST_CASE("write_file: leaves the new text, and nothing beside it") {
  const heed::TemporaryFolder folder;
  write_file(folder / "a", "long and old");
  write_file(folder / "a", "new");
  CHECK(heed::read_bytes(folder / "a") == "new");
  CHECK(folder.names() == std::set<std::string>{"a"});
}

TEST_CASE("check_output: changes nothing") {
  const heed::TemporaryFolder folder;
  check_output(folder / "new");
  CHECK(folder.names().empty());
  write_file(folder / "old", "text");
  check_output(folder / "old");
  CHECK(heed::read_bytes(folder / "old") == "text");
}

TEST_CASE("check_output: what is read must not be replaced") {
  const heed::TemporaryFolder folder;
  const std::string read = folder / "read";
  write_file(read, "text");
  check_output(folder / "new", {read, "", folder / "missing"});
  std::filesystem::create_symlink(read, folder / "link");
  for (const std::string& path : {read, folder / "./read", folder / "link"}) {
    CHECK(heed::message_of<std::runtime_error>([&] {
            check_output(path, {"", read});
          }) == "output: must not replace what is read, got " + path);
  }
  CHECK(heed::read_bytes(read) == "text");
}

TEST_CASE("check_output: a bad path is named, with the reason") {
  const heed::TemporaryFolder folder;
  const std::string path = folder / "missing/file";
  for (const auto& f :
       {+[](const std::string& p) { check_output(p); },
        +[](const std::string& p) { write_file(p, "text"); }}) {
    const std::string message =
        heed::message_of<std::runtime_error>([&] { f(path); });
    CHECK(message.find(path + ": No such file or directory") != message.npos);
  }
}
