// What runs on a user's device, in Node and in browsers: byte for byte the client of dpverify/collection/client.py.
//
// docs/collection.md has the steps and the format. Every draw compares 128 bits of entropy with all thresholds of a
// table, and an upload's length depends on its query only.

import { blake2b } from "./blake2b.js";
import { Table, WORD, below, limbsAt, multiplied, ofDecimal, ofFloat, uniform } from "./draws.js";

const FORMAT = "dpverify manifest";
const VERSION = 1;
const REACH = 30; // binary digits of a coordinate's steps
const FINE = 2 ** 26; // steps of a vector's coordinate
const TURNED = 2 ** 46; // by which what multiplies a rotated one is divided
const MOST_BYTES = 65536; // of one call of getRandomValues
const DECIMAL = /^(?:0(?:\.[0-9]{1,40})?|1(?:\.0{1,40})?)$/;
const SURROGATE = /\p{Surrogate}/u;
const PERSON = new Uint8Array(16);
PERSON.set(new TextEncoder().encode("rappor bloom"));
const STRINGS = new TextEncoder().encode("dpverify strings");

const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // Node 18 has it there only

/** An input that the query does not take, or a manifest that is another: the sentence shows nothing private. */
export class Refused extends Error {
  get name() {
    return "Refused";
  }
}

function systemEntropy(size) {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += MOST_BYTES) crypto.getRandomValues(bytes.subarray(at, at + MOST_BYTES));
  return bytes;
}

function repeated(part, times) {
  return Array.from({ length: times }, () => part).flat();
}

/** Return the largest value of each field of a query's uploads, in their order. */
function largest(query) {
  const { kind, tables } = query;
  if (kind === "bloom") return [query.cohorts - 1, ...repeated([1], query.bits)];
  if (kind === "report") return repeated([query.choices - 1], query.instances);
  if (kind === "buckets") return repeated([1 + tables.noise.length], query.buckets * query.instances);
  if (kind === "vector") return repeated(query.blocks.flatMap((size) => [size - 1, query.levels]), query.instances);
  if (kind === "unary") return repeated([query.most + tables.noise.length], 2 * query.coordinates);
  if (kind === "sum") return repeated([query.levels + tables.noise.length], query.instances);
  if (kind === "shares") return repeated([query.modulus - 1], query.shares * query.instances);
  const most = tables.noise.length + (tables.flood ?? []).length;
  return repeated(tables.flood ? [most + 1, most] : [most + 1], query.instances);
}

/** Return how many draws an upload takes, of 16 bytes of entropy each; one of a vector in 10^15 takes more. */
function draws(query) {
  const { kind, tables, instances } = query;
  if (kind === "bloom") return 1 + 2 * query.bits;
  const coin = Number(query.points !== undefined && query.points.classes > 1);
  if (kind === "report") return (1 + coin) * instances;
  if (kind === "buckets") return query.buckets * instances;
  if (kind === "vector") return 4 * query.blocks.length * instances;
  if (kind === "unary") return 3 * query.coordinates;
  if (kind === "sum") return 2 * instances;
  if (kind === "shares") return (2 + query.shares) * instances;
  return (1 + (tables.flood ? 2 : 0) + (tables.drop ? 1 : 0) + coin) * instances;
}

/** Return the shortest head of a CBOR item (RFC 8949, section 3). */
function head(major, value) {
  if (value < 24) return [(major << 5) | value];
  if (value < 256) return [(major << 5) | 24, value];
  if (value < 65536) return [(major << 5) | 25, value >> 8, value & 255];
  return [(major << 5) | 26, value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255];
}

function width(most) {
  return 32 - Math.clz32(most);
}

