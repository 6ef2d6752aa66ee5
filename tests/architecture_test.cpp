// Reads the source tree and holds it to the rules that no compiler checks.

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = HEED_SOURCE_DIR;

const std::set<std::string> kFolders = {
    "tensor", "autograd", "nn", "optim", "examples", "tests", "bench"};

/// What the files of a folder may include, besides the world outside heed.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"tensor", {"tensor"}},
    {"autograd", {"tensor", "autograd"}},
    {"nn", {"tensor", "autograd", "nn"}},
    {"optim", {"tensor", "autograd", "optim"}},
    {"examples", {"heed.h", "tensor", "autograd", "nn", "optim", "examples"}},
    {"bench", {"heed.h", "tensor", "autograd", "nn", "optim", "bench"}},
    {"tests",
     {"heed.h", "tensor", "autograd", "nn", "optim", "examples", "tests"}},
};

bool is_library(const std::string& folder) {
  return folder == "tensor" || folder == "autograd" || folder == "nn" ||
         folder == "optim";
}

/// The code of a C++ file: comments become spaces, line breaks stay.
std::string without_comments(const std::string& text) {
  std::string code;
  char quote = 0;  // the open quote, or 0
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      code += c;
      if (c == '\\' && i + 1 < text.size()) {
        code += text[++i];
      } else if (c == quote || c == '\n') {
        quote = 0;
      }
    } else if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (text.compare(i, 2, "/*") == 0) {
      const size_t end = std::min(text.find("*/", i + 2), text.size());
      code.append(std::count(&text[i], &text[i] + (end - i), '\n'), '\n');
      code += ' ';
      i = end + 1;
    } else {
      // An apostrophe after a digit parts digits: 1'000'000.
      const bool opens =
          c == '"' || (c == '\'' && !(i > 0 && std::isxdigit(text[i - 1])));
      quote = opens ? c : 0;
      code += c;
    }
  }
  return code;
}

std::string first_part(const std::string& path) {
  return path.substr(0, path.find('/'));
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool contains_any(
    const std::string& text, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return contains(text, part);
  });
}

/// The words of a line, one space between them, none after '#'.
std::string squeezed(const std::string& line) {
  std::istringstream words(line);
  std::string result;
  for (std::string word; words >> word;) {
    result += (result.empty() || result == "#" ? "" : " ") + word;
  }
  return result;
}

/// What a squeezed #include line names, with its opening quote or bracket;
/// empty for other lines.
std::string included(const std::string& line) {
  if (line.rfind("#include", 0) != 0) {
    return "";
  }
  const size_t open = line.find_first_of("<\"");
  const size_t close = line.find_first_of(">\"", open + 1);
  return open == std::string::npos ? "" : line.substr(open, close - open);
}

bool starts_threads(const std::string& line) {
  // std::thread::hardware_concurrency() and the like start none.
  const size_t thread = line.find("std::thread");
  if ((thread != std::string::npos &&
       line.compare(thread + 11, 2, "::") != 0) ||
      contains_any(line, {"std::jthread", "std::async", "pthread_create"})) {
    return true;
  }
  const size_t omp = line.find("pragma omp ");
  if (omp == std::string::npos) {
    return included(line) == "<omp.h";
  }
  const std::string directive = line.substr(omp + 11);
  return directive.rfind("simd", 0) != 0 &&
         directive.rfind("declare simd", 0) != 0;
}

/// Each way in which the C++ file `path` (from the root) breaks a rule.
std::vector<std::string> violations(
    const std::string& path, const std::string& text) {
  const std::string folder = first_part(path);
  const bool measures = folder == "tests" || folder == "bench";
  std::vector<std::string> found;
  std::istringstream lines(without_comments(text));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = squeezed(line);
    const auto report = [&](const std::string& what) {
      found.push_back(path + ":" + std::to_string(number) + ": " + what);
    };
    if (std::string target = included(line); !target.empty()) {
      const bool quoted = target[0] == '"';
      const bool as_user = target.compare(1, 5, "heed/") == 0;
      target.erase(0, as_user ? 6 : 1);
      const std::string part = first_part(target);
      const bool ours = as_user || part == "heed.h" || kFolders.count(part);
      if (quoted && !ours) {
        report("includes " + target + ", which is not a path from the root");
      } else if (is_library(folder) && ours && (as_user || !quoted)) {
        report("includes " + target + " as a user would");
      } else if (ours && !kMayInclude.at(folder).count(part)) {
        report(folder + " must not include " + target);
      }
    }
    if (!measures && path.rfind("tensor/blas", 0) != 0 &&
        contains_any(line, {"cblas_", "cblas.h", "openblas_", "gotoblas_"})) {
      report("BLAS is spoken in tensor/blas*.cpp alone");
    }
    if (!measures && path != "tensor/thread_pool.cpp" && starts_threads(line)) {
      report("threads are started in tensor/thread_pool.cpp alone");
    }
    if (path != "tests/architecture_test.cpp" &&
        contains_any(line, {"fast-math", "Ofast", "unsafe-math"})) {
      report("fast-math breaks NaN and infinity");
    }
  }
  return found;
}

