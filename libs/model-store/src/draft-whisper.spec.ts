import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WeightsServer } from '#test/weights-server';
import { draftManifest } from './draft-manifest.js';

const fixtures = join(import.meta.dirname, 'convert/whisper/__fixtures__');
const commit = 'b'.repeat(40);

let folder: string;
let server: WeightsServer;

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'draft-whisper-')), 'Tiny-Whisper');
  server = await WeightsServer.start();
});
afterEach(async () => {
  await rm(join(folder, '..'), { recursive: true });
  await server.close();
});

async function folderOf(format: 'ctranslate2' | 'safetensors'): Promise<string> {
  await cp(join(fixtures, format), folder, { recursive: true });
  await writeFile(join(folder, 'tokenizer.json'), '{"model":{}}');
  return `file:${folder}`;
}

describe('the draft of the weights of Whisper', () => {
  it.each(['ctranslate2', 'safetensors'] as const)('converts those of %s to graphs', async (format) => {
    const { manifest, facts } = await draftManifest(await folderOf(format), {});
    expect(manifest).toMatchObject({
      id: 'tiny-whisper',
      type: 'asr',
      family: 'whisper',
      converter: { kind: 'whisper', options: { weights: 'float32' } },
      graphFile: 'encoder_model.onnx',
      familyOptions: { decoderFile: 'decoder_model_merged.onnx', voiceActivityFile: 'silero_vad.onnx' },
      capabilities: { supportsAudioInput: true, quantization: 'not-available' },
    });
    const weights = format === 'ctranslate2' ? 'model.bin' : 'model.safetensors';
    const [model] = manifest.sources;
    expect(model?.files.map(({ path }) => path).sort()).toEqual(['config.json', weights, 'tokenizer.json']);
    expect(facts.summary).toBe('whisper, served as float32');
    // Four bytes for each of the 16-bit weights, and what the list of CTranslate2 takes.
    const { byteLength } = await readFile(join(folder, weights));
    expect(facts.weightsBytes / (2 * byteLength)).toBeGreaterThan(0.75);
    expect(facts.weightsBytes / (2 * byteLength)).toBeLessThanOrEqual(1);
    expect(facts.family?.size.config).toMatchObject({ d_model: 8, vocab_size: 60, decoder_layers: 2 });
  });

  it('takes a smaller precision', async () => {
    const { manifest, facts } = await draftManifest(await folderOf('safetensors'), {}, { weights: 'int8' });
    expect(manifest).toMatchObject({
      converter: { options: { weights: 'int8' } },
      capabilities: { quantization: 'int8' },
    });
    expect(facts.summary).toBe('whisper, served as int8');
  });

  it('is found in a repository of the hub, of whose weights only the beginning is read', async () => {
    await folderOf('ctranslate2');
    const names = ['model.bin', 'config.json', 'tokenizer.json'];
    const contents = await Promise.all(names.map((name) => readFile(join(folder, name))));
    const files = Object.fromEntries(names.map((name, index) => [name, contents[index] ?? Buffer.alloc(0)]));
    server.addRepository('team/faster-whisper', commit, { ...files, 'vocabulary.txt': Buffer.from('a') });
    const { manifest } = await draftManifest('hf:team/faster-whisper', { hubEndpoint: server.url });
    expect(manifest.sources[0]).toMatchObject({ uri: `hf:team/faster-whisper@${commit}` });
    expect(manifest.sources[0]?.files.map(({ path }) => path).sort()).toEqual(names.toSorted());
  });

  it('is refused before the download where the conversion would refuse it', async () => {
    const source = await folderOf('ctranslate2');
    const model = await readFile(join(folder, 'model.bin'));
    const type = model.indexOf('decoder/embeddings/weight\0') + 'decoder/embeddings/weight\0'.length + 9;
    model.writeUInt8(2, type);
    await writeFile(join(folder, 'model.bin'), model);
    await expect(draftManifest(source, {})).rejects.toThrow(
      'it is quantized: decoder/embeddings/weight is of type I16',
    );
    await writeFile(join(folder, 'model.bin'), model.fill('TransformSp', 6, 17));
    await expect(draftManifest(source, {})).rejects.toThrow('only WhisperSpec is converted');
  });

  it('is refused without a tokenizer', async () => {
    const source = await folderOf('ctranslate2');
    await rm(join(folder, 'tokenizer.json'));
    await expect(draftManifest(source, {})).rejects.toThrow('holds no tokenizer.json, which Whisper needs');
  });
});
