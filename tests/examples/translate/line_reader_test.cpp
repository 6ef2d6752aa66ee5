#include "examples/translate/line_reader.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <stdexcept>
#include <string_view>

using namespace translate;
using Strings = std::vector<std::string>;

namespace {

struct Pipe {
  Pipe() { REQUIRE(pipe(ends) == 0); }
  ~Pipe() {
    close(ends[0]);
    end();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void write(std::string_view text) {
    REQUIRE(::write(ends[1], text.data(), text.size()) == ssize_t(text.size()));
  }
  void end() {
    if (ends[1] >= 0) {
      close(ends[1]);
    }
    ends[1] = -1;
  }

  int ends[2] = {-1, -1};
};

}  // namespace

TEST_CASE("LineReader: lines come as soon as they are there") {
  Pipe pipe;
  LineReader reader(pipe.ends[0]);
  pipe.write("one\ntw");
  CHECK(reader.next(10) == Strings{"one"});
  pipe.write("o\nthree\r\n\nfour\n");
  CHECK(reader.next(2) == Strings{"two", "three"});
  CHECK(reader.next(10) == Strings{"", "four"});
  pipe.write("\xef\xbb\xbfthe last");  // no line end, a mark not at the start
  pipe.end();
  CHECK(reader.next(10) == Strings{"\xef\xbb\xbfthe last"});
  CHECK(reader.next(10).empty());
}

TEST_CASE("LineReader: a byte order mark is no part of the first line") {
  Pipe pipe;
  LineReader reader(pipe.ends[0]);
  pipe.write("\xef\xbb\xbfone\ntwo\n");
  pipe.end();
  CHECK(reader.next(10) == Strings{"one", "two"});
}

TEST_CASE("LineReader: a line of any length") {
  Pipe pipe;
  LineReader reader(pipe.ends[0]);
  const std::string half(50'000, 'x');
  pipe.write("short\n" + half);
  CHECK(reader.next(10) == Strings{"short"});
  for (int i = 0; i < 3; ++i) {
    pipe.write("\n" + half);
    CHECK(reader.next(1) == Strings{half});
  }
  pipe.end();
  CHECK(reader.next(1) == Strings{half});
  CHECK(reader.next(1).empty());
}

TEST_CASE("LineReader: what cannot be read is an error, not an end") {
  LineReader reader(-1);
  CHECK_THROWS_WITH_AS(
      reader.next(1),
      "the input: cannot be read: Bad file descriptor",
      std::runtime_error);
}
