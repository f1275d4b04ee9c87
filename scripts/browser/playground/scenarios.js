// Moments worth a link. Places are angles in degrees in the order of the set: one on a circle, two on a sphere.

const radians = (degrees) => (degrees / 180) * Math.PI;
const onCircle = (degrees) => Float32Array.from(degrees.map(radians).flatMap((at) => [Math.cos(at), Math.sin(at)]));
const onSphere = (pairs) =>
  Float32Array.from(
    pairs.flatMap(([east, north]) => {
      const [a, b] = [radians(east), radians(north)];
      return [Math.cos(b) * Math.cos(a), Math.sin(b), Math.cos(b) * Math.sin(a)];
    }),
  );

/** Two places of each of four kinds, for three pictures each. */
const HALVES = [
  [0, 0],
  [180, 0],
  [60, 40],
  [240, -40],
  [120, -40],
  [300, 40],
  [30, 70],
  [210, -70],
];
const AROUND = [
  [0, 4],
  [7, -3],
  [-6, 0],
];

/** Of each of four kinds where its pictures of the first and of the second batch stand, and how far around that. */
const BATCHES = [
  [321, 25],
  [278, 216],
  [136, 198],
  [115, 50],
];
const NEAR = [-4, -3.2, 0, 0.4, 4, 3.6];

export const SCENARIOS = [
  {
    name: "start",
    title: "Find the other tigers",
    words:
      "The tiger with the double ring asks. Press play: the loss moves every picture until each finds its own " +
      "kind. Then drag a picture away and see who follows.",
    state: { set: "dozen", d: 3, loss: "recall_at_k", knobs: { k: [1, 2], tau2: 0.1 }, seed: 7 },
  },
  {
    name: "hopeless",
    title: "A hopeless query",
    words:
      "The other two tigers stand on the far side. SmoothAP does not feel them: every gap lies beyond the reach " +
      "of its temperature. SupAP has a slope there, but divides it by the square of the rank. ROADMAP pulls them " +
      "back, since its calibration counts no ranks.",
    state: {
      set: "dozen",
      d: 3,
      loss: "smooth_ap",
      knobs: { tau: 0.01 },
      rows: onSphere([
        [0, 0],
        [150, 20],
        [165, -15],
        [40, 30],
        [55, 20],
        [48, 45],
        [60, -30],
        [75, -20],
        [70, -45],
        [-60, 10],
        [-75, 0],
        [-68, 25],
      ]),
    },
  },
  {
    name: "halves",
    title: "Two halves of a class",
    words:
      "Each picture has its own kind beside it: the first answer is always right. The other half of its class is " +
      "lost on the far side, and average precision says so. Play with this loss, then with ROADMAP.",
    state: {
      set: "two_dozen",
      d: 3,
      loss: "recall_at_k",
      knobs: { k: [1] },
      rows: onSphere(HALVES.flatMap(([a, b]) => AROUND.map(([c, d]) => [a + c, b + d]))),
    },
  },
  {
    name: "small_tau",
    title: "A temperature too small",
    words:
      "No first answer is right, and nothing moves: with τ₂ = 0.0003 every gap of this query lies where the " +
      "sigmoid is flat. Raise τ₂ until crosses turn into dots, and play.",
    state: {
      set: "dozen",
      loss: "recall_at_k",
      knobs: { k: [1, 2], tau2: 0.0003 },
      rows: onCircle([0, 50, 95, 20, 70, 130, 170, 215, 260, 190, 240, 305]),
    },
  },
  {
    name: "pushed",
    title: "A positive that is pushed away",
    words:
      "Both tigers stand first, and yet the nearer one is pushed away (“pushed” beside a ✓): it counts in the " +
      "rank of the other. SupAP counts positives by the hard step, and never pushes one.",
    state: {
      set: "dozen",
      loss: "recall_at_k",
      knobs: { k: [2], tau1: 0.2, tau2: 0.05 },
      rows: onCircle([0, 22, 34, 40, 150, 200, -70, 170, 230, 100, 250, -120]),
    },
  },
  {
    name: "lost_set",
    title: "Perfect batches, a lost set",
    words:
      "The pictures are dealt out into two batches. Within each batch every list is right, and SupAP is content. " +
      "In the whole set many lists are wrong: that is the decomposability gap. ROADMAP adds a calibration that " +
      "closes it.",
    state: {
      set: "two_dozen",
      loss: "sup_ap",
      knobs: {},
      batches: 2,
      rows: onCircle(BATCHES.flatMap((two) => NEAR.map((off, i) => two[i % 2] + off))),
    },
  },
  {
    name: "encoder",
    title: "A tiny encoder learns",
    words:
      "Now a network moves the pictures: 8 × 8 pixels, one layer, two numbers. It begins at random. Change the " +
      "loss or its temperature while it runs, and rewind.",
    state: { set: "kinds", mode: "encoder", loss: "smooth_ap", knobs: { tau: 0.05 } },
  },
];

/** The scenario of a name; undefined where there is none. */
export function scenario(name) {
  return SCENARIOS.find((one) => one.name === name);
}
