import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { bundledManifestFolder, loadManifestFolder, type ModelManifest } from '#model-registry/manifest';
import { modelFolder, pullModels, silentReporter } from '#model-store';
import { writeQ40Gguf } from './q4-0-gguf.js';

/** Folders and files of one model for every contender. */
export interface BenchWeights {
  manifest: ModelManifest;
  /** As installed by the platform. */
  folder: string;
  /** In the layout of transformers.js. */
  concatFolder: string;
  /** For llama.cpp; null for models without a GGUF source. */
  ggufFile: string | null;
}

/** Q4_0 blocks. */
const ggufBlockSize = 32;

/** Weight format for transformers.js: that of the installed model, or that of its source. */
export const peerFormats = ['same', 'float32'] as const;
export type PeerFormat = (typeof peerFormats)[number];

/** Pulls and converts missing weights under `home`. */
export async function prepareWeights(modelId: string, home: string, peers: PeerFormat): Promise<BenchWeights> {
  const manifest = (await loadManifestFolder(bundledManifestFolder())).find(({ id }) => id === modelId);
  if (!manifest) throw new Error(`models/ has no manifest ${modelId}`);
  const concat = variant(manifest, { layout: 'concat', ...(peers === 'same' ? {} : { weights: peers }) });
  await pull(home, [manifest, concat]);
  return {
    manifest,
    folder: modelFolder(home, manifest.id),
    concatFolder: modelFolder(home, concat.id),
    ggufFile: manifest.converter.kind === 'gguf' ? await prepareGguf(manifest, home) : null,
  };
}

/** GGUF with the names and metadata of the model's source and its weights in blocks of 32. */
async function prepareGguf(manifest: ModelManifest, home: string): Promise<string> {
  const outputFile = join(home, 'bench', `${manifest.id}.q4_0.gguf`);
  if (existsSync(outputFile)) return outputFile;
  await mkdir(join(home, 'bench'), { recursive: true });
  const blocks = variant(manifest, { layout: 'concat', weights: 'int4', blockSize: ggufBlockSize });
  const graphFile = manifest.concat?.[0]?.as ?? 'model.gguf';
  const raw: ModelManifest = { ...manifest, id: `${manifest.id}-gguf`, converter: { kind: 'none' }, graphFile };
  await pull(home, [blocks, raw]);
  const sourceFile = join(modelFolder(home, raw.id), graphFile);
  await writeQ40Gguf({ sourceFile, modelFolder: modelFolder(home, blocks.id), outputFile });
  return outputFile;
}

function variant(manifest: ModelManifest, options: Record<string, string | number>): ModelManifest {
  const merged = { ...manifest.converter.options, ...options };
  const suffix = ['layout', 'weights', 'blockSize'].flatMap((name) => merged[name] ?? []).join('-');
  return { ...manifest, id: `${manifest.id}-${suffix}`, converter: { ...manifest.converter, options: merged } };
}

async function pull(home: string, manifests: ModelManifest[]): Promise<void> {
  const results = await pullModels({ home, manifests, reporter: silentReporter });
  for (const result of results) if (result.status === 'failed') throw result.error;
}
