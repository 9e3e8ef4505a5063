import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ModelManifest } from '#model-registry/manifest';
import { exampleManifest } from './example-manifest.js';
import type { WeightsServer } from './weights-server.js';

/* The model `large`, whose download tests stop in the middle. Its file is no graph, so no worker can load it. */

const graphFile = 'onnx/model.onnx';
const config = Buffer.from('{}');
const commit = 'e'.repeat(40);

export const largeWeights = createHash('shake256', { outputLength: 3_000_000 }).update('weights').digest();

/** The path of its weights on the hub. */
export const largeGraph = `/owner/large/resolve/${commit}/${graphFile}`;

export function publishLarge(hub: WeightsServer): void {
  hub.addRepository('owner/large', commit, { [graphFile]: largeWeights, 'config.json': config });
}

export function largeManifest(changes: Partial<ModelManifest> = {}): ModelManifest {
  const files = [
    { path: graphFile, bytes: largeWeights.length },
    { path: 'config.json', bytes: config.length },
  ];
  return exampleManifest({ id: 'large', graphFile, sources: [{ uri: `hf:owner/large@${commit}`, files }], ...changes });
}

/** Returns how many bytes of its weights are in a home where its download goes on or has stopped. */
export async function largeBytesReceived(home: string): Promise<number> {
  const part = join(home, 'models', '.partial-large', 'input', `${graphFile}.part`);
  return (await stat(part).catch(() => null))?.size ?? 0;
}
