// Figures that a page computes by itself, as Python does: each takes the knobs, the picture that Python drew at their
// defaults, and what else Python gave, and returns the picture for these knobs; `refused` where they contradict each
// other, `idle` knobs that change nothing, and `clicked`, which knobs a click at (x, y) moves.

import { allSurrogates, hMinusVersions, rankPlus, twoSigmoids } from "./curves.js";
import { apStrip, precisionCounter, recallStrip, retrievalProtocols, twoBatches } from "./lists.js";

export const FORMS = {
  ap_strip: apStrip,
  h_minus: hMinusVersions,
  precision_counter: precisionCounter,
  rank_plus: rankPlus,
  recall_strip: recallStrip,
  retrieval_protocols: retrievalProtocols,
  surrogates: allSurrogates,
  two_batches: twoBatches,
  two_sigmoids: twoSigmoids,
};
