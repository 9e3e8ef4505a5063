import { createHash, randomBytes } from 'node:crypto';

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
const shape = /^([ir])([0-9a-z]{6,9})-([0-9a-f]{40})([0-9a-f]{12})?$/;

/** What an id says. */
export interface ParsedArtifactId {
  kind: ArtifactKind;
  expiresAtMs: number;
  /** That of `scopeOfModel`, of an artifact of one model's jobs; null: of none. */
  scope: string | null;
}

/**
 * Creates an id: kind, expiry in seconds (base 36), 160 random bits and the scope. The expiry is known without a database, and a
 * sweep opens no file. It consists of letters, digits and one `-`, so it is valid as a file name, an object key and a
 * part of a URL.
 */
export function newArtifactId(kind: ArtifactKind, expiresAtMs: number, scope: string | null = null): string {
  const expiry = Math.ceil(expiresAtMs / 1000).toString(36);
  return `${letters[kind]}${expiry}-${randomBytes(20).toString('hex')}${scope ?? ''}`;
}

/** Parses an id; null if it is malformed. */
export function parseArtifactId(id: string): ParsedArtifactId | null {
  const [, letter, expiry, , scope = null] = shape.exec(id) ?? [];
  if (letter === undefined || expiry === undefined) return null;
  return { kind: letter === 'i' ? 'input' : 'result', expiresAtMs: Number.parseInt(expiry, 36) * 1000, scope };
}

/** The scope of all artifacts of a model's jobs: 48 bits of a hash, in hex. */
export function scopeOfModel(modelId: string): string {
  return createHash('sha256').update(modelId).digest('hex').slice(0, 12);
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
