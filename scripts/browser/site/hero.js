// The first screen: pictures on faders, moved by how alike they are to the one that asks, and what four numbers make of it.

import { descending, range } from "../figures/in_page/words.js";
import { averagePrecision, mean, softRanks } from "../playground/ranking.js";
import { sigmoid } from "../playground/surrogates.js";

const hero = document.querySelector(".hero"), items = JSON.parse(hero.dataset.items), smooth = sigmoid(0.1);
const at = (name) => hero.querySelector(`.${name}`);
const every = range(items.length), plus = every.filter((i) => items[i].right), minus = every.filter((i) => !items[i].right);
const faders = items.map(({ name, score, face }) => {
  const fader = Object.assign(document.createElement("input"), { type: "range", min: -1, max: 1, step: 0.01 });
  fader.style.setProperty("--face", `url(${face})`);
  return Object.assign(fader, { value: score, oninput: draw, title: name, ariaLabel: `${name}: how alike` });
});
function draw() {
  const scores = faders.map((one) => Number(one.value)), order = descending(scores);
  const [among, ranks] = [plus, every].map((list) => softRanks(list, scores, smooth));
  const told = { first: Number(items[order[0]].right), precision: averagePrecision(scores, items.map((one) => one.right)) };
  told.pairs = mean(plus.map((i) => 1 - scores[i])) + mean(minus.map((i) => Math.max(0, scores[i] - 0.5)));
  told.ranks = 1 - mean(plus.map((item, i) => among[i] / ranks[item]));
  for (const [name, value] of Object.entries(told)) {
    at(name).value = value;
    at(name).nextElementSibling.textContent = value.toFixed(2);
  }
  const seen = ({ name, face, right }) => `<span><img src="${face}" alt="${name}" width="30"><br>${right ? "✓" : "✗"}</span>`;
  at("found").innerHTML = order.map((i) => seen(items[i])).join("");
  at("says").textContent = ["A frog is first.", "A tiger is first. And the other one?", "✓ Both tigers are on top."][told.first + (told.precision === 1)];
}
at("faders").append(...faders);
draw();
