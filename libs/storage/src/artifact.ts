import { randomBytes } from 'node:crypto';

/** What an artifact is to its job: something the caller sent, or something the job made. */
export type ArtifactKind = 'input' | 'result';

/** What is known of an artifact without reading it. */
export interface ArtifactRecord {
  id: string;
  kind: ArtifactKind;
  /** As an answer would name it: `video/mp4`. */
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
 * A new id: kind, expiry in seconds (base 36) and 160 random bits. Whoever holds the id needs no database to know when
 * the artifact ends, and a sweep needs to open no file. Letters, digits and one `-`: it is a file name, a key of an
 * object store and a part of a URL as it stands.
 */
export function newArtifactId(kind: ArtifactKind, expiresAtMs: number): string {
  return `${letters[kind]}${Math.ceil(expiresAtMs / 1000).toString(36)}-${randomBytes(20).toString('hex')}`;
}

/** What an id says of itself; null for what is no id. */
export function parseArtifactId(id: string): { kind: ArtifactKind; expiresAtMs: number } | null {
  const [, letter, expiry] = shape.exec(id) ?? [];
  if (letter === undefined || expiry === undefined) return null;
  return { kind: letter === 'i' ? 'input' : 'result', expiresAtMs: Number.parseInt(expiry, 36) * 1000 };
}

const hourMs = 3_600_000;

/** Where an artifact lies below the root of its store: by the hour it expires in, so that sweeps look at what is due. */
export function artifactPath(id: string, expiresAtMs: number): string {
  return `${hourOf(expiresAtMs)}/${id}`;
}

/** Folder of all artifacts that expire in the hour of `atMs`: hours since the epoch. */
export function hourOf(atMs: number): string {
  return String(Math.floor(atMs / hourMs)).padStart(8, '0');
}
