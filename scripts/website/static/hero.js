// Built from scripts/browser; edit the sources there.
(() => {
  // figures/in_page/words.js
  var range = (count, from = 0) => Array.from({ length: count }, (_, i) => from + i);
  var descending = (values) => range(values.length).sort((a, b) => values[b] - values[a]);

  // playground/ranking.js
  function softRanks(list, scores, surrogate) {
    return list.map(
      (item) => list.reduce((rank, other) => other === item ? rank : rank + surrogate.value(scores[other] - scores[item]), 1)
    );
  }
  function averagePrecision(scores, relevant) {
    const all = Float64Array.from(scores).sort().reverse();
    const mine = Float64Array.from(scores.filter((_, i) => relevant[i])).sort().reverse();
    let rank = 0;
    let among = 0;
    let sum = 0;
    for (const score of mine) {
      while (all[rank] >= score) rank++;
      while (mine[among] >= score) among++;
      sum += among / rank;
    }
    return sum / mine.length;
  }
  function mean(values) {
    let sum = 0;
    let count = 0;
    for (const value of values) {
      if (!Number.isNaN(value)) {
        sum += value;
        count++;
      }
    }
    return count ? sum / count : NaN;
  }

  // playground/surrogates.js
  function sigma(u) {
    if (u >= 0) return 1 / (1 + Math.exp(-u));
    const e = Math.exp(u);
    return e / (1 + e);
  }
  function sigmaSlope(u) {
    const e = Math.exp(-Math.abs(u));
    return e / ((1 + e) * (1 + e));
  }
  var DEAD = 0.01;
  var DEAD_AT = -Math.log((1 - Math.sqrt(1 - DEAD)) / (1 + Math.sqrt(1 - DEAD)));
  function sigmoid(tau, clamp = Infinity) {
    const cut = (u) => Math.min(clamp, Math.max(-clamp, u));
    return {
      value: (gap) => sigma(cut(gap / tau)),
      slope: (gap) => Math.abs(gap / tau) <= clamp ? sigmaSlope(gap / tau) / tau : 0,
      reach: [-DEAD_AT * tau, DEAD_AT * tau]
    };
  }

  // site/hero.js
  var hero = document.querySelector(".hero");
  var items = JSON.parse(hero.dataset.items);
  var smooth = sigmoid(0.1);
  var at = (name) => hero.querySelector(`.${name}`);
  var every = range(items.length);
  var plus = every.filter((i) => items[i].right);
  var minus = every.filter((i) => !items[i].right);
  var faders = items.map(({ name, score, face }) => {
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
})();
