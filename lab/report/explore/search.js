// The worker: exact search in the full space, over all images that a run searches. Equal scores are ordered by place.

const runs = [];

function squares(codes, width) {
  const sums = new Float64Array(codes.length / width);
  for (let i = 0; i < codes.length; i++) sums[Math.floor(i / width)] += codes[i] * codes[i];
  return sums;
}

/** Every searched image but the query, nearest first: rows, and their similarities. */
function ranking({ codes, scales, searched, similarity, lengths }, row) {
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
    scores[i] = similarity === "cosine" ? near : 2 * near - lengths[row] - lengths[i];
    rows[count++] = i;
  }
  const order = rows.subarray(0, count).sort((a, b) => scores[b] - scores[a] || a - b);
  return { rows: order.slice(), scores: Float32Array.from(order, (i) => scores[i]) };
}

onmessage = ({ data }) => {
  if (data.codes) {
    const sums = squares(data.codes, data.codes.length / data.scales.length);
    runs.push({ ...data, lengths: sums.map((sum, i) => data.scales[i] * data.scales[i] * sum) });
    return;
  }
  const found = ranking(runs[data.run], data.row);
  postMessage({ ...data, ...found }, [found.rows.buffer, found.scores.buffer]);
};
