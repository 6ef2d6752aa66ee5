#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/op_table.h"

using namespace heed::op_table;
namespace fs = std::filesystem;

namespace {

using Names = std::set<std::string>;

// What takes a Variable, or takes and gives Tensors, and is no operation that a
// row could show; with the reason.
const std::map<std::string, std::string> kNoRow = {
    // Not differentiable: int64 or bool.
    {"argmax(Variable)", "an index"},
    {"argmax(Variable, int64_t, bool)", "an index"},
    {"argmin(Variable)", "an index"},
    {"argmin(Variable, int64_t, bool)", "an index"},
    {"any(Variable)", "a bool"},
    {"any(Variable, Dims, bool)", "a bool"},
    {"all(Variable)", "a bool"},
    {"all(Variable, Dims, bool)", "a bool"},
    // Of the graph.
    {"one_hot(Variable, int64_t, DType)", "of ids"},
    {"Variable::detach()", "the very lack of a derivative"},
    {"Variable::grad()", "a look at what backward left"},
    {"Variable::of(Node*)", "another handle to a node"},
    // Changes the dtype, which no row can.
    {"Variable::to(DType)", "tested with the views"},
};

// Headers of autograd/ whose functions work on the graph, not on numbers, and
// of tensor/ whose results have no derivative.
const Names kNoOperations = {
    "autograd/composed_gradients.h",
    "autograd/gradcheck.h",
    "autograd/node.h",
    "autograd/record.h",
    "autograd/rule.h",
    "autograd/rule_scope.h",
    "autograd/saved.h",
    "autograd/saved_attention_options.h",
    "tensor/attention_mask.h",
    "tensor/attention_problem.h",
    "tensor/comparison.h",
    "tensor/creation.h",
    "tensor/layer_norm_loop.h",
    "tensor/random.h",
    "tensor/reduce_loop.h",
    "tensor/stored_type.h",
};

std::string without_comments(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream code;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("#")) {
      code << line.substr(0, line.find("//")) << "\n";
    }
  }
  return code.str();
}

