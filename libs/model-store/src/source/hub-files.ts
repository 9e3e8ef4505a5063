import type { ListFileEntry } from '@huggingface/hub';
import type { ManifestFile } from '#model-registry/manifest';
import { pullError } from './pull-error.js';

/** Configuration files of the root, and the pooling file of sentence encoders. */
export const configurationFiles = /^(?:[^/]+|\d_Pooling\/config)\.(json|jinja|txt|model)$/;

/**
 * Returns the files to fetch, with the hub's size and sha256 if the manifest has none. A source without a list gets the
 * configuration files of the root and the smallest complete graph precision.
 */
export function selectHubFiles(
  wanted: readonly ManifestFile[],
  entries: readonly ListFileEntry[],
  repository: string,
  kind: GraphKind = 'decoder',
): ManifestFile[] {
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  const files = wanted.length > 0 ? wanted : defaultFiles(entries, kind);
  return files.map((file) => {
    const entry = byPath.get(file.path);
    if (!entry) throw pullError(`hf:${repository} has no file ${file.path}.`);
    return { ...file, bytes: file.bytes ?? entry.lfs?.size ?? entry.size, sha256: file.sha256 ?? entry.lfs?.oid };
  });
}

function defaultFiles(entries: readonly ListFileEntry[], kind: GraphKind): ManifestFile[] {
  const graph = chooseHubGraph(
    entries.map(({ path }) => path),
    kind,
  );
  return entries
    .filter(({ path }) => configurationFiles.test(path) || (graph !== null && isPartOf(path, graph)))
    .map(({ path }) => ({ path }));
}

export type GraphKind = 'decoder' | 'encoder' | 'cross-encoder';

/**
 * Preferred graphs, best first. Decoders: four bits are fastest on a CPU, full precision runs everywhere. Encoders:
 * with dynamic quantisation a text's vector depends on its batch, so texts must run row by row.
 */
const encoderPreference = ['', 'fp16', 'q4', 'q4f16', 'quantized', 'q8', 'int8', 'uint8'];

const graphPreference: Record<GraphKind, string[]> = {
  decoder: ['q4', 'int4', 'q4f16', 'quantized', 'q8', 'int8', 'uint8', 'fp16', ''],
  encoder: encoderPreference,
  'cross-encoder': encoderPreference,
};

/** Returns the graph of a repository in the transformers.js layout; null without one. */
export function chooseHubGraph(paths: readonly string[], kind: GraphKind = 'decoder'): string | null {
  for (const precision of graphPreference[kind]) {
    for (const stem of ['model', 'decoder_model_merged']) {
      for (const folder of ['onnx/', '']) {
        const path = `${folder}${stem}${precision === '' ? '' : `_${precision}`}.onnx`;
        if (paths.includes(path)) return path;
      }
    }
  }
  return null;
}

/** Returns the graph file and its external data files: `model.onnx_data`, `model.onnx_data_1`, `model.onnx.data`. */
export function isPartOf(path: string, graph: string): boolean {
  return path === graph || path.startsWith(`${graph}_data`) || path === `${graph}.data`;
}
