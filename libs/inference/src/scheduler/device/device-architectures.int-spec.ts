import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { graphForDevice } from '#model-store/device';
import { expectLogits, logitsOf } from '#test/expected-logits';
import { hasSoftwareGpu, softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import {
  architecturesWithLatents,
  architecturesWithSharedKeys,
  architecturesWithStates,
  convertArchitecture,
  knownTexts,
  tinyArchitectures,
} from '#test/tiny-architectures';
import { DeviceSession } from '../../runtime/c-api/device-session.js';
import { openDecoder } from '../open-decoder.js';

/* Every architecture with its cache in place, against the Python reference (`tools/reference/tiny_decoders.py`). */

let folder: string;
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  folder = await mkdtemp(join(tmpdir(), 'sluice-device-architectures-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** On any provider: its windows are chunks of the text, or its heads have no multiple of eight values. */
const ofOtherForms = ['llama4', 'gemma'];
const split = [
  ...architecturesWithStates,
  ...architecturesWithLatents,
  ...architecturesWithSharedKeys,
  ...ofOtherForms,
];
const inPlace = tinyArchitectures.filter((name) => !split.includes(name));

async function graphOf(name: string, provider: string) {
  const home = await convertArchitecture(name, join(folder, `${provider}-${name}`), {});
  const graphFile = 'model.onnx';
  const options = { takesHalfFloats: false, cacheInPlaceOn: provider };
  return { modelPath: join(home, graphFile), changed: await graphForDevice({ folder: home, graphFile }, options) };
}

/** Computes the known texts, each prompt alone and then all of them in a batch. */
async function expectKnownTexts(name: string, provider: string, isWhole: boolean): Promise<void> {
  const { modelPath, changed } = await graphOf(name, provider);
  expect(changed?.cacheInPlace).toBe(true);
  const options = { modelPath, model: changed?.model, intraOpThreads: 1, isWhole };
  const decoder = openDecoder(await DeviceSession.open(options, { provider, providerNote: null }), { slots: 4 });
  const texts = knownTexts(name);
  const rows = [];
  for (const { promptIds, first } of texts) {
    const row = decoder.openRow();
    const parts = [{ row, tokenIds: Int32Array.from(promptIds), final: true }];
    expectLogits(logitsOf(await decoder.prefill(parts, 'full'), 0), first);
    rows.push(row);
  }
  const steps = texts[0]?.tokens.length ?? 0;
  for (let step = 0; step < steps; step += 1) {
    const parts = rows.map((row, index) => ({ row, tokenId: texts[index]?.tokens[step] ?? 0 }));
    const batch = await decoder.decode(parts, 'full');
    if (step + 1 === steps) texts.forEach(({ last }, index) => expectLogits(logitsOf(batch, index), last));
  }
  await decoder.close();
}

/** On WebGPU, with whether all of the graph runs there: the programs of a graph take long to compile. */
const onSoftwareGpu: [name: string, isWhole: boolean][] = [
  // Windows, beside layers that do not rotate.
  ['cohere2', true],
  // Norms behind the rotation.
  ['hunyuan', true],
  // Sinks, and experts on the processor.
  ['gpt-oss', false],
];

describe('a decoder with its cache in place', softwareGpuTimeouts, () => {
  it.each(inPlace)('computes the logits of the reference on cpu: %s', async (name) => {
    await expectKnownTexts(name, 'cpu', false);
  });

  it.each(hasSoftwareGpu ? onSoftwareGpu : [])(
    'computes the logits of the reference on webgpu: %s, as a whole: %s',
    async (name, isWhole) => {
      await expectKnownTexts(name, 'webgpu', isWhole);
    },
  );
});

describe.each(['cpu', 'webgpu'])('the graph for %s', (provider) => {
  it.each(split)('returns new positions: %s', async (name) => {
    expect((await graphOf(name, provider)).changed?.cacheInPlace ?? false).toBe(false);
  });
});
