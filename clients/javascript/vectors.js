// node vectors.js FOLDER: run all test vectors of a folder, and say how many there are.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { check } from "./check.js";

const [folder = new URL("../vectors", import.meta.url).pathname] = process.argv.slice(2);
for (const name of readdirSync(folder).sort()) {
  if (!name.endsWith(".json")) continue;
  const calls = await check(JSON.parse(readFileSync(join(folder, name), "utf8")));
  console.log(`${name}: ${calls}`);
}
