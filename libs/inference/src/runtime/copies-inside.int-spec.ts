import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { graphForDevice, readGraphNodes } from '#model-store/device';
import { hasSoftwareGpu, softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { convertArchitecture } from '#test/tiny-architectures';

/* The runtime's own copies over the bus within a run, for parts of a graph that only the processor computes. */

let folder: string;
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  folder = await mkdtemp(join(tmpdir(), 'sluice-copies-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Returns the operators whose results are copied to the processor and to the device; inputs have their names. */
async function copiesOf(name: string): Promise<Record<'toHost' | 'toDevice', Set<string>>> {
  const home = await convertArchitecture(name, join(folder, name), {});
  const wanted = { takesHalfFloats: false, cacheInPlaceOn: 'webgpu' };
  const changed = await graphForDevice({ folder: home, graphFile: 'model.onnx' }, wanted);
  const [modelPath, optimizedModelFilePath] = [join(home, 'device.onnx'), join(home, 'placed.onnx')];
  await writeFile(modelPath, changed?.model ?? new Uint8Array(0));
  const session = await InferenceSession.create(modelPath, {
    executionProviders: ['webgpu', 'cpu'],
    graphOptimizationLevel: 'all',
    logSeverityLevel: 4,
    optimizedModelFilePath,
  });
  await session.release();
  const nodes = await readGraphNodes(optimizedModelFilePath);
  const producers = new Map(nodes.flatMap(({ operator, outputs }) => outputs.map((output) => [output, operator])));
  const copied = (copy: string) => {
    const sources = nodes.filter(({ operator }) => operator === copy).flatMap(({ inputs }) => inputs);
    return new Set(sources.map((source) => producers.get(source) ?? source));
  };
  return { toHost: copied('MemcpyToHost'), toDevice: copied('MemcpyFromHost') };
}

/** Ids of tokens, also those that a table of layers has, positions, and whether each is seen, of all layers together. */
const placesOfTokens = ['input_ids', 'Where', 'Add', 'Unsqueeze', 'Less', 'LessOrEqual', 'Greater'];

describe.runIf(hasSoftwareGpu)('a run on webgpu', softwareGpuTimeouts, () => {
  it.each(['qwen35', 'granite-h', 'nemotron-h', 'lfm2', 'gemma4', 'gemma3n'])(
    'copies nothing to the processor, and only places of tokens to the device: %s',
    async (name) => {
      const { toHost, toDevice } = await copiesOf(name);
      expect([...toHost]).toEqual([]);
      expect([...toDevice].filter((source) => !placesOfTokens.includes(source))).toEqual([]);
    },
  );

  it.each(['deepseek-v3', 'llama4'])('copies which experts were chosen beside them: %s', async (name) => {
    const { toHost, toDevice } = await copiesOf(name);
    expect([...toHost]).toEqual(['TopK']);
    const ofExperts = ['TopK', 'Div', 'Cast'];
    expect([...toDevice].filter((source) => ![...placesOfTokens, ...ofExperts].includes(source))).toEqual([]);
  });
});