bool has_vague_name(const std::string& path) {
  std::istringstream words(fs::path(path).stem().string());
  for (std::string word; std::getline(words, word, '_');) {
    if (word == "util" || word == "utils" || word == "common" ||
        word == "misc") {
      return true;
    }
  }
  return false;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Every file below the seven folders, as a path from the root.
std::vector<std::string> files() {
  std::vector<std::string> paths;
  for (const std::string& folder : kFolders) {
    if (fs::exists(kRoot / folder)) {
      for (const auto& entry :
           fs::recursive_directory_iterator(kRoot / folder)) {
        if (entry.is_regular_file()) {
          paths.push_back(entry.path().lexically_relative(kRoot).string());
        }
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool is_cpp(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  return extension == ".h" || extension == ".cpp" || extension == ".inc";
}

}  // namespace

TEST_CASE("architecture: the source files keep the rules of the house") {
  int scanned = 0;
  for (const std::string& path : files()) {
    // A project outside the house, with files of its own.
    if (is_cpp(path) && path.rfind("tests/install/", 0) != 0) {
      ++scanned;
      for (const std::string& violation :
           violations(path, read(kRoot / path))) {
        FAIL_CHECK(violation);
      }
    }
  }
  CHECK(scanned > 0);
}

TEST_CASE("architecture: a broken rule is found and placed") {
  const auto first = [](const std::string& path, const std::string& text) {
    const std::vector<std::string> found = violations(path, text);
    return found.empty() ? std::string("nothing") : found[0];
  };
  CHECK(
      first("tensor/a.h", "#pragma once\n#include \"nn/linear.h\"\n") ==
      "tensor/a.h:2: tensor must not include nn/linear.h");
  CHECK(
      first("autograd/a.cpp", "#include \"optim/adam.h\"\n") ==
      "autograd/a.cpp:1: autograd must not include optim/adam.h");
  CHECK(
      first("nn/a.cpp", "#include \"optim/adam.h\"\n") ==
      "nn/a.cpp:1: nn must not include optim/adam.h");
  CHECK(
      first("optim/a.cpp", "  #  include \"nn/module.h\"\n") ==
      "optim/a.cpp:1: optim must not include nn/module.h");
  CHECK(
      first("nn/a.cpp", "#include \"heed.h\"\n") ==
      "nn/a.cpp:1: nn must not include heed.h");
  CHECK(
      first("nn/a.cpp", "#include <heed/nn/linear.h>\n") ==
      "nn/a.cpp:1: includes nn/linear.h as a user would");
  CHECK(
      first("nn/a.cpp", "#include \"linear.h\"\n") ==
      "nn/a.cpp:1: includes linear.h, which is not a path from the root");
  CHECK(
      first("examples/a.cpp", "#include \"tests/op_table.h\"\n") ==
      "examples/a.cpp:1: examples must not include tests/op_table.h");
  CHECK(
      first("nn/a.cpp", "/* one\ntwo */ cblas_sgemm(x);\n") ==
      "nn/a.cpp:2: BLAS is spoken in tensor/blas*.cpp alone");
  CHECK(
      first("tensor/a.cpp", "#pragma omp parallel for simd\n") ==
      "tensor/a.cpp:1: threads are started in tensor/thread_pool.cpp alone");
  CHECK(
      first("nn/a.cpp", "std::thread worker(f);\n") ==
      "nn/a.cpp:1: threads are started in tensor/thread_pool.cpp alone");
  CHECK(
      first("tensor/a.cpp", "#include <omp.h>\n") ==
      "tensor/a.cpp:1: threads are started in tensor/thread_pool.cpp alone");
  CHECK(
      first("tensor/a.cpp", "#pragma GCC optimize(\"-ffast-math\")\n") ==
      "tensor/a.cpp:1: fast-math breaks NaN and infinity");
}

TEST_CASE("architecture: what is allowed is not reported") {
  const auto count = [](const std::string& path, const std::string& text) {
    return violations(path, text).size();
  };
  CHECK(count("nn/a.cpp", "#include \"autograd/variable.h\"\n") == 0);
  CHECK(count("examples/a.cpp", "#include <heed/heed.h>\n") == 0);
  CHECK(count("tensor/a.cpp", "#include <vector>\n#pragma omp simd\n") == 0);
  CHECK(count("tensor/a.cpp", "// cblas_sgemm, #pragma omp parallel\n") == 0);
  CHECK(count("tensor/a.cpp", "int n = 1'000;  // cblas_sgemm, '\n") == 0);
  CHECK(count("tensor/blas.cpp", "#include <cblas.h>\ncblas_sgemm();\n") == 0);
  CHECK(count("tensor/thread_pool.cpp", "std::thread worker(f);\n") == 0);
  CHECK(count("nn/a.cpp", "std::thread::hardware_concurrency();\n") == 0);
}

TEST_CASE("architecture: no build file asks for fast-math") {
  std::vector<fs::path> paths = {
      kRoot / "CMakeLists.txt", kRoot / "CMakePresets.json"};
  for (const auto& entry : fs::directory_iterator(kRoot / "cmake")) {
    paths.push_back(entry.path());
  }
  for (const std::string& path : files()) {
    if (fs::path(path).filename() == "CMakeLists.txt") {
      paths.push_back(kRoot / path);
    }
  }
  CHECK(!read(paths[0]).empty());
  for (const fs::path& path : paths) {
    CAPTURE(path.string());
    const std::string text = read(path);
    CHECK_FALSE(contains_any(text, {"fast-math", "Ofast"}));
  }
}

TEST_CASE("architecture: every folder opens with a README.md") {
  for (const std::string& folder : kFolders) {
    CAPTURE(folder);
    CHECK(!read(kRoot / folder / "README.md").empty());
  }
}

TEST_CASE("architecture: no file is named utils, common or misc") {
  CHECK(has_vague_name("tensor/utils.h"));
  CHECK(has_vague_name("tests/nn/test_util.h"));
  CHECK(has_vague_name("nn/common.cpp"));
  CHECK_FALSE(has_vague_name("nn/commonality.cpp"));
  for (const std::string& path : files()) {
    CAPTURE(path);
    CHECK_FALSE(has_vague_name(path));
  }
}
