import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { deriveKey } from '#common';

const version = 2;
const idBytes = 4;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + idBytes + nonceBytes + tagBytes;

/** One secret, or several: the first seals, all open. 64 hex digits each. */
export type SecretKeys = string | readonly [string, ...string[]];

interface BoxKey {
  /** First bytes of the key's hash, so that sealed bytes name their key. */
  id: Buffer;
  key: Buffer;
}

/**
 * Encrypts the contents of requests and responses wherever the database stores them: AES-256-GCM under a key derived for
 * one purpose, a fresh nonce each, bound to its row so that its bytes cannot be moved into another. Layout: version, key
 * id, nonce, tag, ciphertext.
 */
export class SecretBox {
  private readonly keys: readonly [BoxKey, ...BoxKey[]];

  constructor(secretKeys: SecretKeys, purpose: string) {
    const [first, ...others] = typeof secretKeys === 'string' ? ([secretKeys] as const) : secretKeys;
    this.keys = [boxKeyOf(first, purpose), ...others.map((secretKey) => boxKeyOf(secretKey, purpose))];
  }

  /** `context` identifies the row; it is not part of the result. */
  seal(context: string, bytes: string | Uint8Array): Uint8Array<ArrayBuffer> {
    const [{ id, key }] = this.keys;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]);
    return new Uint8Array(Buffer.concat([Buffer.from([version]), id, nonce, cipher.getAuthTag(), sealed]));
  }

  /** Throws when no key fits, or the bytes belong to another row. */
  open(context: string, bytes: Uint8Array): Buffer {
    if (bytes[0] !== version) throw new Error('The bytes were sealed by another version.');
    const id = bytes.subarray(1, 1 + idBytes);
    const known = this.keys.find((candidate) => candidate.id.equals(id));
    if (known === undefined) throw new Error('The bytes were sealed with a key that is not here.');
    const nonce = bytes.subarray(1 + idBytes, 1 + idBytes + nonceBytes);
    const tag = bytes.subarray(1 + idBytes + nonceBytes, headBytes);
    const decipher = createDecipheriv('aes-256-gcm', known.key, nonce).setAAD(Buffer.from(context)).setAuthTag(tag);
    return Buffer.concat([decipher.update(bytes.subarray(headBytes)), decipher.final()]);
  }
}

function boxKeyOf(secretKey: string, purpose: string): BoxKey {
  const key = deriveKey(secretKey, purpose);
  return { key, id: createHash('sha256').update(key).digest().subarray(0, idBytes) };
}
