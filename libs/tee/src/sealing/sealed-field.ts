import { publicKeyBytes } from './public-key.js';
import { SealingError } from './sealing-error.js';

export const nonceBytes = 12;
export const tagBytes = 16;
/** Bytes of a sealed field beside its text. */
const frameBytes = publicKeyBytes + nonceBytes + tagBytes;

/** The parts of a sealed field. */
export interface SealedField {
  /** Uncompressed key of the sender; not checked to be on the curve. */
  senderKey: Uint8Array;
  nonce: Uint8Array;
  /** With its tag of 16 bytes. */
  ciphertext: Uint8Array;
}

/** Whether a text has the form of a sealed field: an even number of at least 186 hex characters that begins with 04. */
export function isSealedField(text: string): boolean {
  return text.length >= 2 * frameBytes && text.length % 2 === 0 && text.startsWith('04') && /^[0-9a-f]+$/i.test(text);
}

/** Bytes of UTF-8 that a sealed field opens to, by its length alone. */
export function textBytesOf(field: string): number {
  return field.length / 2 - frameBytes;
}

/** Throws a `SealingError` for a text of another form. */
export function decodeSealedField(text: string): SealedField {
  if (!isSealedField(text)) throw new SealingError('not-hex');
  const bytes = Buffer.from(text, 'hex');
  return {
    senderKey: bytes.subarray(0, publicKeyBytes),
    nonce: bytes.subarray(publicKeyBytes, publicKeyBytes + nonceBytes),
    ciphertext: bytes.subarray(publicKeyBytes + nonceBytes),
  };
}
