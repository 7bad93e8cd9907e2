// SHA-256 (FIPS 180-4), for pages that browsers do not give theirs: those that came over plain HTTP from another machine.

const constants = new Uint32Array(64);
const beginning = new Uint32Array(8);
for (let number = 2, found = 0; found < 64; number += 1) {
  let isPrime = true;
  for (let factor = 2; factor * factor <= number; factor += 1) if (number % factor === 0) isPrime = false;
  if (!isPrime) continue;
  if (found < 8) beginning[found] = Math.floor((Math.sqrt(number) % 1) * 2 ** 32);
  constants[found] = Math.floor((Math.cbrt(number) % 1) * 2 ** 32);
  found += 1;
}

const turn = (word, count) => (word >>> count) | (word << (32 - count));

/** The 32 bytes for a Uint8Array. */
export function ownDigest(bytes) {
  const length = Math.ceil((bytes.length + 9) / 64) * 64;
  const padded = new Uint8Array(length);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(length - 4, (bytes.length * 8) >>> 0);
  const state = beginning.slice();
  const words = new Uint32Array(64);
  for (let start = 0; start < length; start += 64) {
    for (let i = 0; i < 16; i += 1) words[i] = view.getUint32(start + i * 4);
    for (let i = 16; i < 64; i += 1) {
      const [near, far] = [words[i - 2], words[i - 15]];
      words[i] = words[i - 16] + words[i - 7] + (turn(far, 7) ^ turn(far, 18) ^ (far >>> 3))
        + (turn(near, 17) ^ turn(near, 19) ^ (near >>> 10));
    }
    let [a, b, c, d, e, f, g, j] = state;
    for (let i = 0; i < 64; i += 1) {
      const first = (j + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + words[i]) | 0;
      const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [j, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, j].forEach((word, i) => { state[i] += word; });
  }
  const result = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => result.setUint32(i * 4, word));
  return new Uint8Array(result.buffer);
}

/** The same, by the browser's own where it has one. */
export async function digest(bytes) {
  return crypto.subtle ? new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)) : ownDigest(bytes);
}

export function hex(bytes) { return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""); }
