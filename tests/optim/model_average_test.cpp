#include "optim/model_average.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "nn/transformer.h"
#include "optim/checkpoint.h"
#include "tensor/comparison.h"
#include "tensor/creation.h"
#include "tensor/random.h"
#include "tests/temporary_folder.h"

using namespace heed;

namespace {

void save_model(const std::string& path, const StateDict& model) {
  save_checkpoint(path, {.model = model});
}

bool same(const StateDict& a, const StateDict& b) {
  bool result = a.size() == b.size();
  for (const auto& [name, x] : a) {
    result = result && b.contains(name) && x.dtype() == b.at(name).dtype() &&
             equal(x, b.at(name));
  }
  return result;
}

std::string error_of(const std::vector<std::string>& paths) {
  return message_of<std::runtime_error>([&] { average_models(paths); });
}

}  // namespace

TEST_CASE("model average: the mean of each number, in the model's dtypes") {
  const TemporaryFolder folder;
  for (const int x : {1, 2, 6}) {
    save_model(
        folder / std::to_string(x),
        {{"w", tensor({x, -x}, kFloat32)},
         {"v", tensor(x * 1e-300, kFloat64)},
         {"ids", tensor({4, 2})},
         {"mask", tensor({true, false})}});
  }
  const StateDict mean =
      average_models({folder / "1", folder / "2", folder / "6"});
  CHECK(equal(mean.at("w"), tensor({3., -3.})));
  CHECK(mean.at("v").item<double>() == doctest::Approx(3e-300));
  CHECK(equal(mean.at("ids"), tensor({4, 2})));
  CHECK(equal(mean.at("mask"), tensor({true, false})));
}

TEST_CASE("model average: of one file, the file; of any order, the same bits") {
  const TemporaryFolder folder;
  Generator generator(3);
  std::vector<std::string> paths;
  for (int i = 0; i < 5; ++i) {
    paths.push_back(folder / std::to_string(i));
    // Numbers of very different sizes: sums depend on their order.
    Tensor w = randn({1000}, kFloat64, generator);
    w.mul_(i % 2 == 0 ? 1e18 : 1);
    save_model(
        paths.back(), {{"w", w}, {"v", randn({50}, kFloat32, generator)}});
  }
  CHECK(same(average_models({paths[1]}), load_checkpoint(paths[1]).model));
  const StateDict mean = average_models(paths);
  CHECK(same(average_models(paths), mean));
  CHECK(same(average_models({paths.rbegin(), paths.rend()}), mean));
  std::swap(paths[0], paths[3]);
  CHECK(same(average_models(paths), mean));
}

TEST_CASE("model average: tied weights stay tied") {
  const TemporaryFolder folder;
  Generator generator(4);
  const TransformerOptions options = {
      .num_encoder_layers = 1,
      .num_decoder_layers = 1,
      .d_model = 8,
      .num_heads = 2,
      .d_ff = 8,
      .tie_source_target = true,
      .tie_output = true,
      .generator = generator};
  std::vector<std::string> paths;
  for (int i = 0; i < 3; ++i) {
    const Transformer model(7, 7, options);
    paths.push_back(folder / std::to_string(i));
    save_model(paths.back(), model.state_dict());
  }
  const StateDict mean = average_models(paths);
  CHECK(equal(mean.at("src_embedding.weight"), mean.at("output_proj.weight")));
  Transformer model(7, 7, options);
  const int64_t parameters = model.num_parameters();
  model.load_state_dict(mean);
  CHECK(model.num_parameters() == parameters);
  CHECK(same(model.state_dict(), mean));
}

TEST_CASE("model average: models of another kind are refused by name") {
  const TemporaryFolder folder;
  const std::string a = folder / "a";
  const std::string b = folder / "b";
  save_model(a, {{"v", ones({2})}, {"w", ones({2})}});
  const auto with = [&](const StateDict& model) {
    save_model(b, model);
    const std::string forward = error_of({a, b});
    CHECK(error_of({b, a}) == forward);
    return forward;
  };
  CHECK(
      with({{"v", ones({2})}}) == "average_models: " + b +
                                      " must have the tensors of " + a +
                                      ", got one without w");
  CHECK(
      with({{"v", ones({2})}, {"w", ones({2})}, {"x", ones({1})}}) ==
      "average_models: " + b + " must have the tensors of " + a +
          ", got one with x");
  CHECK(
      with({{"v", ones({2})}, {"w", ones({3})}}) ==
      "average_models: " + b + ": w must be float32 [2] as in " + a +
          ", got float32 [3]");
  CHECK(
      with({{"v", ones({2})}, {"w", ones({2}, kFloat64)}})
          .find("got float64 [2]") != std::string::npos);
  save_model(a, {{"w", tensor({1, 2})}});
  CHECK(
      with({{"w", tensor({1, 3})}}) ==
      "average_models: " + b +
          ": w is no float and must be equal in all models");
  CHECK(error_of({a, folder / "c"}).find(folder / "c") != std::string::npos);
  CHECK_THROWS_WITH_AS(
      average_models({}),
      "average_models: paths must name a checkpoint, got none",
      std::invalid_argument);
  CHECK_THROWS_AS(average_models({a, b, a}), std::invalid_argument);
}

TEST_CASE("model average: of the last ones in a folder, never of fewer") {
  const TemporaryFolder folder;
  for (const int64_t step : {1, 2, 6}) {
    save_model(checkpoint_path(folder / "", step), {{"w", full({1}, step)}});
  }
  write_bytes(folder / "checkpoint-00000009.safetensors.tmp", "half");
  const auto mean = [&](int64_t count) {
    return average_last_models(folder / "", count).at("w").item<double>();
  };
  CHECK(mean(1) == 6);
  CHECK(mean(2) == 4);
  CHECK(mean(3) == 3);
  CHECK_THROWS_WITH_AS(
      mean(4),
      ("average_last_models: " + (folder / "") +
       " must have 4 checkpoints, got 3")
          .c_str(),
      std::runtime_error);
  CHECK_THROWS_WITH_AS(
      mean(0),
      "average_last_models: count must be >= 1, got 0",
      std::invalid_argument);
}
