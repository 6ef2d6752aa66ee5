#include "optim/checkpoint.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "optim/adam.h"
#include "tensor/creation.h"
#include "tensor/generator.h"
#include "tensor/safetensors.h"
#include "tests/temporary_folder.h"

using namespace heed;
namespace fs = std::filesystem;

namespace {

Checkpoint some_checkpoint() {
  return {
      .model = {{"layer.weight", tensor({1., 2.})}, {"bias", tensor({3.})}},
      .optimizer = {{"step", tensor(7)}, {"0.exp_avg", tensor({0.5, -1.})}},
      .generators =
          {{"dropout", {1706'03762, 12}},
           {"shuffle", {0, std::numeric_limits<uint64_t>::max()}}},
      .step = 7,
      .epoch = 2,
      .position = std::numeric_limits<int64_t>::max(),
      .texts = {{"options", "d_model = 512\n"}, {"", ""}}};
}

void check_same(const StateDict& a, const StateDict& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& [name, x] : a) {
    REQUIRE(b.contains(name));
    CHECK(b.at(name).shape() == x.shape());
    CHECK(b.at(name).to_vector<double>() == x.to_vector<double>());
  }
}

std::string error_of_loading(const std::string& path) {
  return message_of<std::runtime_error>([&] { load_checkpoint(path); });
}

/// heed_resumable_training as a process of its own.
class Training {
 public:
  struct Limits {
    rlim_t file_size = RLIM_INFINITY;
  };

  Training(const std::string& path, int64_t steps, int64_t every)
      : Training(path, steps, every, Limits()) {}
  Training(
      const std::string& path, int64_t steps, int64_t every, Limits limits) {
    const std::string steps_text = std::to_string(steps);
    const std::string every_text = std::to_string(every);
    const std::array<const char*, 5> arguments = {
        HEED_RESUMABLE_TRAINING,
        path.c_str(),
        steps_text.c_str(),
        every_text.c_str(),
        nullptr};
    std::array<int, 2> ends;
    REQUIRE(pipe(ends.data()) == 0);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    process_ = fork();
    if (process_ == 0) {
      rlimit limit;
      getrlimit(RLIMIT_FSIZE, &limit);
      limit.rlim_cur = std::min(limits.file_size, limit.rlim_max);
      setrlimit(RLIMIT_FSIZE, &limit);
      dup2(ends[1], STDOUT_FILENO);
      execv(arguments[0], const_cast<char* const*>(arguments.data()));
      _exit(127);
    }
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
    REQUIRE(process_ > 0);
    REQUIRE(output_ != nullptr);
  }
  ~Training() {
    if (process_ > 0) {
      kill();
    }
    std::fclose(output_);
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  /// The line of the next update, empty at the end.
  std::string line() {
    std::array<char, 200> text = {};
    return std::fgets(text.data(), text.size(), output_) ? text.data() : "";
  }
  std::vector<std::string> lines() {
    std::vector<std::string> all;
    for (std::string next = line(); !next.empty(); next = line()) {
      all.push_back(next);
    }
    return all;
  }

  void kill() {
    ::kill(process_, SIGKILL);
    wait();
  }
  /// The exit status.
  int wait() {
    int status = 0;
    REQUIRE(waitpid(process_, &status, 0) == process_);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t process_ = -1;
  FILE* output_ = nullptr;
};

/// The lines of a run that was not disturbed.
std::vector<std::string> train(
    const std::string& path, int64_t steps, int64_t every = 1'000'000) {
  Training training(path, steps, every);
  std::vector<std::string> lines = training.lines();
  REQUIRE(training.wait() == 0);
  return lines;
}

/// What a line of an update says: which pass, and the first sample.
std::pair<int, int> epoch_and_sample(const std::string& line) {
  std::istringstream words(line);
  int step = 0;
  int epoch = 0;
  int position = 0;
  int sample = 0;
  words >> step >> epoch >> position >> sample;
  return {epoch, sample};
}

}  // namespace

TEST_CASE("checkpoint: all that it holds comes back") {
  const TemporaryFolder folder;
  const std::string path = folder / "run.safetensors";
  const Checkpoint saved = some_checkpoint();
  save_checkpoint(path, saved);
  const Checkpoint loaded = load_checkpoint(path);
  check_same(saved.model, loaded.model);
  check_same(saved.optimizer, loaded.optimizer);
  CHECK(loaded.generators == saved.generators);
  CHECK(loaded.step == saved.step);
  CHECK(loaded.epoch == saved.epoch);
  CHECK(loaded.position == saved.position);
  CHECK(loaded.texts == saved.texts);
  save_checkpoint(folder / "again", loaded);
  CHECK(read_bytes(folder / "again") == read_bytes(path));
}

TEST_CASE(
    "checkpoint: Adam's first update after it is the next, not the first") {
  const TemporaryFolder folder;
  const auto update = [](Variable& w, Adam& adam, double grad) {
    w.zero_grad();
    w.backward(tensor(grad, kFloat64));
    adam.step();
  };
  const AdamOptions options = {.lr = 0.1};
  Variable w(tensor(1., kFloat64), true);
  Adam adam({w}, options);
  update(w, adam, 1);
  update(w, adam, -1);
  save_checkpoint(
      folder / "x",
      {.model = {{"w", w.value()}}, .optimizer = adam.state_dict()});
  update(w, adam, 0.5);

  const Checkpoint from = load_checkpoint(folder / "x");
  Variable v(from.model.at("w"), true);
  Adam other({v}, options);
  other.load_state_dict(from.optimizer);
  update(v, other, 0.5);
  CHECK(v.item<double>() == doctest::Approx(0.887791).epsilon(1e-6));
  CHECK(v.item<double>() == w.item<double>());
}

TEST_CASE("checkpoint: a resumed run is the uninterrupted one, bit for bit") {
  const TemporaryFolder folder;
  // A pass through the data takes six updates: 6 is between two, 10 within one.
  const std::vector<std::string> straight = train(folder / "straight", 20);
  REQUIRE(straight.size() == 20);
  for (const int stop : {6, 10}) {
    const std::string path = folder / ("stopped" + std::to_string(stop));
    std::vector<std::string> lines = train(path, stop);
    for (std::string& line : train(path, 20)) {
      lines.push_back(std::move(line));
    }
    CHECK(lines == straight);
    CHECK(read_bytes(path) == read_bytes(folder / "straight"));
  }
  // The order of a pass is its own, not the first one's once more.
  std::vector<std::vector<int>> orders(3);
  for (size_t i = 0; i < 18; ++i) {
    const auto [epoch, sample] = epoch_and_sample(straight[i]);
    orders.at(static_cast<size_t>(epoch)).push_back(sample);
  }
  CHECK(orders[0].size() == 6);
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
}

TEST_CASE("checkpoint: a run killed a hundred times is the uninterrupted one") {
  const TemporaryFolder folder;
  const std::string path = folder / "killed";
  Generator generator(5);
  const auto below = [&](int64_t n) {
    int64_t number = 0;
    fill_index(&number, 1, 0, n, generator);
    return number;
  };
  int64_t step = 0;
  for (int kill = 0; kill < 100; ++kill) {
    const bool while_saving = kill % 2 == 0;
    // A line comes before its checkpoint, so the next is there after it.
    const int64_t lines = while_saving ? 1 : 1 + below(3);
    const int64_t delay = below(while_saving ? 300 : 3000);  // microseconds
    if (while_saving) {
      fs::remove(path + ".tmp");  // what the last one left
    }
    {
      Training training(path, 1'000'000, 1);
      for (int64_t i = 0; i < lines; ++i) {
        REQUIRE(!training.line().empty());
      }
      if (while_saving) {
        for (int i = 0; i < 100'000 && !fs::exists(path + ".tmp"); ++i) {
        }
      }
      usleep(static_cast<useconds_t>(delay));
      training.kill();
    }
    if (fs::exists(path)) {
      const int64_t saved = load_checkpoint(path).step;
      CHECK(saved >= step);
      step = saved;
    }
  }
  CHECK(step > 0);

  train(path, step + 5);
  train(folder / "straight", step + 5);
  CHECK(read_bytes(path) == read_bytes(folder / "straight"));
  CHECK(folder.names() == std::set<std::string>{"killed", "straight"});
}

TEST_CASE("checkpoint: a full disk stops the run with its last file intact") {
  const TemporaryFolder folder;
  const std::string path = folder / "run";
  train(path, 3);
  const std::string good = read_bytes(path);
  {
    Training training(path, 6, 1, {.file_size = good.size() / 2});
    CHECK(training.lines().size() == 1);
    CHECK(training.wait() == 1);
  }
  CHECK(read_bytes(path) == good);
  CHECK(folder.names() == std::set<std::string>{"run"});
  train(path, 6);
  train(folder / "straight", 6);
  CHECK(read_bytes(path) == read_bytes(folder / "straight"));

  CHECK(message_of<std::runtime_error>([] {
          save_checkpoint("/dev/full", some_checkpoint());
        }).find("cannot write /dev/full: No space left") != std::string::npos);
}

TEST_CASE("checkpoint: files of another kind are refused by name") {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  const auto error = [&](const StateDict& tensors,
                         std::map<std::string, std::string> metadata,
                         const std::map<std::string, std::string>& changes) {
    for (const auto& [key, text] : changes) {
      metadata[key] = text;
    }
    save_safetensors(path, tensors, metadata);
    const std::string message = error_of_loading(path);
    const std::string start = "load_checkpoint: " + path + ": ";
    return message.starts_with(start) ? message.substr(start.size()) : message;
  };
  const std::map<std::string, std::string> good = {
      {"format", "heed checkpoint 1"},
      {"step", "1"},
      {"epoch", "0"},
      {"position", "0"}};
  CHECK(error({{"model.w", ones({1})}}, good, {}) == "");
  CHECK(
      error({{"w", ones({1})}}, {}, {}) ==
      "must be a \"heed checkpoint 1\", got a file of tensors alone");
  CHECK(
      error({}, good, {{"format", "heed checkpoint 2"}}) ==
      "must be a \"heed checkpoint 1\", got another format");
  CHECK(
      error({{"w", ones({1})}}, good, {}) ==
      "tensors must be of the model or the optimizer");
  for (const std::string bad : {"", "-1", "1x", " 1", "9223372036854775808"}) {
    CHECK(error({}, good, {{"step", bad}}) == "step must be a number >= 0");
    CHECK(error({}, good, {{"epoch", bad}}) == "epoch must be a number >= 0");
  }
  CHECK(
      error({}, {{"format", "heed checkpoint 1"}}, {}) == "step must be there");
  for (const std::string bad :
       {"", "1", "1 ", " 1", "1 2 3", "-1 2", "1 18446744073709551616"}) {
    CHECK(
        error({}, good, {{"generator.x", bad}}) ==
        "the state of a generator must be two numbers");
  }
  CHECK(error({}, good, {{"more", ""}}) == "metadata must be a checkpoint's");
  CHECK(
      error_of_loading(folder / "none").find(folder / "none") !=
      std::string::npos);
}

TEST_CASE("checkpoint: cut short anywhere it is refused") {
  const TemporaryFolder folder;
  save_checkpoint(folder / "x", some_checkpoint());
  const std::string good = read_bytes(folder / "x");
  for (size_t length = 0; length < good.size(); ++length) {
    write_bytes(folder / "x", good.substr(0, length));
    CHECK(
        error_of_loading(folder / "x").find(folder / "x") != std::string::npos);
  }
}

TEST_CASE(
    "checkpoint: numbers below zero are refused before anything is written") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(
      save_checkpoint(folder / "x", {.epoch = -1}),
      "save_checkpoint: epoch must be >= 0, got -1",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      checkpoint_path("x", -1),
      "checkpoint_path: step must be >= 0, got -1",
      std::invalid_argument);
  CHECK(folder.names().empty());
}

TEST_CASE("checkpoint: those in a folder by their steps, and the last kept") {
  const TemporaryFolder folder;
  CHECK(checkpoint_path("run", 1200) == "run/checkpoint-00001200.safetensors");
  CHECK(checkpoints_in(folder / "none").empty());
  CHECK(checkpoints_in(folder / "").empty());
  const std::vector<int64_t> steps = {5, 99'999'999, 100'000'000, 12};
  for (const int64_t step : steps) {
    save_checkpoint(checkpoint_path(folder / "", step), {.step = step});
  }
  const std::set<std::string> others = {
      "checkpoint-00000007.safetensors.tmp",
      "checkpoint-.safetensors",
      "checkpoint--1.safetensors",
      "checkpoint-1x.safetensors",
      "best.safetensors"};
  for (const std::string& name : others) {
    write_bytes(folder / name, "");
  }
  const auto found = [&] {
    std::vector<int64_t> result;
    for (const std::string& path : checkpoints_in(folder / "")) {
      result.push_back(load_checkpoint(path).step);
    }
    return result;
  };
  CHECK(found() == std::vector<int64_t>{5, 12, 99'999'999, 100'000'000});
  keep_last_checkpoints(folder / "", 7);
  CHECK(found().size() == 4);
  keep_last_checkpoints(folder / "", 2);
  CHECK(found() == std::vector<int64_t>{99'999'999, 100'000'000});
  CHECK(folder.names().size() == 2 + others.size());
  CHECK_THROWS_WITH_AS(
      keep_last_checkpoints(folder / "", 0),
      "keep_last_checkpoints: count must be >= 1, got 0",
      std::invalid_argument);
}
