// From "how alike are two words?" to a Transformer's attention, in numbers that
// can be followed by hand. Draws the weights here and in self_attention.svg.
#include <heed/heed.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "examples/heat_map.h"
#include "examples/output_file.h"

using namespace heed;

namespace {

// "bank" may be a river's or one for money; the words around it decide. A
// word's vector says how much it has to do with four things.
const std::vector<std::string> kWords = {
    "the", "bank", "of", "the", "river", "floods"};
const std::vector<std::string> kFeatures = {
    "money", "water", "place", "grammar"};

Tensor word_vectors() {
  return tensor({
      {0.0, 0.0, 0.0, 1.0},  // the
      {1.0, 0.6, 0.8, 0.0},  // bank: money, yet with some water in it
      {0.0, 0.0, 0.2, 1.0},  // of
      {0.0, 0.0, 0.0, 1.0},  // the
      {0.0, 2.0, 0.8, 0.0},  // river
      {0.0, 1.8, 0.2, 0.0},  // floods
  });
}

void print(
    const std::string& title,
    const Tensor& matrix,
    const std::vector<std::string>& columns) {
  std::printf("%s\n%8s", title.c_str(), "");
  for (const std::string& column : columns) {
    std::printf("%9s", column.c_str());
  }
  std::printf("\n");
  for (int64_t i = 0; i < matrix.size(0); ++i) {
    std::printf("%8s", kWords[static_cast<size_t>(i)].c_str());
    for (double v : matrix[i].to_vector<double>()) {
      std::printf("%9.3f", v);
    }
    std::printf("\n");
  }
  std::printf("\n");
}

std::vector<std::string> numbered(const std::string& name, int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) {
    names.push_back(name + std::to_string(i));
  }
  return names;
}

void heading(int number, const std::string& text) {
  std::printf("--- %d. %s\n\n", number, text.c_str());
}

// What happens to softmax as vectors grow longer: the largest weight of random
// queries over 6 random keys, without and with the division by sqrt(d_k).
void show_why_scaling(Generator& generator) {
  std::printf(
      "%8s %26s %26s\n", "d_k", "mean largest weight", "divided by sqrt(d_k)");
  for (int64_t d_k : {1, 4, 16, 64, 256, 1024}) {
    const Tensor q = randn({500, 1, d_k}, kFloat32, generator);
    const Tensor k = randn({500, 6, d_k}, kFloat32, generator);
    const Tensor scores = matmul(q, k.transpose(1, 2));  // [500, 1, 6]
    const auto largest = [](const Tensor& s) {
      return mean(max(softmax(s, -1), -1)).item<double>();
    };
    std::printf(
        "%8lld %26.3f %26.3f\n",
        static_cast<long long>(d_k),
        largest(scores),
        largest(scores / std::sqrt(static_cast<double>(d_k))));
  }
  std::printf(
      "\nScores grow with d_k, softmax then picks one word and its gradient "
      "dies.\nDivided by sqrt(d_k) they stay as large as they were.\n\n");
}

// Learns projections that make "bank" (row 1) look at "river" (row 4), away
// from itself.
Variable learn_projections(MultiHeadAttention& attention, const Tensor& x) {
  Adam optimizer(attention.parameters(), {.lr = 0.02});
  const Tensor target = tensor({4});
  for (int step = 1; step <= 100; ++step) {
    optimizer.zero_grad();
    const Variable weights =
        attention.forward(Variable(x), {.need_weights = true}).weights;
    const Variable row = weights[0][1].unsqueeze(0);  // [1, T]
    const Variable loss = nll_loss(log(row), target);
    loss.backward();
    optimizer.step();
    if (step == 1 || step % 50 == 0) {
      std::printf(
          "step %3d: \"bank\" gives \"river\" %.1f %%\n",
          step,
          100 * std::exp(-loss.item<double>()));
    }
  }
  std::printf("\n");
  const NoGradGuard no_grad;
  return attention
      .forward(Variable(x), {.need_weights = true, .average_weights = false})
      .weights;  // [1, H, T, T]
}

}  // namespace

