import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WeightsServer } from '#test/weights-server';
import { draftManifest } from './draft-manifest.js';

const fixtures = new URL('../../inference/src/families/parakeet/__fixtures__/', import.meta.url);
const commit = 'c'.repeat(40);

type Files = Record<string, Buffer>;

async function filesOf(layout: 'joined' | 'split'): Promise<Files> {
  const folder = new URL(`${layout}/`, fixtures);
  const names = await readdir(folder);
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(new URL(name, folder))])),
  );
}

describe('the draft of a transducer', () => {
  let server: WeightsServer;
  beforeEach(async () => {
    server = await WeightsServer.start();
  });
  afterEach(() => server.close());

  async function draft(files: Files, repository = 'team/parakeet-tdt-0.6b-v2-onnx') {
    server.addRepository(repository, commit, files);
    return await draftManifest(`hf:${repository}`, { hubEndpoint: server.url });
  }

  it('takes its graphs in 8 bits where it has them, and neither the others nor the features', async () => {
    const files = await filesOf('joined');
    const { 'encoder-model.onnx': encoder, 'decoder_joint-model.onnx': joint } = files;
    const graph = Buffer.from('features');
    const { manifest, facts } = await draft({
      ...files,
      'encoder-model.onnx.data': graph,
      'encoder-model.int8.onnx': encoder ?? graph,
      'decoder_joint-model.int8.onnx': joint ?? graph,
      'nemo128.onnx': graph,
      'README.md': graph,
    });
    expect(manifest).toMatchObject({
      id: 'parakeet-tdt-0.6b-v2',
      type: 'asr',
      family: 'parakeet',
      converter: { kind: 'none' },
      graphFile: 'encoder-model.int8.onnx',
      familyOptions: {
        jointFile: 'decoder_joint-model.int8.onnx',
        voiceActivityFile: 'silero_vad.onnx',
        languages: 'en',
      },
      capabilities: { supportsAudioInput: true, quantization: 'int8' },
      pricing: { per_audio_second: { usd: 0, diem: 0 } },
    });
    const [model, voice] = manifest.sources;
    expect(model?.uri).toBe(`hf:team/parakeet-tdt-0.6b-v2-onnx@${commit}`);
    expect(model?.files.map(({ path }) => path).sort()).toEqual([
      'config.json',
      'decoder_joint-model.int8.onnx',
      'encoder-model.int8.onnx',
      'vocab.txt',
    ]);
    expect(voice?.files).toEqual([expect.objectContaining({ as: 'silero_vad.onnx' })]);
    expect(facts.summary).toContain('nemo-conformer-tdt');
    expect(facts.family?.size).toMatchObject({ family: 'parakeet' });
  });

  it('takes the external data of float32 graphs, under both names', async () => {
    const data = Buffer.from('weights');
    const joined = await draft({ ...(await filesOf('joined')), 'encoder-model.onnx.data': data });
    expect(joined.manifest.sources[0]?.files.map(({ path }) => path)).toContain('encoder-model.onnx.data');
    expect(joined.manifest.capabilities.quantization).toBe('not-available');
    const { 'encoder.int8.onnx': encoder = data, ...split } = await filesOf('split');
    const { manifest } = await draft({ ...split, 'encoder.onnx': encoder, 'encoder.weights': data }, 'team/split');
    expect(manifest.graphFile).toBe('encoder.onnx');
    expect(manifest.sources[0]?.files.map(({ path }) => path)).toContain('encoder.weights');
  });

  it('finds a prediction network beside the joint network, without a configuration', async () => {
    const folder = join(await mkdtemp(join(tmpdir(), 'draft-transducer-')), 'nemo-parakeet-tdt-0.6b-v3-int8');
    await cp(new URL('split/', fixtures), folder, { recursive: true });
    const { manifest } = await draftManifest(`file:${folder}`, {});
    await rm(join(folder, '..'), { recursive: true });
    expect(manifest).toMatchObject({
      family: 'parakeet',
      graphFile: 'encoder.int8.onnx',
      familyOptions: { jointFile: 'joiner.int8.onnx', predictorFile: 'decoder.int8.onnx' },
    });
    expect(String(manifest.familyOptions?.['languages']).split(',')).toHaveLength(25);
    const names = ['decoder.int8.onnx', 'encoder.int8.onnx', 'joiner.int8.onnx', 'tokens.txt'];
    expect(manifest.sources[0]?.files.map(({ path }) => path).sort()).toEqual(names);
  });

  it('names no languages of a model that it does not know', async () => {
    const { manifest } = await draft(await filesOf('joined'), 'team/my-transducer');
    expect(manifest.familyOptions).not.toHaveProperty('languages');
  });

  it.each<[string, (files: Files) => Promise<Files> | Files]>([
    [
      'holds a nemo-conformer-rnnt',
      (files) => ({ ...files, 'config.json': Buffer.from('{"model_type":"nemo-conformer-rnnt"}') }),
    ],
    ['holds no graphs such as', ({ 'vocab.txt': _omitted, ...files }) => files],
    ['does not end in <blk>', (files) => ({ ...files, 'vocab.txt': Buffer.from('<blk> 0\na 1\n') })],
    [
      'predicts no durations',
      (files) => ({ ...files, 'vocab.txt': Buffer.from(longerVocabulary(files['vocab.txt']?.toString() ?? '', 5)) }),
    ],
  ])('is refused before the download if it %s', async (problem, change) => {
    await expect(draft(await change(await filesOf('joined')))).rejects.toMatchObject({
      code: 'MODEL_PULL_FAILED',
      message: expect.stringContaining(problem) as string,
    });
  });

  it('names the exports where the weights are in another format', async () => {
    const config = Buffer.from('{"model_type":"parakeet_tdt","architectures":["ParakeetForTDT"]}');
    const files = { 'config.json': config, 'tokenizer.json': Buffer.from('{}'), 'model.safetensors': Buffer.alloc(16) };
    await expect(draft(files, 'team/safetensors')).rejects.toThrow(
      'exports of Parakeet TDT models can be added: repositories with encoder-model.onnx',
    );
  });

  it('leaves a configuration that cannot be read to the others', async () => {
    const files = { ...(await filesOf('joined')), 'config.json': Buffer.from('{') };
    await expect(draft(files)).rejects.toThrow('config.json');
  });
});

/** Adds tokens before the last one, so that the logits are those of tokens only. */
function longerVocabulary(text: string, count: number): string {
  const tokens = text.trimEnd().split('\n');
  const more = Array.from({ length: count }, (_, index) => `more${index}`);
  const names = [...tokens.slice(0, -1).map((line) => line.slice(0, line.lastIndexOf(' '))), ...more, '<blk>'];
  return names.map((name, index) => `${name} ${index}\n`).join('');
}
