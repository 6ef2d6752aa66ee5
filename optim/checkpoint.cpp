#include "optim/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "tensor/error.h"
#include "tensor/safetensors.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "heed checkpoint 1";

constexpr std::string_view kNameStart = "checkpoint-";
constexpr std::string_view kNameEnd = ".safetensors";

/// What follows `prefix` in `name`; none when it begins otherwise.
std::optional<std::string> after(
    std::string_view prefix, const std::string& name) {
  return name.starts_with(prefix) ? std::optional(name.substr(prefix.size()))
                                  : std::nullopt;
}

/// The number that `text` is, from its first to its last character.
template <typename T>
std::optional<T> number(std::string_view text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value)
                                             : std::nullopt;
}

std::string text_of(const GeneratorState& state) {
  return std::to_string(state.seed) + " " + std::to_string(state.offset);
}

std::optional<GeneratorState> generator_of(std::string_view text) {
  const size_t space = std::min(text.find(' '), text.size());
  const auto seed = number<uint64_t>(text.substr(0, space));
  const auto offset =
      number<uint64_t>(text.substr(std::min(space + 1, text.size())));
  return seed && offset ? std::optional(GeneratorState{*seed, *offset})
                        : std::nullopt;
}

/// Takes what a file has into a checkpoint.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Checkpoint read() {
    const Safetensors file = load_safetensors(path_);
    const auto format = file.metadata.find("format");
    if (format == file.metadata.end() || format->second != kFormat) {
      reject(
          "must be a \"",
          kFormat,
          "\", got ",
          format == file.metadata.end() ? "a file of tensors alone"
                                        : "another format");
    }
    for (const auto& [name, tensor] : file.tensors) {
      if (const auto of_model = after("model.", name)) {
        result_.model[*of_model] = tensor;
      } else if (const auto of_optimizer = after("optimizer.", name)) {
        result_.optimizer[*of_optimizer] = tensor;
      } else {
        reject("tensors must be of the model or the optimizer");
      }
    }
    for (const char* const count : {"step", "epoch", "position"}) {
      if (!file.metadata.contains(count)) {
        reject(count, " must be there");
      }
    }
    for (const auto& [name, text] : file.metadata) {
      take(name, text);
    }
    return std::move(result_);
  }

 private:
  void take(const std::string& name, const std::string& text) {
    if (name == "step") {
      result_.step = count(name, text);
    } else if (name == "epoch") {
      result_.epoch = count(name, text);
    } else if (name == "position") {
      result_.position = count(name, text);
    } else if (const auto generator = after("generator.", name)) {
      const auto state = generator_of(text);
      if (!state) {
        reject("the state of a generator must be two numbers");
      }
      result_.generators[*generator] = *state;
    } else if (const auto free_text = after("text.", name)) {
      result_.texts[*free_text] = text;
    } else if (name != "format") {
      reject("metadata must be a checkpoint's");
    }
  }

  int64_t count(const std::string& name, const std::string& text) const {
    const auto value = number<int64_t>(text);
    if (!value || *value < 0) {
      reject(name, " must be a number >= 0");
    }
    return *value;
  }

  template <typename... Args>
  [[noreturn]] void reject(const Args&... args) const {
    fail<std::runtime_error>("load_checkpoint", path_, ": ", args...);
  }

  const std::string& path_;
  Checkpoint result_;
};

}  // namespace

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  std::map<std::string, std::string> metadata = {
      {"format", std::string(kFormat)}};
  for (const auto& [name, value] :
       {std::pair("step", checkpoint.step),
        std::pair("epoch", checkpoint.epoch),
        std::pair("position", checkpoint.position)}) {
    if (value < 0) {
      fail("save_checkpoint", name, " must be >= 0, got ", value);
    }
    metadata[name] = std::to_string(value);
  }
  for (const auto& [name, state] : checkpoint.generators) {
    metadata["generator." + name] = text_of(state);
  }
  for (const auto& [name, text] : checkpoint.texts) {
    metadata["text." + name] = text;
  }
  StateDict tensors;
  for (const auto& [name, tensor] : checkpoint.model) {
    tensors["model." + name] = tensor;
  }
  for (const auto& [name, tensor] : checkpoint.optimizer) {
    tensors["optimizer." + name] = tensor;
  }
  save_safetensors(path, tensors, metadata);
}

Checkpoint load_checkpoint(const std::string& path) {
  return Reader(path).read();
}

std::string checkpoint_path(const std::string& folder, int64_t step) {
  if (step < 0) {
    fail("checkpoint_path", "step must be >= 0, got ", step);
  }
  constexpr size_t kDigits = 8;
  const std::string digits = std::to_string(step);
  const std::string zeros(kDigits - std::min(kDigits, digits.size()), '0');
  const std::string name = std::string(kNameStart) + zeros + digits;
  return (fs::path(folder) / (name + std::string(kNameEnd))).string();
}

std::vector<std::string> checkpoints_in(const std::string& folder) {
  std::vector<std::pair<int64_t, std::string>> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    const auto rest = after(kNameStart, name);
    if (rest && rest->ends_with(kNameEnd)) {
      const auto step = number<int64_t>(
          std::string_view(*rest).substr(0, rest->size() - kNameEnd.size()));
      if (step && *step >= 0) {
        found.emplace_back(*step, entry.path().string());
      }
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  paths.reserve(found.size());
  for (auto& [step, path] : found) {
    paths.push_back(std::move(path));
  }
  return paths;
}

void keep_last_checkpoints(const std::string& folder, int64_t count) {
  if (count < 1) {
    fail("keep_last_checkpoints", "count must be >= 1, got ", count);
  }
  const std::vector<std::string> paths = checkpoints_in(folder);
  const auto kept = std::min(paths.size(), static_cast<size_t>(count));
  for (size_t i = 0; i + kept < paths.size(); ++i) {
    std::error_code error;
    fs::remove(paths[i], error);
    if (error) {
      fail<std::runtime_error>(
          "keep_last_checkpoints",
          "cannot remove ",
          paths[i],
          ": ",
          error.message());
    }
  }
}

}  // namespace heed
