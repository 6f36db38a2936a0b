// BLAKE2b (RFC 7693) of 64 bytes with a salt and a personalization, in pairs of 32-bit words: browsers have none.

// Of each 64-bit word the low half first.
const IV = [
  0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a,
  0xade682d1, 0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19,
];
const ORDERS = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
  "0123456789abcdef", "ea489fd61c02b753",
].map((row) => [...row].map((digit) => parseInt(digit, 16)));
const MIXES = ["048c", "159d", "26ae", "37bf", "05af", "16bc", "278d", "349e"].map((four) =>
  [...four].map((digit) => 2 * parseInt(digit, 16)),
);
const BLOCK = 128;

function add(v, a, low, high) {
  const sum = v[a] + (low >>> 0);
  v[a + 1] = v[a + 1] + high + (sum > 0xffffffff ? 1 : 0);
  v[a] = sum;
}

/** v[d] = (v[d] ^ v[a]) rotated right by some bits. */
function turn(v, d, a, bits) {
  const low = v[d] ^ v[a];
  const high = v[d + 1] ^ v[a + 1];
  if (bits === 32) [v[d], v[d + 1]] = [high, low];
  else if (bits === 63) [v[d], v[d + 1]] = [(low << 1) | (high >>> 31), (high << 1) | (low >>> 31)];
  else [v[d], v[d + 1]] = [(low >>> bits) | (high << (32 - bits)), (high >>> bits) | (low << (32 - bits))];
}

function compress(h, block, counted, last) {
  const v = new Uint32Array(32);
  v.set(h);
  v.set(IV, 16);
  v[24] ^= counted;
  if (last) [v[28], v[29]] = [~v[28], ~v[29]];
  const m = new Uint32Array(32);
  for (let i = 0; i < BLOCK; i++) m[i >> 2] |= block[i] << (8 * (i & 3));
  for (const order of ORDERS) {
    MIXES.forEach(([a, b, c, d], mix) => {
      const [x, y] = [2 * order[2 * mix], 2 * order[2 * mix + 1]];
      for (const [word, first, second] of [[x, 32, 24], [y, 16, 63]]) {
        add(v, a, v[b], v[b + 1]);
        add(v, a, m[word], m[word + 1]);
        turn(v, d, a, first);
        add(v, c, v[d], v[d + 1]);
        turn(v, b, c, second);
      }
    });
  }
  for (let i = 0; i < 16; i++) h[i] ^= v[i] ^ v[i + 16];
}

/** Return the digest, 64 bytes, of less than 4 GiB. */
export function blake2b(bytes, salt, person) {
  const parameters = new Uint8Array(64);
  parameters.set([64, 0, 1, 1]);
  parameters.set(salt, 32);
  parameters.set(person, 48);
  const h = new Uint32Array(IV);
  for (let i = 0; i < 64; i++) h[i >> 2] ^= parameters[i] << (8 * (i & 3));
  const blocks = Math.max(Math.ceil(bytes.length / BLOCK), 1);
  for (let i = 0; i < blocks; i++) {
    const block = new Uint8Array(BLOCK);
    block.set(bytes.subarray(BLOCK * i, BLOCK * (i + 1)));
    compress(h, block, Math.min(BLOCK * (i + 1), bytes.length), i === blocks - 1);
  }
  return Uint8Array.from({ length: 64 }, (_, i) => h[i >> 2] >>> (8 * (i & 3)));
}
