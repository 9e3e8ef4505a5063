import { isUtf8 } from 'node:buffer';
import { createCipheriv, createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';
import { readPublicKey } from './public-key.js';
import { decodeSealedField, nonceBytes, tagBytes } from './sealed-field.js';
import { SealingError } from './sealing-error.js';

/*
 * AES-256-GCM under a key that two secp256k1 keys agree on. OpenSSL does the exchange with a fresh key: it takes half of
 * the time of an implementation in JavaScript, and each piece of a response needs one.
 */

const algorithm = 'aes-256-gcm';
const keyInfo = 'ecdsa_encryption';

/** The x coordinate that a private key and a peer's public key agree on, 32 bytes. Throws for a key off the curve. */
export type SharedSecret = (peerPublicKey: Uint8Array) => Uint8Array;

function contentKey(secret: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', keyInfo, 32));
}

/** Seals a text for the owner of an uncompressed key, with a fresh key of its own; lower-case hex. Throws for a key off the curve. */
export function sealText(text: string, recipientKey: Uint8Array): string {
  const sender = createECDH('secp256k1');
  const senderKey = sender.generateKeys();
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, contentKey(sender.computeSecret(recipientKey)), nonce);
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return Buffer.concat([senderKey, nonce, ciphertext]).toString('hex');
}

/**
 * Opens sealed fields for one recipient. Clients may seal all fields of a request with one key; its secret is computed
 * once.
 */
export class FieldOpener {
  private readonly keys = new Map<string, Uint8Array>();

  constructor(private readonly sharedSecret: SharedSecret) {}

  /**
   * Returns the text. Throws a `SealingError` for another form, a key off the curve, a changed field, and bytes that are
   * not UTF-8: those would become more bytes than the length of the field says.
   */
  open(field: string): string {
    const { nonce, ciphertext } = decodeSealedField(field);
    const key = this.keyOf(field.slice(0, 130).toLowerCase());
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    decipher.setAuthTag(ciphertext.subarray(-tagBytes));
    const bytes = opened(decipher, ciphertext.subarray(0, -tagBytes));
    if (bytes === null || !isUtf8(bytes)) throw new SealingError('not-opened');
    return bytes.toString('utf8');
  }

  private keyOf(senderKey: string): Uint8Array {
    const known = this.keys.get(senderKey);
    if (known !== undefined) return known;
    const bytes = readPublicKey(senderKey);
    if (bytes === null) throw new SealingError('not-opened');
    const key = contentKey(this.sharedSecret(bytes));
    this.keys.set(senderKey, key);
    return key;
  }
}

/** Null for a field whose tag does not fit. */
function opened(decipher: ReturnType<typeof createDecipheriv>, bytes: Uint8Array): Buffer | null {
  try {
    return Buffer.concat([decipher.update(bytes), decipher.final()]);
  } catch {
    return null;
  }
}
