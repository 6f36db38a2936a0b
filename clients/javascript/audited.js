// node audited.js MANIFEST HASH: answer users, a line each, for `dpverify audit client`; see docs/collection.md.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { Client } from "./index.js";

const [path, hash] = process.argv.slice(2);
const first = await Client.open(new Uint8Array(readFileSync(path)), hash);
for await (const line of createInterface({ input: process.stdin })) {
  const { query, value, entropy, memory } = JSON.parse(line);
  const client = first.another(memory);
  const reply = {};
  const begin = process.hrtime.bigint();
  try {
    const bytes = entropy === undefined ? undefined : new Uint8Array(Buffer.from(entropy, "hex"));
    reply.upload = client.upload(query, value, bytes);
    reply.nanoseconds = Number(process.hrtime.bigint() - begin);
    reply.upload = Buffer.from(reply.upload).toString("hex");
  } catch (error) {
    if (error.name !== "Refused") throw error;
    reply.refused = error.message;
  }
  if (memory !== undefined) reply.memory = client.memory;
  console.log(JSON.stringify(reply));
}
