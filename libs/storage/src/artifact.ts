import { randomBytes } from 'node:crypto';

/** Role of an artifact in its job: input from the client, or result of the job. */
export type ArtifactKind = 'input' | 'result';

/** Metadata of an artifact. */
export interface ArtifactRecord {
  id: string;
  kind: ArtifactKind;
  /** Content type of a response: `video/mp4`. */
  contentType: string;
  bytes: number;
  /** Hex. */
  sha256: string;
  /** Ms since the epoch, by the clock of the process that stored it. */
  createdAtMs: number;
  /** Ms since the epoch; from then on it counts as missing, and a sweep deletes it. Part of the id. */
  expiresAtMs: number;
}

const letters: Record<ArtifactKind, string> = { input: 'i', result: 'r' };
const shape = /^([ir])([0-9a-z]{6,9})-([0-9a-f]{40})$/;

/**
 * Creates an id: kind, expiry in seconds (base 36) and 160 random bits. The expiry is known without a database, and a
 * sweep opens no file. It consists of letters, digits and one `-`, so it is valid as a file name, an object key and a
 * part of a URL.
 */
export function newArtifactId(kind: ArtifactKind, expiresAtMs: number): string {
  return `${letters[kind]}${Math.ceil(expiresAtMs / 1000).toString(36)}-${randomBytes(20).toString('hex')}`;
}

/** Parses an id; null if it is malformed. */
export function parseArtifactId(id: string): { kind: ArtifactKind; expiresAtMs: number } | null {
  const [, letter, expiry] = shape.exec(id) ?? [];
  if (letter === undefined || expiry === undefined) return null;
  return { kind: letter === 'i' ? 'input' : 'result', expiresAtMs: Number.parseInt(expiry, 36) * 1000 };
}

const hourMs = 3_600_000;

/**
 * Returns the path of an artifact below the root of its store, by its hour of expiry, so that sweeps only visit what is
 * due.
 */
export function artifactPath(id: string, expiresAtMs: number): string {
  return `${hourOf(expiresAtMs)}/${id}`;
}

/** Returns the folder of all artifacts that expire in the hour of `atMs`: hours since the epoch. */
export function hourOf(atMs: number): string {
  return String(Math.floor(atMs / hourMs)).padStart(8, '0');
}
