// Builds what runs in the browser: bundles each entry with the modules that it imports, and writes the names of what the
// pages compute, which Python reads. built.json records which sources the outputs were built from, so that a test finds
// an edit that was not built (tests/test_browser_scripts.py).

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { FORMS } from "./figures/in_page/closed_forms.js";
import { LOSSES } from "./playground/losses.js";

const ROOT = join(import.meta.dirname, "..", "..");
const MODULES = { // entry: output, an ES module
  "playground/playground.js": "lab/playground/playground.js",
  "explore/explore.js": "lab/report/explore/explore.js",
  "widgets/points.js": "lab/widgets/points.js",
  "widgets/drawing.js": "lab/widgets/drawing.js",
  "widgets/in_notebook.js": "lab/widgets/in_notebook.js",
  "dashboard/points.js": "app/components/drag/points.js",
  "dashboard/live.js": "app/components/drag/live.js",
};
const SCRIPTS = { // entry: output, a plain script, and the global name of what it exports
  "figures/live.js": ["lab/figures/live.js", "rankscopeLive"],
  "explore/search.js": ["lab/report/explore/search.js", undefined],
  "site/hero.js": ["scripts/website/static/hero.js", undefined],
};
const NAMES = {
  "lab/playground/losses.json": Object.keys(LOSSES),
  "lab/figures/closed_forms.json": Object.keys(FORMS),
};

async function bundle(entry, output, options) {
  await build({
    absWorkingDir: import.meta.dirname,
    entryPoints: [entry],
    outfile: join(ROOT, output),
    banner: { js: "// Built from scripts/browser; edit the sources there." },
    bundle: true,
    charset: "utf8",
    target: "es2022",
    ...options,
  });
}

function digest(content) {
  return createHash("sha256").update(content).digest("hex");
}

function sources() {
  const all = readdirSync(import.meta.dirname, { recursive: true }).map((name) => name.replaceAll("\\", "/"));
  const own = all.filter((name) => name.endsWith(".js") && !name.startsWith("node_modules/"));
  return [...own, "package.json"].sort();
}

for (const [entry, output] of Object.entries(MODULES)) await bundle(entry, output, { format: "esm" });
for (const [entry, [output, globalName]] of Object.entries(SCRIPTS)) await bundle(entry, output, { format: "iife", globalName });
for (const [output, names] of Object.entries(NAMES)) writeFileSync(join(ROOT, output), `${JSON.stringify(names, null, 1)}\n`);
const outputs = [...Object.values(MODULES), ...Object.values(SCRIPTS).map(([output]) => output), ...Object.keys(NAMES)].sort();
const record = {
  sources: Object.fromEntries(sources().map((name) => [name, digest(readFileSync(join(import.meta.dirname, name)))])),
  outputs: Object.fromEntries(outputs.map((name) => [name, digest(readFileSync(join(ROOT, name)))])),
};
writeFileSync(join(import.meta.dirname, "built.json"), `${JSON.stringify(record, null, 1)}\n`);
