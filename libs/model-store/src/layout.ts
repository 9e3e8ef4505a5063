import { join } from 'node:path';
import { containedPath } from './contained-path.js';

/*
 * Folder layout of installed models. A model is complete when its folder exists: pulls and conversions work in a
 * sibling (`.partial-…`) and rename it at the end, so that a reader never sees an incomplete model.
 *
 * - `<home>/models/<id>/manifest.json`: the manifest it was installed from
 * - `<home>/models/<id>/installed.json`: every file with bytes and sha256, the time, and the converter
 * - `<home>/models/<id>/<files>`: config.json, tokenizer.json, …, and the graph
 * - `<home>/downloads/`: resumable downloads
 */

export function modelsFolder(home: string): string {
  return join(home, 'models');
}

export function modelFolder(home: string, modelId: string): string {
  return containedPath(modelsFolder(home), modelId);
}

export function downloadsFolder(home: string): string {
  return join(home, 'downloads');
}

/** Working folder of a pull; the same for every try, so that the next one resumes. */
export function partialModelFolder(home: string, modelId: string): string {
  return containedPath(modelsFolder(home), `.partial-${modelId}`);
}

/** Lock of the process that installs or removes the model. */
export function modelLockFile(home: string, modelId: string): string {
  return containedPath(modelsFolder(home), `.lock-${modelId}`);
}

/** Content of `installed.json`. */
export interface InstalledRecord {
  modelId: string;
  /** ISO. */
  installedAt: string;
  converter: string;
  files: { path: string; bytes: number; sha256: string }[];
}
