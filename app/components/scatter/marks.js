// Elements, the shapes of the legend's marks, and what lies inside a lasso.

export const TAU = 2 * Math.PI;

export function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function polygon(path, x, y, r, corners, turn) {
  for (let at = 0; at < corners; at++) {
    const angle = turn + at * TAU / corners;
    path[at ? "lineTo" : "moveTo"](x + r * Math.cos(angle), y + r * Math.sin(angle));
  }
  path.closePath();
}

function bars(path, x, y, r, turn) {
  // A plus of two bars, turned.
  const [c, s] = [Math.cos(turn), Math.sin(turn)];
  const w = r * 0.36;
  const corners = [[-w, -r], [w, -r], [w, -w], [r, -w], [r, w], [w, w], [w, r], [-w, r], [-w, w], [-r, w], [-r, -w], [-w, -w]];
  corners.forEach(([u, v], at) => path[at ? "lineTo" : "moveTo"](x + u * c - v * s, y + u * s + v * c));
  path.closePath();
}

export const SHAPES = {
  dot: (path, x, y, r) => { path.moveTo(x + r * 0.7, y); path.arc(x, y, r * 0.7, 0, TAU); },
  circle: (path, x, y, r) => { path.moveTo(x + r, y); path.arc(x, y, r, 0, TAU); },
  square: (path, x, y, r) => path.rect(x - r * 0.88, y - r * 0.88, r * 1.76, r * 1.76),
  triangle: (path, x, y, r) => polygon(path, x, y + r * 0.15, r * 1.2, 3, -TAU / 4),
  diamond: (path, x, y, r) => polygon(path, x, y, r * 1.2, 4, 0),
  plus: (path, x, y, r) => bars(path, x, y, r * 1.15, 0),
  cross: (path, x, y, r) => bars(path, x, y, r * 1.2, TAU / 8),
  star: (path, x, y, r) => {
    for (let at = 0; at < 10; at++) {
      const angle = -TAU / 4 + at * TAU / 10, far = at % 2 ? r * 0.55 : r * 1.3;
      path[at ? "lineTo" : "moveTo"](x + far * Math.cos(angle), y + far * Math.sin(angle));
    }
    path.closePath();
  },
  pentagon: (path, x, y, r) => polygon(path, x, y, r * 1.1, 5, -TAU / 4),
};

export function inside(x, y, lasso) {
  let odd = false;
  for (let a = 0, b = lasso.length - 1; a < lasso.length; b = a++) {
    const [xa, ya] = lasso[a], [xb, yb] = lasso[b];
    if ((ya > y) !== (yb > y) && x < (xb - xa) * (y - ya) / (yb - ya) + xa) odd = !odd;
  }
  return odd;
}
