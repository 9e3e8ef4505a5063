import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts the contents of requests and responses wherever the database stores them: AES-256-GCM under the configured
 * key, a fresh nonce each, bound to its row so that its bytes cannot be moved into another. Layout: version, nonce,
 * tag, ciphertext.
 */
export class SecretBox {
  private readonly key: Buffer;

  /** `secretKey` is 64 hex digits. */
  constructor(secretKey: string) {
    this.key = Buffer.from(secretKey, 'hex');
    if (this.key.length !== 32) throw new Error('The secret key must have 32 bytes.');
  }

  /** `place` identifies the row; it is not part of the result. */
  seal(context: string, bytes: string | Uint8Array): Uint8Array<ArrayBuffer> {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.key, nonce).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]);
    return new Uint8Array(Buffer.concat([Buffer.from([version]), nonce, cipher.getAuthTag(), sealed]));
  }

  /** Throws when the key differs, or the bytes belong to another row. */
  open(context: string, bytes: Uint8Array): Buffer {
    if (bytes[0] !== version) throw new Error('The bytes were sealed by a newer version.');
    const nonce = bytes.subarray(1, 1 + nonceBytes);
    const tag = bytes.subarray(1 + nonceBytes, 1 + nonceBytes + tagBytes);
    const decipher = createDecipheriv('aes-256-gcm', this.key, nonce).setAAD(Buffer.from(context)).setAuthTag(tag);
    return Buffer.concat([decipher.update(bytes.subarray(1 + nonceBytes + tagBytes)), decipher.final()]);
  }
}
