// The worker: exact search in the full space, over all images that a run searches. Equal scores are ordered by place.

const runs = [];

/** Squared length of each row, in the units of the scales. */
function lengths({ codes, scales }) {
  const width = codes.length / scales.length;
  const squares = new Float64Array(scales.length);
  codes.forEach((code, at) => (squares[Math.floor(at / width)] += code * code));
  return squares.map((square, i) => scales[i] * scales[i] * square);
}

/** Every searched image but the query, nearest first: rows, and their similarities. */
function ranking({ codes, scales, searched, similarity, squares }, row) {
  const width = codes.length / scales.length;
  const query = codes.subarray(row * width, (row + 1) * width);
  const scores = new Float64Array(scales.length);
  const rows = new Uint32Array(scales.length);
  let count = 0;
  for (let i = 0; i < scales.length; i++) {
    if (!searched[i] || i === row) continue;
    let product = 0;
    for (let j = 0, at = i * width; j < width; j++, at++) product += query[j] * codes[at];
    const near = scales[row] * scales[i] * product;
    scores[i] = similarity === "cosine" ? near : 2 * near - squares[row] - squares[i];
    rows[count++] = i;
  }
  const order = rows.slice(0, count).sort((a, b) => scores[b] - scores[a] || a - b);
  return { rows: order, scores: Float32Array.from(order, (i) => scores[i]) };
}

onmessage = ({ data }) => {
  if (data.codes) return runs.push({ ...data, squares: lengths(data) });
  postMessage({ row: data.row, ...ranking(runs[data.run], data.row) });
};
