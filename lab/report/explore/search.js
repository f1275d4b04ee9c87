// Built from scripts/browser; edit the sources there.
(() => {
  // explore/search.js
  var runs = [];
  function product(codes, width, row, other) {
    let sum = 0;
    for (let a = row * width, b = other * width, end = a + width; a < end; a++, b++) sum += codes[a] * codes[b];
    return sum;
  }
  function ranking({ codes, scales, searched, similarity, squares }, row) {
    const width = codes.length / scales.length;
    const scores = new Float64Array(scales.length);
    const rows = new Uint32Array(scales.length);
    let count = 0;
    for (let i = 0; i < scales.length; i++) {
      if (!searched[i] || i === row) continue;
      const near = scales[row] * scales[i] * product(codes, width, row, i);
      scores[i] = similarity === "cosine" ? near : 2 * near - squares[row] - squares[i];
      rows[count++] = i;
    }
    const order = rows.slice(0, count).sort((a, b) => scores[b] - scores[a] || a - b);
    return { rows: order, scores: Float32Array.from(order, (i) => scores[i]) };
  }
  onmessage = ({ data }) => {
    if (!data.codes) return postMessage({ row: data.row, ...ranking(runs[data.run], data.row) });
    const { codes, scales, similarity } = data;
    const square = (scale, i) => scale * scale * product(codes, codes.length / scales.length, i, i);
    runs.push({ ...data, squares: similarity === "euclidean" && Float64Array.from(scales, square) });
  };
})();