const STEPS = {
  report(query, tables, answer, next) {
    const sum = answer + tables.shift.draw(next()) - query.choices;
    return [sum + (query.choices & (sum >> 31))];
  },
  counts(query, tables, answer, next) {
    let own = answer ^ 1 ^ query.counted;
    if (tables.drop) own &= 1 ^ tables.drop.draw(next());
    const up = own + tables.noise.draw(next());
    if (!tables.flood) return [up];
    const down = tables.noise.draw(next());
    const flood = tables.flood.draw(next());
    return [up + flood, down + flood];
  },
  buckets(query, tables, answer, next) {
    return Array.from({ length: query.buckets }, (_, bucket) => {
      const other = bucket ^ answer;
      return ((other | -other) >>> 31) + tables.noise.draw(next());
    });
  },
  vector(query, tables, answer, next) {
    let begin = 0;
    return query.blocks.flatMap((size) => {
      const chosen = uniform(next(), size);
      const { whole, rest } = multiplied(answer[begin + chosen], query.levels);
      const level = whole + below(next(), rest);
      const replaced = tables.replaced.draw(next());
      const other = uniform(next(), query.levels + 1);
      begin += size;
      return [chosen, replaced * other + (1 - replaced) * level];
    });
  },
  sum(query, tables, { whole, rest }, next) {
    return [whole + below(next(), rest) + tables.noise.draw(next())];
  },
  shares({ modulus, shares: count }, tables, { whole, rest }, next) {
    const own = whole + below(next(), rest) + tables.noise.draw(next()) - tables.noise.draw(next());
    const shares = Array.from({ length: count - 1 }, () => uniform(next(), modulus));
    return [...shares, (own - shares.reduce((sum, share) => sum + share, 0)) & (modulus - 1)]; // a power of two
  },
  unary({ factor, noise: most }, tables, answer, next) {
    const own = answer.flatMap((place) => {
      const { whole, rest } = multiplied(ofFloat((place + TURNED) / TURNED), factor);
      const level = whole + below(next(), rest) - factor;
      return [Math.max(level, 0), Math.max(-level, 0)];
    });
    for (;;) {
      const noise = own.map(() => tables.noise.draw(next()));
      if (noise.reduce((sum, each) => sum + each, 0) <= most) return noise.map((each, i) => each + own[i]);
    }
  },
};

/** Return the rest, divided by a modulus, of eight bytes of a digest, lowest byte first. */
function remainder(digest, begin, modulus) {
  let rest = 0;
  for (let i = 7; i >= 0; i--) rest = (rest * 256 + digest[begin + i]) % modulus;
  return rest;
}

/** Return the Bloom filter of a string: see `protocols.rappor.bloom.BloomFilter`. */
function pattern(query, text, cohort) {
  const bytes = new TextEncoder().encode(text);
  const filled = new Uint8Array(query.bits);
  let digest;
  for (let number = 0; number < query.hashes; number++) {
    if (number % 8 === 0) {
      const salt = new DataView(new ArrayBuffer(16));
      salt.setUint32(0, cohort, true);
      salt.setUint32(8, number / 8, true);
      digest = blake2b(bytes, new Uint8Array(salt.buffer), PERSON);
    }
    const place = remainder(digest, 8 * (number % 8), query.bits);
    for (let bit = 0; bit < query.bits; bit++) {
      const other = bit ^ place;
      filled[bit] |= 1 ^ ((other | -other) >>> 31);
    }
  }
  return filled;
}

function fixed(number) {
  if (typeof number === "string" && DECIMAL.test(number)) {
    const [whole, digits = ""] = number.split(".");
    return ofDecimal(whole, digits);
  }
  return typeof number === "number" && number >= 0 && number <= 1 ? ofFloat(number) : null;
}

function textOf(value) {
  if (typeof value !== "string" || SURROGATE.test(value)) {
    throw new Refused("value must be a string, without lone surrogates.");
  }
  return value.normalize("NFC");
}

/** Return in which cell a query of strings counts a string: each query hashes in its own way. */
function cell(query, value) {
  const bytes = new TextEncoder();
  const salt = blake2b(bytes.encode(query.name), new Uint8Array(16), STRINGS).subarray(0, 16);
  return remainder(blake2b(bytes.encode(textOf(value)), salt, STRINGS), 0, query.instances);
}

