import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Clock, deriveKey, PlatformError, systemClock } from '#common';
import { parseArtifactId } from './artifact.js';
import { mediaNotFound } from './storage-error.js';

/** Target of a valid link. */
export interface LinkTarget {
  artifactId: string;
  expiresAtMs: number;
}

/**
 * Download links without credentials: the artifact's id and a signature. Every replica creates and accepts the same
 * ones, across restarts; a link ends with its artifact. The database knows whether it was revoked or used up.
 */
export class DownloadLinks {
  private readonly keys: readonly Buffer[];

  /** One key of 64 hex digits, or several: the first signs, all are accepted. */
  constructor(
    secretKeys: string | readonly string[],
    private readonly clock: Clock = systemClock,
  ) {
    this.keys = [secretKeys].flat().map((secretKey) => deriveKey(secretKey, 'download links'));
  }

  /** Returns the last part of the link's path. */
  tokenFor(artifactId: string): string {
    const [signature = ''] = this.signaturesOf(artifactId);
    return `${artifactId}.${signature}`;
  }

  /** Throws `MEDIA_NOT_FOUND` for an invalid token, `MEDIA_EXPIRED` for an expired one. */
  read(token: string): LinkTarget {
    const [, artifactId = '', signature = ''] = /^([^.]{1,64})\.([A-Za-z0-9_-]{43})$/.exec(token) ?? [];
    const parsed = parseArtifactId(artifactId);
    if (parsed === null || !this.signaturesOf(artifactId).some((expected) => isEqual(signature, expected)))
      throw mediaNotFound();
    if (parsed.expiresAtMs <= this.clock.nowMs()) throw new PlatformError('MEDIA_EXPIRED', 'This link has expired.');
    return { artifactId, expiresAtMs: parsed.expiresAtMs };
  }

  private signaturesOf(artifactId: string): string[] {
    return this.keys.map((key) => createHmac('sha256', key).update(artifactId).digest('base64url'));
  }
}

function isEqual(presented: string, expected: string): boolean {
  return presented.length === expected.length && timingSafeEqual(Buffer.from(presented), Buffer.from(expected));
}
