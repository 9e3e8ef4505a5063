const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** The values of the characters, by their code; -1: none of base58. */
const values = Int8Array.from({ length: 128 }, (_value, code) => alphabet.indexOf(String.fromCodePoint(code)));

/** Decodes base58 to exactly `length` bytes; null for anything else. The work is bounded by `length`, not by the text. */
export function base58Bytes(text: string, length: number): Uint8Array | null {
  // A byte takes 1.37 characters; those of zeros take one each.
  if (text.length > Math.ceil(length * 1.37)) return null;
  const bytes = new Uint8Array(length);
  for (const character of text) {
    let carry = values[character.codePointAt(0) ?? 0] ?? -1;
    if (carry < 0) return null;
    for (let index = length - 1; index >= 0; index -= 1) {
      carry += (bytes[index] ?? 0) * 58;
      bytes[index] = carry & 0xff;
      carry >>= 8;
    }
    if (carry > 0) return null;
  }
  return leadingOnes(text) === leadingZeros(bytes) ? bytes : null;
}

/** Encodes at most 64 bytes: the time grows with the square of the length. Throws a `RangeError` for more. */
export function encodeBase58(bytes: Uint8Array): string {
  if (bytes.length > 64) throw new RangeError('Only short values have base58 names.');
  let value = bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = (alphabet[Number(value % 58n)] ?? '') + text;
  return '1'.repeat(leadingZeros(bytes)) + text;
}

/** Each zero byte in front is written as one `1`. */
function leadingOnes(text: string): number {
  let count = 0;
  while (text[count] === '1') count += 1;
  return count;
}

function leadingZeros(bytes: Uint8Array): number {
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? bytes.length : first;
}