/** Return the bits of one answer: of each level but the lowest whether it is reached, of each bucket if it is it. */
function encoded(query, value) {
  const lowest = Number(query.asks === "levels");
  const most = lowest ? query.instances + 1 : query.instances - 1;
  const answer = query.asks === "strings" ? cell(query, value) : value;
  if (!Number.isInteger(answer) || answer < lowest || answer > most) {
    throw new Refused(`value must be an integer in [${lowest}, ${most}].`);
  }
  return Array.from({ length: query.instances }, (_, place) => {
    const other = place ^ answer;
    return lowest ? (place + 1 - answer) >>> 31 : 1 ^ ((other | -other) >>> 31);
  });
}

/** Return how many whole steps a number is above the smallest, and the limbs of what is left of one. */
function stepped({ smallest, largest, levels, real }, number) {
  const [low, high] = [Number(smallest), Number(largest)];
  const known = typeof number === "number" && number >= low && number <= high;
  if (!known || !(real || Number.isInteger(number))) {
    throw new Refused(`each answer must be ${real ? "a number" : "an integer"} in [${smallest}, ${largest}].`);
  }
  const above = number - low;
  const rounds = real || levels !== high - low;
  return rounds ? multiplied(ofFloat(above / (high - low)), levels) : { whole: above, rest: new Int32Array(8) };
}

/** Return of each bucket what a number is that is in one of them: nothing in all others. */
function weighted(query, value) {
  const [place, number] = Array.isArray(value) && value.length === 2 ? value : [null, 0];
  const { whole, rest } = stepped(query, number);
  return encoded(query, place).map((own) => ({ whole: own * whole, rest: rest.map((limb) => own * limb) }));
}

/** Return the words of each wave: what a step adds to its phase in each dimension, and its offset. */
function wordsOf({ dimension, waves }) {
  const words = Int32Array.from(waves.match(/.{8}/g), (digits) => parseInt(digits, 16));
  const size = dimension + 1;
  return Array.from({ length: words.length / size }, (_, wave) => words.subarray(wave * size, (wave + 1) * size));
}

/** Return 2 to an integer power, which `**` need not be to the last digit. */
function power(exponent) {
  let found = 1;
  for (let i = 0; i < Math.abs(exponent); i++) found *= exponent < 0 ? 0.5 : 2;
  return found;
}

/** Return the class of an answer to a density, and of each wave whether it is positive at the point. */
function signs({ points: { classes, dimension, shift }, words }, value) {
  const pair = classes === 1 ? [0, value] : value;
  const [held, point] = Array.isArray(pair) && pair.length === 2 ? pair : [-1, []];
  const label = typeof held === "boolean" ? Number(held) : held;
  const limit = power(REACH - shift);
  const sized = Array.isArray(point) && point.length === dimension;
  const known = sized && Number.isInteger(label) && label >= 0 && label < classes;
  if (!known || !point.every((x) => typeof x === "number" && Math.abs(x) < limit)) {
    const needed = `a point of ${dimension} numbers below 2^${REACH - shift} in size`;
    throw new Refused(`value must be ${classes === 1 ? "" : `a class below ${classes} and `}${needed}.`);
  }
  const steps = point.map((x) => Math.floor(x * power(shift)));
  const bits = words.map((wave) => {
    // Modulo 2^32, as 32 bits hold it.
    const phase = steps.reduce((sum, step, i) => (sum + Math.imul(wave[i], step)) | 0, wave[dimension]);
    return 1 ^ (phase >>> 31);
  });
  return { label, bits };
}

/** Return one answer: a vector's coordinates in steps, rotated and clipped. */
function turned({ signs: digits, coordinates, limit }, value) {
  const sized = Array.isArray(value) && value.length === digits.length;
  const known = sized && value.every((x) => typeof x === "number" && Math.abs(x) < 2);
  const steps = known ? value.map((x) => Math.floor(x * FINE + 0.5)) : [];
  // Sums of squares are exact up to the limit, and none above it is rounded to less.
  if (!known || steps.reduce((sum, x) => sum + x * x, 0) > (FINE + FINE / 1024) ** 2) {
    throw new Refused(`value must be a list of ${digits.length} numbers whose squares add up to 1 at most.`);
  }
  let found = Array.from({ length: coordinates }, (_, i) => (steps[i] ?? 0) * (1 - 2 * Number(digits[i] ?? 0)));
  for (let half = 1; half < coordinates; half *= 2) {
    const even = found.filter((_, i) => i % 2 === 0);
    const odd = found.filter((_, i) => i % 2 === 1);
    found = [...even.map((x, i) => x + odd[i]), ...even.map((x, i) => x - odd[i])];
  }
  return [found.map((x) => Math.min(Math.max(x, -limit), limit))];
}

