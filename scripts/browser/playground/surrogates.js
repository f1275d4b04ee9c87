// The Heaviside step and what stands in for it, as in lab/surrogates.py: what an item at a similarity gap adds to a
// rank, and the slope of that as back-propagation sees it. A gap is positive where the other item stands ahead.

/** 1 / (1 + e^-u), with all its digits on both sides. */
export function sigma(u) {
  if (u >= 0) return 1 / (1 + Math.exp(-u));
  const e = Math.exp(u);
  return e / (1 + e);
}

/** The slope of `sigma`, with all its digits on both sides. */
export function sigmaSlope(u) {
  const e = Math.exp(-Math.abs(u));
  return e / ((1 + e) * (1 + e));
}

/** The true step, 1 at a tie. It has no slope: it is H+ of SupAP, too. */
export function heaviside() {
  return { value: (gap) => (gap >= 0 ? 1 : 0), slope: () => 0, reach: [0, 0] };
}

/** A slope below this share of that at a tie counts as dead; DEAD_AT is where a sigmoid's comes to it, in units of tau. */
const DEAD = 0.01;
const DEAD_AT = -Math.log((1 - Math.sqrt(1 - DEAD)) / (1 + Math.sqrt(1 - DEAD)));

/** sigma(gap / tau) (RS@k, eq. 4). clamp: the released code cuts gap / tau to +-50. */
export function sigmoid(tau, clamp = Infinity) {
  const cut = (u) => Math.min(clamp, Math.max(-clamp, u));
  return {
    value: (gap) => sigma(cut(gap / tau)),
    slope: (gap) => (Math.abs(gap / tau) <= clamp ? sigmaSlope(gap / tau) / tau : 0),
    reach: [-DEAD_AT * tau, DEAD_AT * tau],
  };
}

/** H- of SupAP (ROADMAP, eq. 4): a sigmoid below 0, lifted by `start` up to delta, then a line of slope rho. */
export function hMinus({ tau = 0.01, rho = 100, delta = 0.05, offset = null, start = 0.5, lift_ties = false } = {}) {
  const afterDelta = offset ?? start + sigma(delta / tau);
  return {
    value(gap) {
      if (gap > delta) return rho * (gap - delta) + afterDelta;
      const lifted = lift_ties ? gap >= 0 : gap > 0;
      return sigma(gap / tau) + (lifted ? start : 0);
    },
    slope: (gap) => (gap > delta ? rho : sigmaSlope(gap / tau) / tau),
    reach: [-DEAD_AT * tau, rho > 0 ? Infinity : Math.min(DEAD_AT * tau, delta)],
  };
}

/** theta of the contextual loss (Contextual, eq. 20): the step forward, a constant slope backward. */
export function constantGradient(alpha = 10) {
  return { value: (gap) => (gap >= 0 ? 1 : 0), slope: () => alpha, reach: [-Infinity, Infinity] };
}

/** 2 sigma(t / tau) up to a tie, then 1 + rho t (Contextual, appendix E.2); rho null: the slope at a tie. */
export function linearTail(tau = 0.01, rho = null) {
  const tail = rho ?? 1 / (2 * tau);
  return {
    value: (gap) => (gap > 0 ? 1 + tail * gap : 2 * sigma(gap / tau)),
    slope: (gap) => (gap > 0 ? tail : (2 * sigmaSlope(gap / tau)) / tau),
    reach: [-DEAD_AT * tau, tail > 0 ? Infinity : 0],
  };
}

/** Soft histograms (SoftBin-AP, FastAP): an item counts by a ramp, or by a mixture of two at `phase` between bins. */
export function softBins({ bins = 20, low = -1, high = 1, phase = 0 } = {}) {
  const width = (high - low) / (bins - 1);
  const ramp = (place) => Math.min(1, Math.max(0, place));
  return {
    value(gap) {
      const place = gap / width + phase;
      return (1 - phase) * ramp(1 + place) + phase * ramp(place);
    },
    slope(gap) {
      const place = gap / width + phase;
      const lower = place > -1 && place <= 0 ? 1 : 0;
      const upper = place > 0 && place <= 1 ? 1 : 0;
      return ((1 - phase) * lower + phase * upper) / width;
    },
    reach: [-(1 + phase) * width, phase ? (1 - phase) * width : 0],
  };
}
