#include "examples/translate/corpus.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/temporary_folder.h"

using namespace translate;
using Strings = std::vector<std::string>;

namespace {

std::string write(
    const heed::TemporaryFolder& folder,
    const std::string& name,
    const std::string& bytes) {
  const std::string path = folder / name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string write_gz(
    const heed::TemporaryFolder& folder,
    const std::string& name,
    const std::string& bytes) {
  const std::string path = folder / name;
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return path;
}

}  // namespace

TEST_CASE("read_lines: plain and compressed files read the same") {
  const heed::TemporaryFolder folder;
  const std::string text = "one\n\ntwo \u00fc\r\nthree";
  const Strings lines = {"one", "", "two \u00fc", "three"};
  CHECK(read_lines(write(folder, "plain", text)) == lines);
  CHECK(read_lines(write_gz(folder, "text.gz", text)) == lines);
  CHECK(
      read_lines(write(folder, "mark", "\xef\xbb\xbfone\n")) == Strings{"one"});
  CHECK(read_lines(write(folder, "empty", "")).empty());
}

TEST_CASE("read_lines: files that cannot be read are named") {
  const heed::TemporaryFolder folder;
  const std::string missing = folder / "missing";
  CHECK_THROWS_WITH_AS(
      read_lines(missing),
      (missing + ": cannot be read: No such file or directory").c_str(),
      std::runtime_error);
  CHECK_THROWS_AS(
      read_lines(std::filesystem::path(missing).parent_path().string()),
      std::runtime_error);
  const std::string path = write(folder, "latin", "good\nb\xfc\n");
  CHECK_THROWS_WITH_AS(
      read_lines(path),
      (path + ": must be UTF-8, line 2 is not").c_str(),
      std::runtime_error);
}

TEST_CASE("read_lines: a compressed file that was cut off is refused") {
  const heed::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 2'000; ++i) {
    text += std::to_string(i * 7919) + "\n";
  }
  const std::string path = write_gz(folder, "text.gz", text);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  CHECK_THROWS_AS(read_lines(path), std::runtime_error);
}

TEST_CASE("read_parallel: both sides have as many lines, at least one") {
  const heed::TemporaryFolder folder;
  const std::string two = write(folder, "two", "a\nb\n");
  const std::string three = write(folder, "three", "a\nb\nc\n");
  const std::string none = write(folder, "none", "");
  CHECK(read_parallel(two, two).size() == 2);
  CHECK_THROWS_WITH_AS(
      read_parallel(two, three),
      (two + ": must have as many lines as " + three + ", got 2 and 3").c_str(),
      std::runtime_error);
  CHECK_THROWS_AS(read_parallel(none, none), std::runtime_error);
}

TEST_CASE("without_blanks: a pair goes when either side is blank") {
  const ParallelText kept = without_blanks({{"a", " ", "c"}, {"A", "B", "\t"}});
  CHECK(kept.src == Strings{"a"});
  CHECK(kept.tgt == Strings{"A"});
}

TEST_CASE("with_held_out: what is measured by is not learned from") {
  ParallelText text;
  for (int i = 0; i < 100; ++i) {
    text.add(std::to_string(i), std::to_string(-i));
  }
  const Dataset data = with_held_out(text);
  CHECK(data.valid.size() == 5);
  CHECK(data.train.size() == 95);
  for (size_t size : {19'999, 20'000, 20'999, 40'001, 1'000'500}) {
    const Strings lines(size, "line");
    const size_t held_out = with_held_out({lines, lines}).valid.size();
    CHECK(held_out <= 1'000);
    CHECK(held_out > 900);
  }
  const Dataset two = with_held_out({{"a", "b"}, {"A", "B"}});
  CHECK(two.valid.src == Strings{"b"});
  CHECK(two.train.src == Strings{"a"});
  const Dataset one = with_held_out({{"a"}, {"A"}});
  CHECK(one.valid.size() == 1);
  CHECK(one.train.size() == 1);
}
