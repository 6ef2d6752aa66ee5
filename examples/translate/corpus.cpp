#include "examples/translate/corpus.h"

#include <heed/tensor/error.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "examples/translate/utf8.h"

namespace translate {
namespace {

template <typename... Args>
[[noreturn]] void fail_file(const std::string& path, const Args&... args) {
  heed::fail<std::runtime_error>(path, args...);
}

// gzread hands over a file that is not compressed as it is.
std::string read_bytes(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    fail_file(path, "must be a file, got a folder");
  }
  errno = 0;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(
      gzopen(path.c_str(), "rb"), gzclose);
  if (!file) {
    fail_file(path, "cannot be read: ", std::strerror(errno));
  }
  std::string bytes;
  std::vector<char> buffer(size_t{1} << 18);
  while (true) {
    const int count =
        gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    int error = Z_OK;
    const char* message = gzerror(file.get(), &error);
    if (count < 0 || (error != Z_OK && error != Z_STREAM_END)) {
      fail_file(
          path,
          "cannot be read: ",
          error == Z_ERRNO ? std::strerror(errno) : message);
    }
    if (count == 0) {
      return bytes;
    }
    bytes.append(buffer.data(), static_cast<size_t>(count));
  }
}

}  // namespace

std::vector<std::string> read_lines(const std::string& path) {
  std::string bytes = read_bytes(path);
  if (bytes.starts_with("\xef\xbb\xbf")) {
    bytes.erase(0, 3);
  }
  std::vector<std::string> lines = split_lines(bytes);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!is_utf8(lines[i])) {
      fail_file(path, "must be UTF-8, line ", i + 1, " is not");
    }
  }
  return lines;
}

ParallelText read_parallel(
    const std::string& src_path, const std::string& tgt_path) {
  ParallelText text{read_lines(src_path), read_lines(tgt_path)};
  if (text.src.size() != text.tgt.size()) {
    fail_file(
        src_path,
        "must have as many lines as ",
        tgt_path,
        ", got ",
        text.src.size(),
        " and ",
        text.tgt.size());
  }
  if (text.size() == 0) {
    fail_file(src_path, "must hold at least one line, got none");
  }
  return text;
}

ParallelText without_blanks(const ParallelText& text) {
  ParallelText kept;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_blank(text.src[i]) && !is_blank(text.tgt[i])) {
      kept.add(text.src[i], text.tgt[i]);
    }
  }
  return kept;
}

Dataset with_held_out(ParallelText train) {
  Dataset data;
  if (train.size() < 2) {
    data.valid = train;
    data.train = std::move(train);
    return data;
  }
  const size_t every = std::max<size_t>(20, (train.size() + 999) / 1000);
  for (size_t i = 0; i < train.size(); ++i) {
    const bool held_out = i % every == every - 1 ||
                          (train.size() < every && i == train.size() - 1);
    ParallelText& part = held_out ? data.valid : data.train;
    part.add(std::move(train.src[i]), std::move(train.tgt[i]));
  }
  return data;
}

}  // namespace translate
