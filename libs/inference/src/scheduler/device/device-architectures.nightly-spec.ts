import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type FloatCacheType, graphForDevice } from '#model-store/device';
import { expectLogits, logitDistance, logitsOf } from '#test/expected-logits';
import { findHalfFloatGpu, hasSoftwareGpu, softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import {
  architecturesWithLatents,
  architecturesWithSharedKeys,
  architecturesWithStates,
  convertArchitecture,
  knownTexts,
  tinyArchitectures,
} from '#test/tiny-architectures';
import { DeviceSession } from '../../runtime/c-api/device-session.js';
import type { Decoder } from '../decoder.js';
import { openDecoder } from '../open-decoder.js';
import { openResident, openSplit, textsOf } from './resident.conformance.js';

/* Every architecture with its cache in place, against the Python reference (`tools/reference/tiny_decoders.py`). */

const halfFloatGpu = findHalfFloatGpu();
const leftOut = typeof halfFloatGpu === 'string' ? `: ${halfFloatGpu}` : '';

let folder: string;
beforeAll(async () => {
  // A process has one device.
  const { VK_DRIVER_FILES } = typeof halfFloatGpu === 'string' ? softwareGpu : halfFloatGpu;
  vi.stubEnv('VK_DRIVER_FILES', VK_DRIVER_FILES);
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

const homes = new Map<string, Promise<string>>();

async function graphOf(name: string, provider: string, cacheType: FloatCacheType = 'float32') {
  const converted = homes.get(name) ?? convertArchitecture(name, join(folder, name), {});
  homes.set(name, converted);
  const home = await converted;
  const graphFile = 'model.onnx';
  const options = { takesHalfFloats: false, cacheInPlaceOn: provider, cacheType };
  return { modelPath: join(home, graphFile), changed: await graphForDevice({ folder: home, graphFile }, options) };
}

/** Half floats have 11 bits: that far from the reference, in parts of its largest logit. */
function expectRounded(actual: Float32Array, wanted: ArrayLike<number>): void {
  const largest = Array.from(wanted).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const distance = logitDistance(actual, wanted);
  expect(distance).toBeGreaterThan(0);
  expect(distance).toBeLessThan(largest * 2 ** -6);
}

/** Computes the known texts with their cache in place. */
async function expectKnownTextsInPlace(
  name: string,
  {
    provider,
    isWhole = false,
    cacheType = 'float32',
  }: { provider: string; isWhole?: boolean; cacheType?: FloatCacheType },
): Promise<void> {
  const { modelPath, changed } = await graphOf(name, provider, cacheType);
  expect(changed?.cacheInPlace).toBe(true);
  const options = { modelPath, model: changed?.model, intraOpThreads: 1, isWhole };
  const decoder = openDecoder(await DeviceSession.open(options, { provider, providerNote: null }), { slots: 4 });
  await expectKnownTexts(name, decoder, cacheType === 'float32' ? expectLogits : expectRounded);
}

/** Opens a model whose caches and states are inputs and outputs. */
async function openSession(name: string, provider: string): Promise<DeviceSession> {
  const { modelPath, changed } = await graphOf(name, provider);
  const options = { modelPath, intraOpThreads: 1, ...(changed !== null && { model: changed.model }) };
  return await DeviceSession.open(options, { provider, providerNote: null });
}

/** Computes the known texts, each prompt alone and then all of them in a batch. */
async function expectKnownTexts(name: string, decoder: Decoder, expectNear = expectLogits): Promise<void> {
  const texts = knownTexts(name);
  const rows = [];
  for (const { promptIds, first } of texts) {
    const row = decoder.openRow();
    const parts = [{ row, tokenIds: Int32Array.from(promptIds), final: true }];
    expectNear(logitsOf(await decoder.prefill(parts, 'full'), 0), first);
    rows.push(row);
  }
  const steps = texts[0]?.tokens.length ?? 0;
  for (let step = 0; step < steps; step += 1) {
    const parts = rows.map((row, index) => ({ row, tokenId: texts[index]?.tokens[step] ?? 0 }));
    const batch = await decoder.decode(parts, 'full');
    if (step + 1 === steps) texts.forEach(({ last }, index) => expectNear(logitsOf(batch, index), last));
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
    await expectKnownTextsInPlace(name, { provider: 'cpu' });
  });

  it.each(inPlace)('computes them with a cache of half floats but for rounding, on cpu: %s', async (name) => {
    await expectKnownTextsInPlace(name, { provider: 'cpu', cacheType: 'float16' });
  });

  it.each(hasSoftwareGpu ? onSoftwareGpu : [])(
    'computes the logits of the reference on webgpu: %s, as a whole: %s',
    async (name, isWhole) => {
      await expectKnownTextsInPlace(name, { provider: 'webgpu', isWhole });
    },
  );

  describe.runIf(leftOut === '')(`on a device with half floats${leftOut}`, () => {
    it.each(onSoftwareGpu)('computes them with a cache of half floats but for rounding: %s', async (name, isWhole) => {
      await expectKnownTextsInPlace(name, { provider: 'webgpu', isWhole, cacheType: 'float16' });
    });
  });
});

describe.each(hasSoftwareGpu ? ['cpu', 'webgpu'] : ['cpu'])(
  'a decoder with caches and states on %s that no kernel writes in place',
  softwareGpuTimeouts,
  (provider) => {
    it.each(split)('computes the logits of the reference: %s', async (name) => {
      await expectKnownTexts(name, openResident(await openSession(name, provider)));
    });

    it.each(split)('writes the texts of the processor, and copies the same prefixes: %s', async (name) => {
      const expected = await textsOf(openSplit(await openSession(name, 'cpu')));
      expect(await textsOf(openResident(await openSession(name, provider)))).toEqual(expected);
    });
  },
);

describe.each(['cpu', 'webgpu'])('the graph for %s', (provider) => {
  it.each(split)('returns new positions: %s', async (name) => {
    expect((await graphOf(name, provider)).changed?.cacheInPlace ?? false).toBe(false);
  });
});
