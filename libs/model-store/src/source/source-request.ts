import type { ManifestSource } from '#model-registry/manifest';
import type { FileWriterFactory } from './file-writer.js';
import type { SourceSettings } from './source-settings.js';

/** A request for the listed files of one source. */
export interface SourceRequest {
  source: ManifestSource;
  /** Folder for the files under their `as` names. An existing file is complete. */
  into: string;
  /** Folder for files needed until the model is installed: packed archives, shared by the models that need them. */
  downloads: string;
  /** The files are only read and then deleted, so that local ones may be linked instead of copied. */
  mayLink: boolean;
  settings: SourceSettings;
  /** Attempts in a row that bring no byte; a source with mirrors has few. Default: 5. */
  attempts?: number;
  openWriter: FileWriterFactory;
  onProgress: (file: string, stage: 'download' | 'verify', done: number, total: number | null) => void;
  signal?: AbortSignal;
}

/** Resolves when all files are complete and verified, with the downloads that may be deleted after the installation. */
export type SourceFetcher = (request: SourceRequest) => Promise<string[]>;

export const defaultMaxFileBytes = 64 * 2 ** 30;
