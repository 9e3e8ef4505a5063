import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Clock, deriveKey, PlatformError, systemClock } from '#common';
import { parseArtifactId } from './artifact.js';
import { mediaNotFound } from './storage-error.js';

/** What a good link leads to. */
export interface LinkTarget {
  artifactId: string;
  expiresAtMs: number;
}

/**
 * Links that need no credentials: the artifact's id and a signature over it. Every replica makes and reads the same
 * ones, before and after a restart; a link ends when its artifact does. Whether it was revoked or used up knows the
 * database.
 */
export class DownloadLinks {
  private readonly key: Buffer;

  /** `secretKey`: the installation's, 64 hex digits. */
  constructor(
    secretKey: string,
    private readonly clock: Clock = systemClock,
  ) {
    this.key = deriveKey(secretKey, 'download links');
  }

  /** The last part of the link's path. */
  tokenFor(artifactId: string): string {
    return `${artifactId}.${this.sign(artifactId)}`;
  }

  /** Throws `MEDIA_NOT_FOUND` for a token that is not ours, `MEDIA_EXPIRED` for one whose time is over. */
  read(token: string): LinkTarget {
    const [, artifactId = '', signature = ''] = /^([^.]{1,64})\.([A-Za-z0-9_-]{43})$/.exec(token) ?? [];
    const parsed = parseArtifactId(artifactId);
    if (parsed === null || !isEqual(signature, this.sign(artifactId))) throw mediaNotFound();
    if (parsed.expiresAtMs <= this.clock.nowMs()) throw new PlatformError('MEDIA_EXPIRED', 'This link has expired.');
    return { artifactId, expiresAtMs: parsed.expiresAtMs };
  }

  private sign(artifactId: string): string {
    return createHmac('sha256', this.key).update(artifactId).digest('base64url');
  }
}

function isEqual(given: string, expected: string): boolean {
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
}
