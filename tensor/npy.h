#pragma once

#include <string>

#include "tensor/tensor.h"

namespace heed {

/// Writes one tensor as NumPy's .npy, row-major, for numpy.load(). The file is
/// replaced as a whole or stays what it was (AtomicFile).
/// Throws std::invalid_argument for an undefined tensor, std::runtime_error
/// when the file cannot be written.
void save_npy(const std::string& path, const Tensor& x);

/// Reads a .npy file of versions 1 to 3, in row-major or column-major order, in
/// either byte order. float16 becomes float32; all integers but uint64, which
/// is refused, become int64.
/// Throws std::runtime_error that names the file when it cannot be read, is
/// shorter or longer than its header says, holds another type, or is no .npy
/// file in any other way; memory is asked for only for what the file has.
Tensor load_npy(const std::string& path);

}  // namespace heed
