// Runs test vectors through the client: in Node by vectors.js, in a browser by a page.

import { Client } from "./index.js";

function bytesOf(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function textOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return how many uploads and refusals of a file of vectors are as it says; an Error names the first that is not. */
export async function check({ manifest, hash, vectors }) {
  const bytes = new TextEncoder().encode(manifest);
  let calls = 0;
  for (const [place, { query, calls: asked }] of vectors.entries()) {
    let client = await Client.open(bytes, hash);
    for (const { value, entropy, upload, refused } of asked) {
      let [found, sentence] = [undefined, undefined];
      try {
        found = textOf(client.upload(query, value, entropy && bytesOf(entropy)));
      } catch (error) {
        if (error.name !== "Refused") throw error;
        sentence = error.message;
      }
      if (found !== upload || sentence !== refused) {
        throw new Error(`vector ${place} of ${query}: ${found ?? sentence}, and not ${upload ?? refused}`);
      }
      client = await Client.open(bytes, hash, JSON.parse(JSON.stringify(client.memory)));
      calls += 1;
    }
  }
  return calls;
}
