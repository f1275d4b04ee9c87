// Numbers and sentences as Python writes them, and pictures that change in places: what all closed forms share.

export const BLUE = "#0072B2";
export const VERMILLION = "#D55E00";
export const BLACK = "#000000";
export const RIGHT = "✓";
export const WRONG = "✗";
const SURE = 30; // digits behind a five that tell a tie from a number beside it

/** As Python's `.{digits}f`: a tie goes to the even digit. */
export function fixed(number, digits) {
  const sign = number < 0 || Object.is(number, -0) ? "-" : "";
  const size = Math.abs(number), up = size.toFixed(digits), long = size.toFixed(digits + SURE);
  if (long.slice(-SURE) !== "5".padEnd(SURE, "0")) return sign + up;
  const down = digits ? long.slice(0, -SURE) : long.slice(0, -SURE - 1);
  return sign + (Number(down.at(-1)) % 2 ? up : down);
}

/** As Python's `+.{digits}f`. */
export function signed(number, digits) {
  const text = fixed(number, digits);
  return text.startsWith("-") ? text : `+${text}`;
}

/** As Python's `.{digits}g`. */
export function general(number, digits = 6) {
  if (number === 0) return "0";
  const [mantissa, exponent] = number.toExponential(digits - 1).split("e");
  const short = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (exponent >= -4 && exponent < digits) return short(fixed(number, digits - 1 - exponent));
  return `${short(mantissa)}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}

/** As Python's repr of a word. */
export function quoted(text) {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  return mark + text.replace(/\\/g, "\\\\").replaceAll(mark, `\\${mark}`) + mark;
}

/** As Python writes a knob's value in code. */
export function written(value, isFloat) {
  if (Array.isArray(value)) {
    return `(${value.map((one) => written(one, isFloat)).join(", ")}${value.length === 1 ? "," : ""})`;
  }
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return quoted(value);
  return `${Object.is(value, -0) ? "-0" : value}${isFloat && Number.isInteger(value) ? ".0" : ""}`;
}

/** A mark, a colour and words. */
export function badge(holds, text) {
  return `<span style='color:${holds ? BLUE : VERMILLION}'><b>${holds ? RIGHT : WRONG} ${text}</b></span>`;
}

/** Text broken with <br> where a line would pass `width` letters, and where it has one; tags count nothing. */
export function wrapped(text, width = 104) {
  if (text.includes("<br>")) return text.split("<br>").map((line) => wrapped(line, width)).join("<br>");
  const lines = [[]];
  let length = 0;
  for (const [word] of text.matchAll(/(?:<[^>]*>|[^\s<])+/g)) {
    const size = word.replace(/<[^>]*>/g, "").length + 1;
    if (lines.at(-1).length && length + size > width) {
      lines.push([]);
      length = 0;
    }
    lines.at(-1).push(word);
    length += size;
  }
  return lines.map((line) => line.join(" ")).join("<br>");
}

export const breaks = (text) => text.split("<br>").length - 1;

/** A copy of an object with other values at paths such as "title.text". */
export function put(whole, changes) {
  const made = { ...whole };
  for (const [path, value] of Object.entries(changes)) {
    const [first, ...rest] = path.split(".");
    made[first] = rest.length ? put(made[first] ?? {}, { [rest.join(".")]: value }) : value;
  }
  return made;
}

/**
 * The picture that Python drew at the start, changed.
 * @param traces for each trace what changes in it; `of` is the one of the start's that it is like, by default that in
 *   its place. layout: paths and values; alt: the picture in words; subtitle: as it reads before it is wrapped.
 */
export function changed({ data, layout }, { alt, subtitle, traces = [], layout: changes = {} }) {
  const told = { ...changes, meta: { alt } };
  if (subtitle !== undefined) {
    const text = wrapped(subtitle), now = breaks(layout.title.subtitle.text);
    told["title.subtitle.text"] = text;
    told["margin.t"] = layout.margin.t + 18 * (breaks(text) - now);
  }
  if (changes.height) told["title.y"] = 1 - 18 / changes.height;
  return { data: traces.map(({ of, ...change }, i) => put(data[of ?? i], change)), layout: put(layout, told) };
}

export const range = (count, from = 0) => Array.from({ length: count }, (_, i) => from + i);

/** Indices that sort the values, largest first; equal ones keep their order. */
export const descending = (values) => range(values.length).sort((a, b) => values[b] - values[a]);
