import { isObject } from '#common/values';
import type { PartDigest } from './archive/part-digests.js';
import { refuse, refuseFile } from './refusal.js';

/** Raised when an archive is laid out in another way. */
export const formatVersion = 1;

export const manifestName = 'manifest.json';
/** The folder of files from the home. */
export const homePart = 'home';
/** The folder of stored objects: `<id>.json` with the record, then `<id>`. */
export const objectsPart = 'objects';

/** The folder of a table: files of whole rows, in the text format of `COPY`. */
export function tablePart(table: string): string {
  return `database/${table}`;
}

export interface BackedUpTable {
  name: string;
  columns: string[];
  rows: number;
}

export interface SequenceState {
  name: string;
  lastValue: string;
  isCalled: boolean;
}

/** The last file of an archive: one that has it is complete. */
export interface BackupManifest {
  format: number;
  /** Version of the product that made it. */
  version: string;
  /** ISO; when the snapshot of the database was taken. */
  createdAt: string;
  migrations: { name: string; checksum: string }[];
  /** Fingerprints of the keys of the installation, in hex, by the name of their variable. */
  keyFingerprints: Record<string, string>;
  /** Names of the files from the home. */
  homeFiles: string[];
  /** In an order in which each table comes after those that it references. */
  tables: BackedUpTable[];
  sequences: SequenceState[];
  objects: {
    stored: number;
    /** Objects that rows refer to and the store does not have: not written yet, or deleted meanwhile. */
    missing: number;
  };
  parts: Record<string, PartDigest>;
}

export function parseManifest(file: string, text: string): BackupManifest {
  const manifest: unknown = JSON.parse(text);
  if (!isObject(manifest) || typeof manifest['format'] !== 'number') throw refuseFile(file, 'is no backup of Sluice');
  if (manifest['format'] > formatVersion) {
    throw refuse(
      `${file} was made by version ${String(manifest['version'])}, which this version cannot read: restore it with that one.`,
    );
  }
  return manifest as unknown as BackupManifest;
}
