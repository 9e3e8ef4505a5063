import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts payloads at rest: AES-256-GCM, a fresh nonce each, bound to the request id so that one row's ciphertext
 * cannot be put into another. Layout: version, nonce, tag, ciphertext.
 */
export class PayloadCipher {
  private readonly key: Buffer;

  /** `secretKey` is 64 hex digits. */
  constructor(secretKey: string) {
    this.key = Buffer.from(secretKey, 'hex');
    if (this.key.length !== 32) throw new Error('The secret key must have 32 bytes.');
  }

  encrypt(requestId: string, payload: object): Uint8Array<ArrayBuffer> {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.key, nonce).setAAD(Buffer.from(requestId));
    const text = Buffer.concat([cipher.update(JSON.stringify(payload), 'utf8'), cipher.final()]);
    return new Uint8Array(Buffer.concat([Buffer.from([version]), nonce, cipher.getAuthTag(), text]));
  }

  /** Throws when the key is another one, or the bytes belong to another request. */
  decrypt(requestId: string, bytes: Uint8Array): object {
    if (bytes[0] !== version) throw new Error('The payload was written by a newer version.');
    const nonce = bytes.subarray(1, 1 + nonceBytes);
    const tag = bytes.subarray(1 + nonceBytes, 1 + nonceBytes + tagBytes);
    const decipher = createDecipheriv('aes-256-gcm', this.key, nonce).setAAD(Buffer.from(requestId)).setAuthTag(tag);
    const text = Buffer.concat([decipher.update(bytes.subarray(1 + nonceBytes + tagBytes)), decipher.final()]);
    return JSON.parse(text.toString('utf8')) as object;
  }
}
