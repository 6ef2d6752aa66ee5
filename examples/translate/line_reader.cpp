#include "examples/translate/line_reader.h"

#include <heed/tensor/error.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace translate {

std::vector<std::string> LineReader::next(size_t count) {
  std::vector<std::string> lines;
  while (lines.size() < count) {
    const size_t end = bytes_.find('\n', taken_);
    if (end != std::string::npos) {
      lines.push_back(take(end));
      ++taken_;
    } else if (ended_) {
      if (taken_ < bytes_.size()) {  // the last line lacks its end
        lines.push_back(take(bytes_.size()));
      }
      break;
    } else if (!lines.empty() && would_wait()) {
      break;
    } else {
      read_more();
    }
  }
  return lines;
}

bool LineReader::would_wait() const {
  pollfd request{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return poll(&request, 1, 0) == 0;
}

void LineReader::read_more() {
  bytes_.erase(0, taken_);
  taken_ = 0;
  char buffer[1 << 16];
  const ssize_t count = read(descriptor_, buffer, sizeof buffer);
  if (count < 0 && errno != EINTR) {
    heed::fail<std::runtime_error>(
        "the input", "cannot be read: ", std::strerror(errno));
  }
  ended_ = count == 0;
  bytes_.append(buffer, static_cast<size_t>(count > 0 ? count : 0));
}

std::string LineReader::take(size_t end) {
  std::string line = bytes_.substr(taken_, end - taken_);
  taken_ = end;
  if (!begun_ && line.starts_with("\xef\xbb\xbf")) {
    line.erase(0, 3);
  }
  begun_ = true;
  if (line.ends_with('\r')) {
    line.pop_back();
  }
  return line;
}

}  // namespace translate
