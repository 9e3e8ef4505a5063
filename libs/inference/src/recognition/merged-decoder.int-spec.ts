import { fileURLToPath } from 'node:url';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { buildTinyWhisper } from '#test/tiny-speech';
import { BindingSession } from '../runtime/binding-session.js';
import { DeviceSession } from '../runtime/c-api/device-session.js';
import { integerTensor } from '../runtime/float-tensor.js';
import { type GraphSession, isKept, type KeptTensor, releaseKept } from '../runtime/graph-session.js';
import { providersUnderTest } from '../runtime/providers.conformance.js';
import { MergedDecoder } from './merged-decoder.js';

/* The keys and values of encoder-decoder models on a device: as on the host, and nothing of them crosses the bus. */

const musicgen = fileURLToPath(new URL('../families/musicgen/__fixtures__/tiny/onnx/', import.meta.url));
const [tokens, vocabularySize] = [5, 64];

let folder: string;
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  folder = await mkdtemp(join(tmpdir(), 'sluice-merged-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Opens a session and collects what it leaves on the device. */
async function open(provider: string, modelPath: string, kept: KeptTensor[]): Promise<DeviceSession> {
  const session = await DeviceSession.open({ modelPath, intraOpThreads: 1 }, { provider, providerNote: null });
  const runKeeping = session.runKeeping.bind(session);
  session.runKeeping = async (...run) => {
    const outputs = await runKeeping(...run);
    kept.push(...Object.values(outputs).filter(isKept));
    return outputs;
  };
  return session;
}

/** Logits of some steps of a tiny MusicGen, with the bytes that each moved. */
async function stepsOf(session: GraphSession) {
  const decoder = new MergedDecoder(session, { vocabularySize });
  const width = Number(session.inputs.find(({ name }) => name === 'encoder_hidden_states')?.shape.at(-1));
  const encoded = session.tensor(
    'float32',
    Float32Array.from({ length: tokens * width }, (_, index) => Math.sin(index)),
    [1, tokens, width],
  );
  const mask = integerTensor(session, {
    input: 'encoder_attention_mask',
    data: new Array(tokens).fill(1),
    dims: [1, tokens],
  });
  const text = decoder.begin(encoded, { idRows: 4, more: { encoder_attention_mask: mask } });
  const steps: { logits: number[]; bytes: number }[] = [];
  const moved = () => (session instanceof DeviceSession ? session.bytesIn + session.bytesOut : 0);
  for (let step = 0; step < 12; step += 1) {
    const before = moved();
    const { logits } = await text.feed([0, 1, 2, 3].map((row) => (row * 5 + step * 3) % vocabularySize));
    steps.push({ logits: [...logits], bytes: moved() - before });
  }
  text.release();
  return steps;
}

describe.each(providersUnderTest())('an encoder-decoder model on %s', softwareGpuTimeouts, (provider) => {
  it('computes the logits of the host, moves the same few bytes for every token, and keeps nothing of a text', async () => {
    const modelPath = join(musicgen, 'decoder_model_merged.onnx');
    const host = await BindingSession.open({ modelPath, intraOpThreads: 1 }, { provider: 'cpu', providerNote: null });
    const expected = await stepsOf(host);
    const kept: KeptTensor[] = [];
    const session = await open(provider, modelPath, kept);
    const steps = await stepsOf(session);
    for (const [index, { logits }] of steps.entries()) {
      logits.forEach((value, at) => expect(value).toBeCloseTo(expected[index]?.logits[at] ?? Number.NaN, 4));
    }
    const [, second] = steps;
    expect(new Set(steps.slice(1).map(({ bytes }) => bytes))).toEqual(new Set([second?.bytes]));
    expect(kept.length).toBeGreaterThan(12);
    for (const tensor of kept) expect(() => tensor.read()).toThrow('the tensor was released');
    await session.release();
    await host.release();
  });

  it('leaves the output of the encoder on the device for any number of texts', async () => {
    const { graphFile, familyOptions = {} } = await buildTinyWhisper(join(folder, provider));
    const kept: KeptTensor[] = [];
    const encoder = await open(provider, join(folder, provider, graphFile), kept);
    const decoder = await open(provider, join(folder, provider, String(familyOptions['decoderFile'])), kept);
    const merged = new MergedDecoder(decoder);
    const bins = encoder.inputs[0]?.shape[1];
    const length = 3_000 * Number(bins);
    const feeds = { input_features: encoder.tensor('float32', new Float32Array(length), [1, Number(bins), 3_000]) };
    const encoded = await merged.encode(encoder, feeds, 'last_hidden_state');
    expect(isKept(encoded)).toBe(true);
    expect(encoder.bytesOut).toBe(0);
    for (let count = 0; count < 2; count += 1) {
      const text = merged.begin(encoded);
      const { logits } = await text.feed([1]);
      expect(logits).toHaveLength(merged.vocabularySize);
      await text.feed([2]);
      text.release();
    }
    releaseKept([encoded]);
    for (const tensor of kept) expect(() => tensor.read()).toThrow('the tensor was released');
    await decoder.release();
    await encoder.release();
  });
});
