import { deriveKey } from '#common';
import type { StoreFinding } from '#platform/health';
import { Inject, Injectable } from '#platform/injection';
import { PrismaService, type RawQueries } from '#platform/prisma';

/** A variable with keys of the installation: the first one seals, all open. */
export interface NamedKeys {
  readonly name: 'SLUICE_SECRET_KEY' | 'SLUICE_QUEUE_KEY';
  /** The keys, of 64 hex digits each. */
  readonly keys: readonly string[];
}

/** Tells processes with different keys apart: the database keeps a value derived from the key of the others. */
@Injectable()
export class KeyFingerprintsRepository {
  // SQL: the row is created or compared in one statement, and a replica may do the same at once.
  constructor(@Inject(PrismaService) private readonly queries: RawQueries) {}

  /**
   * Compares the keys of this process with what others noted. With `note`, the first key is noted when nothing was, or
   * when another key of this process was, because the key is being changed.
   */
  async compare({ name, keys }: NamedKeys, { note }: { note: boolean }): Promise<StoreFinding[]> {
    const [first, ...others] = keys.map((key) => keyFingerprint(name, key));
    if (first === undefined) return [];
    if (note) {
      await this.queries.$executeRaw`
        INSERT INTO key_fingerprints AS noted (name, fingerprint) VALUES (${name}, ${first})
        ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, noted_at = now()
         WHERE noted.fingerprint = ANY (${others}::bytea[])`;
    }
    const [noted] = await this.queries.$queryRaw<{ fingerprint: Uint8Array }[]>`
      SELECT fingerprint FROM key_fingerprints WHERE name = ${name}`;
    if (noted === undefined) return [];
    if ([first, ...others].some((fingerprint) => fingerprint.equals(Buffer.from(noted.fingerprint)))) return [];
    const text =
      `${name} of this process is not the key of the others: give all of them the same, or, if it was changed ` +
      `everywhere at once, run DELETE FROM key_fingerprints WHERE name = '${name}' and restart them.`;
    return [{ store: 'keys', severity: 'problem', text }];
  }
}

/** 16 bytes reveal nothing about a random key of 32 bytes. */
export function keyFingerprint(name: string, key: string): Buffer {
  return deriveKey(key, `fingerprint of ${name}`).subarray(0, 16);
}
