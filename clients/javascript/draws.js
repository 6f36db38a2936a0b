// Draws from 128 uniform bits, by integers of at most 53 bits alone, and with the same work whatever is drawn.
//
// A word is eight limbs of 16 bits, the highest first.

export const WORD = 16;
const LIMBS = 8;

/** Return the limbs of 16 bytes that begin at a place. */
export function limbsAt(bytes, at) {
  const limbs = new Int32Array(LIMBS);
  for (let i = 0; i < LIMBS; i++) limbs[i] = (bytes[at + 2 * i] << 8) | bytes[at + 2 * i + 1];
  return limbs;
}

/** Thresholds, of 32 hexadecimal digits each, as one array of limbs. */
export class Table {
  constructor(thresholds) {
    this.size = thresholds.length;
    this.limbs = new Int32Array(LIMBS * this.size);
    thresholds.forEach((threshold, place) => {
      for (let i = 0; i < LIMBS; i++) {
        this.limbs[LIMBS * place + i] = parseInt(threshold.slice(4 * i, 4 * i + 4), 16);
      }
    });
  }

  /** Return how many thresholds are at most the word: each is subtracted from it, down to the last borrow. */
  draw(word) {
    const { limbs, size } = this;
    let count = 0;
    for (let at = 0; at < LIMBS * size; at += LIMBS) {
      let borrow = (word[7] - limbs[at + 7]) >>> 31;
      borrow = (word[6] - limbs[at + 6] - borrow) >>> 31;
      borrow = (word[5] - limbs[at + 5] - borrow) >>> 31;
      borrow = (word[4] - limbs[at + 4] - borrow) >>> 31;
      borrow = (word[3] - limbs[at + 3] - borrow) >>> 31;
      borrow = (word[2] - limbs[at + 2] - borrow) >>> 31;
      borrow = (word[1] - limbs[at + 1] - borrow) >>> 31;
      borrow = (word[0] - limbs[at] - borrow) >>> 31;
      count += 1 - borrow;
    }
    return count;
  }
}

/** Return floor(limbs * factor / 2^128) and the limbs of the rest; limbs may have a ninth in front, the factor 31 bits. */
export function multiplied(limbs, factor) {
  const rest = new Int32Array(LIMBS);
  const extra = limbs.length - LIMBS;
  let carry = 0;
  for (let i = LIMBS - 1; i >= 0; i--) {
    const product = limbs[i + extra] * factor + carry; // below 2^48
    carry = Math.floor(product / 65536);
    rest[i] = product - carry * 65536;
  }
  return { whole: extra ? carry + limbs[0] * factor : carry, rest };
}

/** Return a uniform integer in [0, choices). */
export function uniform(word, choices) {
  return multiplied(word, choices).whole;
}

/** Return 1 where the word is below the limbs, and else 0. */
export function below(word, limbs) {
  let borrow = 0;
  for (let i = LIMBS - 1; i >= 0; i--) borrow = (word[i] - limbs[i] - borrow) >>> 31;
  return borrow;
}

/** Return a number in [0, 1] times 2^128, rounded down, as nine limbs: no step rounds. */
export function ofFloat(number) {
  const limbs = new Int32Array(LIMBS + 1);
  let rest = number;
  for (let i = 0; i <= LIMBS; i++) {
    limbs[i] = Math.floor(rest);
    rest = (rest - limbs[i]) * 65536;
  }
  return limbs;
}

/** Return 40 decimal digits behind a first one times 2^128, rounded down, as nine limbs: long division, digit by digit. */
export function ofDecimal(whole, digits) {
  const wide = new Int32Array(2 * LIMBS + 2); // the integer that all digits are, above 128 bits of zeros
  for (const digit of whole + digits.padEnd(40, "0")) {
    let carry = digit.charCodeAt(0) - 48;
    for (let i = LIMBS + 1; i >= 0; i--) {
      const sum = wide[i] * 10 + carry;
      wide[i] = sum & 65535;
      carry = sum >>> 16;
    }
  }
  for (let round = 0; round < 40; round++) {
    let remainder = 0;
    for (let i = 0; i < wide.length; i++) {
      const part = remainder * 65536 + wide[i];
      wide[i] = Math.floor(part / 10);
      remainder = part - wide[i] * 10;
    }
  }
  return wide.slice(LIMBS + 1);
}