int main(int argc, char** argv) {
  std::string svg = "self_attention.svg";
  uint64_t seed = 1;
  CLI::App app("Walks from similarity to a Transformer's attention.");
  app.add_option("--svg", svg, "Draw all weights to this file")
      ->capture_default_str();
  app.add_option("--seed", seed, "Of all random numbers")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  manual_seed(seed);

  const Tensor x = word_vectors();  // [T, d]
  const double scale = std::sqrt(static_cast<double>(x.size(1)));
  std::vector<examples::HeatMap> maps;
  const auto show = [&maps](const std::string& title, const Tensor& weights) {
    maps.push_back({title, weights, kWords, kWords});
    std::printf("%s\n", examples::to_terminal(maps.back()).c_str());
  };

  heading(1, "Words as vectors");
  print("x: how much each word has to do with", x, kFeatures);

  heading(2, "Similarity: the dot product of each word with each other");
  const Tensor scores = matmul(x, x.transpose(0, 1));  // [T, T]
  print("x x^T", scores, kWords);
  const Tensor length = norm(x, -1, /*keepdim=*/true);  // [T, 1]
  print(
      "cosine: the same without the lengths",
      scores / (length * length.transpose(0, 1)),
      kWords);

  heading(3, "Scaling: why scores are divided by sqrt(d_k)");
  Generator generator(seed + 1);
  show_why_scaling(generator);
  print("x x^T / sqrt(4)", scores / scale, kWords);

  heading(4, "Weights: softmax makes each row positive with sum 1");
  const Tensor weights = softmax(scores / scale, -1);
  print("softmax(x x^T / sqrt(4))", weights, kWords);
  const Tensor row_sums = sum(weights, -1);
  std::cout << "row sums: " << row_sums << "\n\n";
  show("By similarity alone", weights);

  heading(5, "Mixing: each word becomes the weighted mean of all");
  const Tensor mixed = matmul(weights, x);  // [T, d]
  print("weights x", mixed, kFeatures);
  const auto water = [](const Tensor& v) {
    return (v[1][1] / (v[1][0] + v[1][1])).item<double>();
  };
  std::printf(
      "\"bank\" was %.0f %% water against money and is %.0f %% now: its "
      "neighbours\ndecided what it means.\n\n",
      100 * water(x),
      100 * water(mixed));

  heading(6, "Learning: Wq, Wk, Wv and two heads");
  std::printf(
      "Fixed vectors can only find what is alike. A Transformer compares x Wq "
      "with\nx Wk and mixes x Wv, and learns all three, here with two heads of "
      "size 2.\n\n");
  MultiHeadAttention attention(x.size(1), 2);
  const Tensor batch = x.unsqueeze(0);  // [1, T, d]
  const Tensor heads = learn_projections(attention, batch).value()[0];
  const StateDict state = attention.state_dict();
  const Tensor in_proj = state.at("in_proj_weight");  // [3 d, d]
  const auto features = numbered("q", x.size(1));
  print("x Wq", matmul(x, in_proj.slice(0, 0, 4).transpose(0, 1)), features);
  print(
      "x Wk",
      matmul(x, in_proj.slice(0, 4, 8).transpose(0, 1)),
      numbered("k", x.size(1)));
  print(
      "x Wv",
      matmul(x, in_proj.slice(0, 8, 12).transpose(0, 1)),
      numbered("v", x.size(1)));
  show("Head 1", heads[0]);
  show("Head 2", heads[1]);

  heading(7, "Masking: a decoder must not look ahead");
  const NoGradGuard no_grad;
  const Tensor masked =
      attention
          .forward(
              Variable(batch),
              {.mask = {.is_causal = true}, .need_weights = true})
          .weights.value()[0];
  show("Causal, mean of both heads", masked);

  examples::write_file(
      svg,
      examples::to_svg(
          "Attention over \"the bank of the river floods\"", maps, 2));
  std::printf("All weights drawn in %s\n", svg.c_str());

  const bool sums_to_one = allclose(row_sums, ones({x.size(0)}));
  const bool learned = mean(heads, 0)[1][4].item<double>() > 0.8;
  const bool causal = equal(triu(masked, 1), zeros({6, 6}));
  return sums_to_one && learned && causal ? 0 : 1;
}
