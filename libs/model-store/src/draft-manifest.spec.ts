import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sha256, WeightsServer } from '#test/weights-server';
import { draftManifest } from './draft-manifest.js';

let server: WeightsServer;

beforeEach(async () => (server = await WeightsServer.start()));
afterEach(() => server.close());

const config = Buffer.from(JSON.stringify({ model_type: 'llama', max_position_embeddings: 131_072 }));
const graph = Buffer.from('a graph');

describe('draftManifest', () => {
  it('pins a package by its SRI and every wanted file by its sha256', async () => {
    const { integrity } = await server.addPackage('@team/tiny-onnx', '2.0.0', {
      'package.json': Buffer.from('{"name":"@team/tiny-onnx"}'),
      'config.json': config,
      'onnx/model_quantized.onnx': graph,
      'onnx/model.onnx': Buffer.from('a larger graph'),
      'index.js': Buffer.from('throw new Error("never run")'),
    });
    const manifest = await draftManifest('npm:@team/tiny-onnx@2.0.0', { npm: { registry: server.url } });
    expect(manifest).toMatchObject({
      id: 'tiny',
      graphFile: 'onnx/model_quantized.onnx',
      contextLength: 8_192,
      capabilities: { quantization: 'int8' },
      sources: [{ uri: 'npm:@team/tiny-onnx@2.0.0', integrity }],
    });
    const files = manifest.sources[0]?.files.toSorted((left, right) => left.path.localeCompare(right.path));
    expect(files).toEqual([
      { path: 'config.json', bytes: config.length, sha256: sha256(config) },
      { path: 'onnx/model_quantized.onnx', bytes: graph.length, sha256: sha256(graph) },
    ]);
  });

  it('refuses what holds no decoder graph, no configuration, or is no container of weights', async () => {
    await server.addPackage('plain', '1.0.0', { 'config.json': config, 'index.js': graph });
    await server.addPackage('bare', '1.0.0', { 'onnx/model.onnx': graph });
    const settings = { npm: { registry: server.url, fetchRetries: 0 } };
    await expect(draftManifest('npm:plain@1.0.0', settings)).rejects.toThrow(
      /npm:plain@1\.0\.0 holds no decoder graph/,
    );
    await expect(draftManifest('npm:bare@1.0.0', settings)).rejects.toThrow(/no readable config\.json/);
    await expect(draftManifest('npm:missing@1.0.0', settings)).rejects.toThrow(/did not answer for missing@1\.0\.0/);
    await expect(draftManifest('file:/weights', settings)).rejects.toThrow(/only hf: and npm:/);
  });
});
