import type { ManifestSource } from '#model-registry/manifest';
import { adapterFiles } from '../adapter/peft-adapter.js';
import { configFile, readPeftConfig } from '../adapter/peft-config.js';
import { type ModelFiles, readJsonObject } from '../convert/safetensors/model-files.js';

/** A LoRA in the layout of PEFT. */
export interface AdapterDescription {
  format: 'lora';
  source: ManifestSource;
  name: string;
  /** The model that it was trained for, as its author named it. */
  baseName: string | null;
  files: ModelFiles;
}

/** True for an adapter without its model. */
export function holdsAdapter(paths: Iterable<string>): boolean {
  const names = new Set(paths);
  return names.has(configFile) && !names.has('config.json');
}

export function isAdapterFile(path: string): boolean {
  return adapterFiles.includes(path);
}

/** Reads the settings only. Fails with `INVALID_MODEL` for adapters of another kind. */
export async function describeAdapter(
  files: ModelFiles,
  { source, name }: Pick<AdapterDescription, 'source' | 'name'>,
): Promise<AdapterDescription> {
  const { baseName } = readPeftConfig(await readJsonObject(files, configFile));
  return { format: 'lora', source, name, baseName, files };
}
