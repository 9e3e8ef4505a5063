import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { PlatformError } from '#common';
import type { Seal } from '../../contract/seals.js';

const version = 'v1';
const nonceBytes = 12;
const tagBytes = 16;

interface SealKey {
  /** First 4 bytes of the key's hash, by which a text names its key. */
  id: string;
  key: Buffer;
}

/**
 * Encrypts prompts and responses wherever a queue store holds them: AES-256-GCM with a fresh nonce for each text. A
 * text is bound to its place, so that its bytes cannot be moved to another job or address. Format: version, key id,
 * base64.
 */
export class PayloadSeal implements Seal {
  private readonly keys: readonly [SealKey, ...SealKey[]];

  /**
   * Takes keys of 64 hex digits: the first seals, all open. To change the first, begin by giving every process the new
   * key as a second one.
   */
  constructor([first, ...others]: readonly [string, ...string[]]) {
    this.keys = [sealKeyOf(first), ...others.map(sealKeyOf)];
  }

  seal(place: string, text: string): string {
    const [{ id, key }] = this.keys;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final()]);
    return `${version}.${id}.${Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64')}`;
  }

  /** Throws `INFERENCE_FAILED` when no key of this process opens it, or it belongs to another place. */
  open(place: string, sealed: string): string {
    const [textVersion, id, base64 = ''] = sealed.split('.');
    const known = textVersion === version ? this.keys.find((key) => key.id === id) : undefined;
    if (known === undefined) throw unreadable();
    const bytes = Buffer.from(base64, 'base64');
    try {
      const decipher = createDecipheriv('aes-256-gcm', known.key, bytes.subarray(0, nonceBytes))
        .setAAD(Buffer.from(place))
        .setAuthTag(bytes.subarray(-tagBytes));
      return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString('utf8');
    } catch (error) {
      throw unreadable(error);
    }
  }
}

/** Returns the error of a process that has no key, or the wrong one. */
export function unreadable(cause?: unknown): PlatformError {
  return new PlatformError('INFERENCE_FAILED', 'The worker cannot read this job.', null, { cause });
}

function sealKeyOf(hex: string): SealKey {
  const key = Buffer.from(hex, 'hex');
  if (key.length !== 32) throw new RangeError('A queue key must have 32 bytes.');
  return { id: createHash('sha256').update(key).digest('hex').slice(0, 8), key };
}