/** Yield the bits of all classes: a user's own, and coins of the others. */
function* among({ points: { classes } }, { label, bits }, next) {
  for (let held = 0; held < classes; held++) {
    const other = ((held ^ label) | -(held ^ label)) >>> 31;
    for (const bit of bits) yield classes > 1 ? (other & (next()[0] >> 15)) | ((1 - other) & bit) : bit;
  }
}

/** Return one answer for each instance, with coordinates as limbs. */
function checked(query, value) {
  if (query.kind === "bloom") return textOf(value);
  if (query.points) return signs(query, value);
  if (query.signs) return turned(query, value);
  if (query.asks === "weights") return weighted(query, value);
  if (query.asks) return encoded(query, value);
  const answers = query.instances === 1 ? [value] : value;
  if (!Array.isArray(answers) || answers.length !== query.instances) {
    throw new Refused(`value must be a list of ${query.instances} answers.`);
  }
  if (query.kind === "vector") {
    const dimension = query.blocks.reduce((sum, size) => sum + size, 0);
    return answers.map((answer) => {
      const found = Array.isArray(answer) && answer.length === dimension ? answer.map(fixed) : [null];
      if (found.includes(null)) {
        throw new Refused(
          `each answer must be a list of ${dimension} numbers in [0, 1], as floats or as decimals of 40 digits.`,
        );
      }
      return found;
    });
  }
  if (query.kind === "sum" || query.kind === "shares") return answers.map((answer) => stepped(query, answer));
  const most = query.kind === "counts" ? 2 : query.choices ?? query.buckets;
  const bits = answers.map((answer) => (typeof answer === "boolean" ? Number(answer) : answer));
  if (!bits.every((answer) => Number.isInteger(answer) && answer >= 0 && answer < most)) {
    throw new Refused(`each answer must be an integer in [0, ${most - 1}].`);
  }
  return bits;
}

