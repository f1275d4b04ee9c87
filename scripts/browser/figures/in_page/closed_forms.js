// Figures that a page computes: each takes the knobs, what Python drew at defaults and what else it gave, and gives
// the picture, or why the knobs are `refused`; `idle` knobs change nothing, and `clicked(x, y)` says which one moves.

import { allSurrogates, hMinusVersions, rankPlus, twoSigmoids } from "./curves.js";
import { apStrip, gapBounds, precisionCounter, recallStrip, retrievalProtocols, twoBatches } from "./lists.js";
import { anchorSandbox, ownAnchors, vectorLengths } from "./planes.js";

export const FORMS = {
  anchor_sandbox: anchorSandbox,
  ap_strip: apStrip,
  gap_bounds: gapBounds,
  h_minus: hMinusVersions,
  precision_counter: precisionCounter,
  rank_plus: rankPlus,
  recall_strip: recallStrip,
  retrieval_protocols: retrievalProtocols,
  surrogates: allSurrogates,
  two_batches: twoBatches,
  two_sigmoids: twoSigmoids,
  vector_lengths: vectorLengths,
};

/** Where points stand that can be dragged and have not been. */
export const OWN_POINTS = { anchor_sandbox: ownAnchors };