// The declarations directly within braces of depth `depth`, with the bodies of
// what they define cut off.
std::vector<std::string> declarations(const std::string& code, int depth) {
  std::vector<std::string> found(1);
  int braces = 0;
  int parentheses = 0;
  for (const char c : code) {
    parentheses += (c == '(') - (c == ')');
    const bool block = parentheses == 0 && (c == '{' || c == '}');
    braces += block ? (c == '{') - (c == '}') : 0;
    if (block || (c == ';' && parentheses == 0)) {
      found.emplace_back();
    } else if (braces == depth) {
      found.back() += std::isspace(static_cast<unsigned char>(c)) ? ' ' : c;
    }
  }
  return found;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos
             ? ""
             : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// "const std::vector<Tensor>& xs = {}" -> "std::vector<Variable>"
std::string type_of(std::string parameter) {
  parameter = trimmed(parameter.substr(0, parameter.find('=')));
  size_t name = parameter.size();
  while (name > 0 && is_word(parameter[name - 1])) {
    --name;
  }
  if (name > 0 && name < parameter.size() && parameter[name - 1] != ':') {
    parameter.resize(name);
  }
  std::string type;
  std::istringstream words(parameter);
  for (std::string word; words >> word;) {
    type += word == "const" ? "" : word;
  }
  std::erase(type, '&');
  return type;
}

// Masks and ids are Tensors beside Variables, so one name stands for both.
std::string with_variables(std::string signature) {
  for (size_t at; (at = signature.find("Tensor")) != std::string::npos;) {
    signature.replace(at, 6, "Variable");
  }
  return signature;
}

struct Function {
  std::string result;
  std::string signature;  // with Variable for Tensor
};

// `declaration` taken apart; an empty signature when it is no function.
Function parse(const std::string& declaration) {
  const size_t open = declaration.find('(');
  const size_t close = declaration.rfind(')');
  if (open == std::string::npos || close == std::string::npos) {
    return {};
  }
  const std::string head = trimmed(declaration.substr(0, open));
  size_t name = head.rfind("operator");
  if (name == std::string::npos) {
    name = head.size();
    while (name > 0 && is_word(head[name - 1])) {
      --name;
    }
  }
  Function function;
  std::istringstream words(head.substr(0, name));
  for (std::string word; words >> word;) {
    function.result = word;  // the last one; inline, static and such go before
  }
  std::string parameters;
  std::string parameter;
  int nested = 0;
  for (size_t i = open + 1; i <= close; ++i) {
    const char c = declaration[i];
    nested += (c == '(' || c == '<' || c == '{') - (c == '>' || c == '}') -
              (c == ')' && i != close);
    if (i == close || (c == ',' && nested == 0)) {
      const std::string type = type_of(parameter);
      parameters += (parameters.empty() ? "" : ", ") + type;
      parameter.clear();
    } else {
      parameter += c;
    }
  }
  function.signature =
      with_variables(head.substr(name) + "(" + parameters + ")");
  return function;
}

std::vector<fs::path> headers(const std::string& folder) {
  std::vector<fs::path> found;
  for (const auto& entry :
       fs::directory_iterator(fs::path(HEED_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == ".h" &&
        !kNoOperations.contains(
            folder + "/" + entry.path().filename().string())) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Functions whose parameters hold Variables (here: or Tensors) and that give
// back at least one.
bool is_operation(const Function& f, bool on_tensors) {
  static const Names other = {
      "void", "bool", "int64_t", "double", "Shape", "Dims", "", "std::string"};
  if (f.signature.find("Variable") == std::string::npos ||
      f.signature.find("function<") != std::string::npos) {
    return false;
  }
  // What a fused derivative is made of: seen as the way without create_graph.
  const std::string name = f.signature.substr(0, f.signature.find('('));
  const bool kernel = name.ends_with("_backward") || name.ends_with("_forward");
  return !other.contains(f.result) && f.result.find('&') == std::string::npos &&
         !(on_tensors && kernel);
}

Names operations() {
  Names names;
  for (const std::string folder : {"autograd", "tensor"}) {
    for (const fs::path& path : headers(folder)) {
      const bool core =
          path.filename() == "variable.h" || path.filename() == "tensor.h";
      for (const std::string& text : declarations(without_comments(path), 1)) {
        const Function f = parse(text);
        if (!core && is_operation(f, folder == "tensor") &&
            f.signature.find("initializer_list") == std::string::npos) {
          names.insert(f.signature);
        }
      }
    }
  }
  return names;
}

// What of Variable's members gives a Variable.
Names members() {
  const std::string code =
      without_comments(fs::path(HEED_SOURCE_DIR) / "autograd/variable.h");
  const size_t start = code.find("class Variable {");
  const size_t end = code.find("\n};", start);
  REQUIRE(start != std::string::npos);
  Names names;
  for (std::string text : declarations(code.substr(start, end - start), 1)) {
    if (const size_t label = text.find("public:"); label != std::string::npos) {
      text = text.substr(label + 7);
    }
    const Function f = parse(text);
    if (f.result == "Variable") {
      names.insert("Variable::" + f.signature);
    }
  }
  return names;
}

// A row's name without its note.
std::string signature_of(const std::string& name) {
  return with_variables(name.substr(0, name.rfind(')') + 1));
}

}  // namespace

TEST_CASE("op table: every public operation has a row") {
  Names declared = operations();
  declared.merge(members());
  CHECK(declared.size() > 60);
  Names shown;
  for (const Row& row : rows()) {
    shown.insert(signature_of(row.name));
  }
  for (const std::string& name : declared) {
    const bool has_row = shown.contains(name);
    const bool exempt = kNoRow.contains(name);
    CHECK_MESSAGE((has_row || exempt), name, " has no row in the op table");
    CHECK_MESSAGE(!(has_row && exempt), name, " has a row, yet is exempt");
  }
  for (const std::string& name : shown) {
    CHECK_MESSAGE(
        declared.contains(name), "a row shows ", name, ", which is nowhere");
  }
  for (const auto& exemption : kNoRow) {
    const std::string& name = exemption.first;
    CHECK_MESSAGE(declared.contains(name), name, " is exempt, but is nowhere");
  }
}

TEST_CASE("op table: the names of rows are unique") {
  Names names;
  for (const Row& row : rows()) {
    CHECK_MESSAGE(names.insert(row.name).second, row.name);
  }
}
