import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '#common';
import { findArchitecture } from '../convert/decoder/architectures.js';
import { invalidFile } from '../convert/invalid-file.js';
import { filesOfFolder, readJsonObject } from '../convert/safetensors/model-files.js';
import { hubArchitectures } from '../convert/safetensors/hub-architectures.js';
import type { AdaptedBase } from './adapter-tensors.js';
import { type BaseGraph, maxGraphBytes, readBaseGraph } from './base-graph.js';

/** An installed model, as its adapters need to know it. */
export interface InstalledBase extends AdaptedBase {
  /** Leading dimensions of each head that rotate, and all of them. */
  headSize: number;
  rotated: number;
}

const graphFile = 'model.onnx';

export async function readGraphOf(folder: string, fileName = graphFile): Promise<BaseGraph> {
  const path = join(folder, fileName);
  const { size } = await stat(path).catch(() => {
    throw invalidFile(fileName, 'it is missing, and adapters need a base that a converter of Sluice wrote');
  });
  if (size > maxGraphBytes)
    throw invalidFile(fileName, 'its weights are in the graph, so no converter of Sluice wrote it');
  return readBaseGraph(await readFile(path), fileName);
}

/**
 * Reads the graph and the configuration of an installed base. Throws `INVALID_MODEL` for a model that adapters cannot be
 * added to.
 */
export async function readInstalledBase(folder: string): Promise<InstalledBase> {
  const graph = await readGraphOf(folder);
  const config = await readJsonObject(await filesOfFolder(folder), 'config.json');
  const { architectures, head_dim: headSize, partial_rotary_factor: factor } = config;
  const className = Array.isArray(architectures) ? String(architectures[0]) : '';
  const hub = Object.hasOwn(hubArchitectures, className) ? hubArchitectures[className] : undefined;
  const isAdapted = hub !== undefined && !findArchitecture(hub.architecture)?.latentAttention;
  if (!isAdapted || typeof headSize !== 'number' || typeof factor !== 'number') {
    throw new PlatformError('INVALID_MODEL', `Adapters of ${className || 'this architecture'} are not served.`);
  }
  return { hub, className, projections: graph.sites, headSize, rotated: Math.round(headSize * factor) };
}
