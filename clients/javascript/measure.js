// node measure.js MANIFEST HASH ROUNDS: answer all queries so many times, with the answers of standard input as JSON,
// and print one line for each: nanoseconds, and the upload. For benchmarks/clients.py.

import { readFileSync, writeSync } from "node:fs";

import { Client } from "./index.js";

const [path, hash, rounds] = process.argv.slice(2);
const manifest = new Uint8Array(readFileSync(path));
const answers = JSON.parse(readFileSync(0, "utf8"));
for (let round = 0; round < Number(rounds); round++) {
  const client = await Client.open(manifest, hash);
  const lines = answers[round].map(([name, value]) => {
    const begin = process.hrtime.bigint();
    const upload = client.upload(name, value);
    const time = process.hrtime.bigint() - begin;
    return `${time} ${Buffer.from(upload).toString("hex")}\n`;
  });
  writeSync(1, lines.join(""));
}