function hexadecimal(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** One user's client: each query once, by what a manifest says. */
export class Client {
  #hash;
  #queries = new Map();
  #sent;
  #cohorts;
  #values;

  /**
   * Return a client by a manifest's bytes, and the SHA-256 of these in hexadecimal digits, from a source that the
   * application trusts: whoever can change the manifest can turn the noise off. The memory is that of an earlier client
   * of this user and manifest: one that forgets answers queries again.
   */
  static async open(manifest, hash, memory = {}) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", manifest));
    if (hexadecimal(digest) !== hash) throw new Refused("hash must be the SHA-256 of the manifest's bytes.");
    const content = JSON.parse(new TextDecoder().decode(manifest));
    if (content.format !== FORMAT || content.version !== VERSION) {
      throw new Refused(`manifest must be of version ${VERSION}.`);
    }
    const client = new Client();
    client.#hash = digest;
    content.queries.forEach((query, number) => {
      if (query.points) query.words = wordsOf(query.points);
      const tables = Object.entries(query.tables).map(([key, thresholds]) => [key, new Table(thresholds)]);
      client.#queries.set(query.name, { number, query, fields: largest(query), tables: Object.fromEntries(tables) });
    });
    client.#remember(memory);
    return client;
  }

  /** Return the client of another user, with the same manifest. */
  another(memory = {}) {
    const client = new Client();
    client.#hash = this.#hash;
    client.#queries = this.#queries;
    client.#remember(memory);
    return client;
  }

  #remember(memory) {
    try {
      const [sent, cohorts, values] = ["sent", "cohorts", "values"].map((key) => Object.entries(memory[key] ?? {}));
      for (const [name] of [...sent, ...cohorts, ...values]) if (!this.#queries.has(name)) throw new TypeError(name);
      this.#sent = new Map(sent.map(([name, times]) => [name, Number(times)]));
      this.#cohorts = new Map(cohorts.map(([name, cohort]) => [name, Number(cohort)]));
      const copied = ([text, kept, times]) => [String(text), String(kept), Number(times)];
      this.#values = new Map(values.map(([name, rows]) => [name, rows.map(copied)]));
    } catch {
      throw new Refused("memory must be what a client of this manifest had as its memory.");
    }
  }

  /** What must outlive the process, as JSON: PRIVATE, as values of strings are in it. Keep it before sending. */
  get memory() {
    const values = [...this.#values].map(([name, rows]) => [name, rows.map((row) => [...row])]);
    return {
      sent: Object.fromEntries(this.#sent),
      cohorts: Object.fromEntries(this.#cohorts),
      values: Object.fromEntries(values),
    };
  }

  /**
   * Return the upload that answers a query, as bytes of the same number for every value: see the client in Python. The
   * entropy is the operating system's; another one, of the right length, is for tests only.
   */
  upload(name, value, entropy) {
    if (!this.#queries.has(name)) throw new Refused("name must be that of a query of the manifest.");
    const { number, query, fields, tables } = this.#queries.get(name);
    const size = WORD * draws(query);
    const answer = checked(query, value);
    const drawn = entropy ?? systemEntropy(size);
    if (drawn.length !== size) throw new Refused(`entropy must have ${size} bytes.`);
    let at = -WORD;
    const next = () => {
      if ((at += WORD) < size) return limbsAt(drawn, at);
      if (entropy !== undefined) throw new Refused("entropy must be such that its noise is within the limit.");
      return limbsAt(systemEntropy(WORD), 0);
    };
    let found;
    if (query.kind === "bloom") {
      found = this.#bloom(name, query, tables, answer, next);
    } else {
      if (this.#sent.get(name)) throw new Refused("name must be that of a query that was not answered yet.");
      this.#sent.set(name, 1);
      const inputs = query.points ? among(query, answer, next) : answer;
      found = [];
      for (const one of inputs) found.push(...STEPS[query.kind](query, tables, one, next));
    }
    const bits = fields.reduce((sum, most) => sum + width(most), 0);
    const length = Math.ceil(bits / 8);
    const begin = [0x84, VERSION, ...head(2, 32), ...this.#hash, ...head(0, number), ...head(2, length)];
    const upload = new Uint8Array(begin.length + length);
    upload.set(begin);
    let place = 8 * begin.length;
    fields.forEach((most, i) => {
      for (let bit = width(most) - 1; bit >= 0; bit--, place++) {
        upload[place >> 3] |= ((found[i] >>> bit) & 1) << (7 - (place & 7));
      }
    });
    return upload;
  }

  #bloom(name, query, tables, text, next) {
    const fresh = uniform(next(), query.cohorts);
    const flips = Array.from({ length: query.bits }, () => tables.flip.draw(next()));
    if (!this.#cohorts.has(name)) this.#cohorts.set(name, fresh);
    const cohort = this.#cohorts.get(name);
    const permanent = Array.from(pattern(query, text, cohort), (bit, i) => bit ^ flips[i]).join("");
    if (!this.#values.has(name)) this.#values.set(name, []);
    const rows = this.#values.get(name);
    let row = rows.find(([known]) => known === text);
    if (row === undefined) {
      if (rows.length >= query.instances) {
        throw new Refused(`value must be one of the ${query.instances} that were reported before.`);
      }
      rows.push((row = [text, permanent, 0]));
    }
    if (row[2] >= query.reports) {
      throw new Refused(`value must not be reported more often than ${query.reports} times.`);
    }
    row[2] += 1;
    const bits = Array.from(row[1], (kept) => {
      const word = next();
      const [one, zero] = [tables.one.draw(word), tables.zero.draw(word)];
      return (Number(kept) & one) | ((1 - Number(kept)) & zero);
    });
    return [cohort, ...bits];
  }
}
