#include "examples/translate/attention_page.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace translate {
namespace {

using Json = nlohmann::ordered_json;

// The numbers go where DATA stands.
constexpr std::string_view kPage = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Attention</title>
<style>
:root { --ink: #1d2733; --soft: #5b6773; --line: #d9dfe5; --key: 11, 79, 138; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 20px 16px 40px;
  font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: #fff; }
h1 { font-size: 19px; margin: 0 0 2px; overflow-wrap: anywhere; }
.translation { font-size: 17px; margin: 0 0 16px; color: var(--soft);
  overflow-wrap: anywhere; }
.choices { display: flex; flex-wrap: wrap; gap: 6px; margin: 0 0 14px; }
button { font: inherit; color: inherit; background: #fff; cursor: pointer;
  border: 1px solid var(--line); border-radius: 6px; padding: 5px 11px; }
button:hover { border-color: rgb(var(--key)); }
button[aria-pressed="true"] { background: rgb(var(--key)); color: #fff;
  border-color: rgb(var(--key)); }
.columns { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
.heads { flex: 0 0 auto; }
.main { flex: 1 1 340px; min-width: 0; }
.heads table { border-collapse: separate; border-spacing: 5px;
  margin: -5px 0 0 -5px; }
.heads th { font-weight: normal; color: var(--soft); font-size: 12px;
  text-align: right; }
.heads thead th { text-align: center; }
.thumb { padding: 2px; line-height: 0; border-radius: 4px; }
.thumb canvas { width: 54px; height: 54px; image-rendering: pixelated; }
.thumb[aria-pressed="true"] { background: rgb(var(--key)); }
.map { overflow-x: auto; padding-bottom: 6px; }
.map table { border-collapse: collapse; font-size: 13px; }
.map th { font-weight: normal; white-space: nowrap; }
.map tbody th { text-align: right; padding: 0 7px 0 0; position: sticky; left: 0;
  background: #fff; }
.map thead th { height: 92px; vertical-align: bottom; }
.map thead span { display: inline-block; writing-mode: vertical-rl;
  transform: rotate(180deg); max-height: 120px; }
.map td { border: 1px solid #eef1f4; padding: 0; }
.map th.on { color: rgb(var(--key)); font-weight: 600; }
.map td.on { outline: 2px solid #b5541c; outline-offset: -2px; }
.said { min-height: 3.2em; margin: 10px 0 0; color: var(--soft); }
.words { margin: 14px 0 0; line-height: 2; }
.words span { padding: 2px 5px; border-radius: 4px; margin-right: 3px;
  display: inline-block; line-height: 1.5; }
h2 { font-size: 15px; margin: 0 0 8px; }
@media (max-width: 520px) {
  .thumb canvas { width: 38px; height: 38px; }
  .heads { max-width: 100%; overflow-x: auto; }
}
</style>
</head>
<body>
<h1 id="source"></h1>
<p class="translation" id="translation"></p>
<div class="choices" id="kinds" role="group" aria-label="Kind"></div>
<div class="columns">
  <div class="heads">
    <h2>Layers and heads</h2>
    <div id="heads"></div>
  </div>
  <div class="main">
    <h2 id="title"></h2>
    <div class="map" id="map"></div>
    <p class="said" id="said"></p>
    <p class="words" id="words"></p>
  </div>
</div>
<script>
const data = DATA;
const state = { kind: 0, layer: data.kinds[0].layers.length - 1, head: -1 };
const $ = id => document.getElementById(id);
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
const kind = () => data.kinds[state.kind];
// Weights of a head, row after row; head -1 is the mean of all.
const weights = (layer, head) => {
  const heads = kind().layers[layer];
  if (head >= 0) return heads[head];
  return heads[0].map((_, i) =>
    heads.reduce((sum, one) => sum + one[i], 0) / heads.length);
};
const shade = w => Math.sqrt(Math.max(0, Math.min(1, w)));
const percent = w => (100 * w).toFixed(w < 0.0995 ? 1 : 0) + " %";

function thumbnail(layer, head) {
  const { rows, columns } = kind(), w = weights(layer, head);
  const canvas = make("canvas", { width: columns.length, height: rows.length });
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, columns.length, rows.length);
  w.forEach((v, i) => {
    pen.fillStyle = `rgba(11, 79, 138, ${shade(v)})`;
    pen.fillRect(i % columns.length, Math.floor(i / columns.length), 1, 1);
  });
  const name = `layer ${layer + 1}, ` + (head < 0 ? "mean" : `head ${head + 1}`);
  const button = make("button", { className: "thumb", title: name }, canvas);
  button.setAttribute("aria-label", name);
  button.setAttribute("aria-pressed",
    layer === state.layer && head === state.head);
  button.onclick = () => { Object.assign(state, { layer, head }); draw(); };
  return button;
}

function drawHeads() {
  const count = kind().layers[0].length;
  const heads = [-1, ...Array(count).keys()];
  const head = make("tr", {}, make("th"),
    ...heads.map(h => make("th", { textContent: h < 0 ? "mean" : h + 1 })));
  const body = kind().layers.map((_, layer) => make("tr", {},
    make("th", { textContent: layer + 1 }),
    ...heads.map(h => make("td", {}, thumbnail(layer, h)))));
  $("heads").replaceChildren(make("table", {},
    make("thead", {}, head), make("tbody", {}, ...body)));
}

function drawMap() {
  const { rows, columns, title } = kind();
  const w = weights(state.layer, state.head);
  $("title").textContent = `${title}: layer ${state.layer + 1}, ` +
    (state.head < 0 ? "mean of all heads" : `head ${state.head + 1}`);
  const room = $("map").clientWidth - 110;
  const size = Math.max(18, Math.min(34, Math.floor(room / columns.length)));
  const tops = columns.map(text =>
    make("th", { scope: "col" }, make("span", { textContent: text })));
  const sides = rows.map(text => make("th", { textContent: text, scope: "row" }));
  const cells = w.map((v, i) => {
    const cell = make("td");
    cell.style.cssText = `min-width: ${size}px; width: ${size}px; ` +
      `height: ${size}px; background: rgba(11, 79, 138, ${shade(v)})`;
    const r = Math.floor(i / columns.length), c = i % columns.length;
    cell.onpointerenter = () => point(r, c);
    return cell;
  });
  const point = (r, c) => {
    const chosen = cells[r * columns.length + c];
    cells.forEach(cell => cell.classList.toggle("on", cell === chosen));
    sides.forEach((th, i) => th.classList.toggle("on", i === r));
    tops.forEach((th, i) => th.classList.toggle("on", i === c));
    say(r, c);
  };
  const say = (r, c) => {
    const row = w.slice(r * columns.length, (r + 1) * columns.length);
    $("said").textContent = `\u201c${rows[r]}\u201d gives \u201c${columns[c]}` +
      `\u201d ${percent(row[c])} of its attention.`;
    $("words").replaceChildren(...columns.map((text, i) => {
      const word = make("span", { textContent: text, title: percent(row[i]) });
      const a = shade(row[i]);
      word.style.background = `rgba(11, 79, 138, ${a})`;
      word.style.color = a > 0.55 ? "#fff" : "inherit";
      return word;
    }));
  };
  sides.forEach((th, r) => th.onpointerenter = () => {
    const row = w.slice(r * columns.length, (r + 1) * columns.length);
    point(r, row.indexOf(Math.max(...row)));
  });
  $("map").replaceChildren(make("table", {},
    make("thead", {}, make("tr", {}, make("th"), ...tops)),
    make("tbody", {}, ...sides.map((th, r) => make("tr", {}, th,
      ...cells.slice(r * columns.length, (r + 1) * columns.length))))));
  sides[0].onpointerenter();
}

function draw() {
  $("kinds").replaceChildren(...data.kinds.map((one, i) => {
    const button = make("button", { textContent: one.title });
    button.setAttribute("aria-pressed", i === state.kind);
    button.onclick = () => {
      state.kind = i;
      state.layer = Math.min(state.layer, one.layers.length - 1);
      draw();
    };
    return button;
  }));
  drawHeads();
  drawMap();
}

$("source").textContent = data.source;
$("translation").textContent = data.translation;
document.title = "Attention: " + data.source;
draw();
addEventListener("resize", drawMap);
</script>
</body>
</html>
)html";

Json json_of(const AttentionKind& kind) {
  Json layers = Json::array();
  for (const heed::Tensor& heads : kind.layers) {
    Json layer = Json::array();
    for (int64_t head = 0; head < heads.size(0); ++head) {
      Json weights = Json::array();
      for (double weight : heads[head].to_vector<double>()) {
        weights.push_back(std::round(weight * 1000) / 1000);
      }
      layer.push_back(std::move(weights));
    }
    layers.push_back(std::move(layer));
  }
  return {
      {"title", kind.title},
      {"rows", kind.rows},
      {"columns", kind.columns},
      {"layers", std::move(layers)}};
}

}  // namespace

std::string attention_page(const Attention& attention) {
  Json kinds = Json::array();
  for (const AttentionKind& kind : attention.kinds) {
    if (!kind.layers.empty()) {
      kinds.push_back(json_of(kind));
    }
  }
  std::string data = Json({{"source", attention.source},
                           {"translation", attention.translation},
                           {"kinds", std::move(kinds)}})
                         .dump();
  // Nothing in a text may end the script.
  for (size_t at = 0; (at = data.find('<', at)) != std::string::npos;) {
    data.replace(at, 1, "\\u003c");
  }
  std::string page(kPage);
  page.replace(page.find("DATA"), 4, data);
  return page;
}

}  // namespace translate
