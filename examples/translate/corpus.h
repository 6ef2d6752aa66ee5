#pragma once

#include <string>
#include <vector>

#include "examples/translate/parallel_text.h"

namespace translate {

/// The lines of a UTF-8 text file, plain or gzip-compressed, without their line
/// ends (\n or \r\n) and without a byte order mark. Throws std::runtime_error
/// naming the file, and the line if it is not UTF-8.
std::vector<std::string> read_lines(const std::string& path);

/// Two files, line for line. Throws std::runtime_error as read_lines, and for
/// files of unequal length or without any line.
ParallelText read_parallel(
    const std::string& src_path, const std::string& tgt_path);

/// `text` without the pairs of which a side is blank.
ParallelText without_blanks(const ParallelText& text);

/// Takes pairs out of `train` to measure by: one in twenty but at most 1,000,
/// evenly over the whole text. A single pair stays in `train` and serves both.
Dataset with_held_out(ParallelText train);

}  // namespace translate
