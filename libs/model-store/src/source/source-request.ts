import type { ManifestSource } from '#model-registry/manifest';
import type { FileWriterFactory } from './file-writer.js';
import type { SourceSettings } from './source-settings.js';

/** Fetch the wanted files of one source. */
export interface SourceRequest {
  source: ManifestSource;
  /** Folder that receives the files under their `as` names. A file that is there already is complete. */
  into: string;
  /** Folder for what is kept until the model is installed: packed archives, shared by the models that need them. */
  downloads: string;
  settings: SourceSettings;
  openWriter: FileWriterFactory;
  onProgress: (file: string, stage: 'download' | 'verify', done: number, total: number | null) => void;
  signal?: AbortSignal;
}

/** Resolves when all files are there and verified, with the kept downloads that may go after the installation. */
export type SourceFetcher = (request: SourceRequest) => Promise<string[]>;

export const defaultMaxFileBytes = 64 * 2 ** 30;
