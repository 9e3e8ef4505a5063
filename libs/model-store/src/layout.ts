import { join } from 'node:path';

/*
 * Where installed models lie. A model is complete when its folder exists: pulls and conversions work in a sibling
 * (`.partial-…`) and rename at the end, so that a reader never sees half a model.
 *
 *   <home>/models/<id>/manifest.json   the manifest it was installed from
 *   <home>/models/<id>/installed.json  every file with bytes and sha256, when, and by which converter
 *   <home>/models/<id>/<files>         config.json, tokenizer.json, …, and the graph
 *   <home>/downloads/                  resumable downloads
 */

export function modelsFolder(home: string): string {
  return join(home, 'models');
}

export function modelFolder(home: string, modelId: string): string {
  return join(modelsFolder(home), modelId);
}

export function downloadsFolder(home: string): string {
  return join(home, 'downloads');
}

/** Where a pull works until its model is complete; the same for every try, so that the next one goes on. */
export function partialModelFolder(home: string, modelId: string): string {
  return join(modelsFolder(home), `.partial-${modelId}`);
}

/** Held by the process that installs or removes the model. */
export function modelLockFile(home: string, modelId: string): string {
  return join(modelsFolder(home), `.lock-${modelId}`);
}

/** Contents of `installed.json`. */
export interface InstalledRecord {
  modelId: string;
  /** Of the manifest's sources and converter (`fingerprintManifest`): another one means another installation. */
  fingerprint?: string;
  /** ISO. */
  installedAt: string;
  converter: string;
  files: { path: string; bytes: number; sha256: string }[];
}
