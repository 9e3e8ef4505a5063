import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type GraphTensor, openGraph } from '#inference';
import { type ConversionOptions, convertModel } from './index.js';

const fixtures = join(import.meta.dirname, 'whisper/__fixtures__');
type GraphSession = Awaited<ReturnType<typeof openGraph>>;
type Format = 'ctranslate2' | 'safetensors';

/** What CTranslate2 computes with the same weights, made by `tools/reference/tiny_whisper.py`. */
const reference = JSON.parse(readFileSync(join(fixtures, 'reference.json'), 'utf8')) as {
  /** Every 150th position. */
  encoded: number[][];
  prompt: number[];
  tokens: number[];
  /** Before each of the first tokens. */
  logits: number[][];
};

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'whisper-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function inputOf(format: Format): Promise<string> {
  const input = await mkdtemp(join(folder, 'in-'));
  await cp(join(fixtures, format), input, { recursive: true });
  await writeFile(join(input, 'tokenizer.json'), '{"model":{}}');
  return input;
}

async function convert(inputFolder: string, options: ConversionOptions = {}) {
  const outputFolder = await mkdtemp(join(folder, 'out-'));
  const run = convertModel({ kind: 'whisper', options, inputFolder, outputFolder });
  return await run.then(
    ({ converter, files }) => ({ converter, files, outputFolder }),
    async (error: unknown) => {
      expect(await readdir(outputFolder)).toEqual([]);
      throw error;
    },
  );
}

/** A converted model with its text so far. */
class TinyRun {
  private past: Record<string, GraphTensor> = {};
  private isCached = false;
  private encoded: GraphTensor | null = null;

  private constructor(
    private readonly encoder: GraphSession,
    private readonly decoder: GraphSession,
  ) {}

  static async open(path: string): Promise<TinyRun> {
    const [encoder, decoder] = await Promise.all(
      ['encoder_model.onnx', 'decoder_model_merged.onnx'].map((name) =>
        openGraph({ modelPath: join(path, name), providers: ['cpu'], intraOpThreads: 1 }),
      ),
    );
    return new TinyRun(encoder as GraphSession, decoder as GraphSession);
  }

  async encode(): Promise<Float32Array> {
    const features = Float32Array.from({ length: 80 * 3_000 }, (_, index) => Math.sin(index / 37 + (index % 11)));
    const feeds = { input_features: this.encoder.tensor('float32', features, [1, 80, 3_000]) };
    const { last_hidden_state: encoded } = await this.encoder.run(feeds, ['last_hidden_state']);
    this.encoded = encoded as GraphTensor;
    return Float32Array.from(this.encoded.data as Float32Array);
  }

  /** Returns the logits behind each token. */
  async feed(ids: readonly number[]): Promise<{ logits: Float32Array[]; attention: Float32Array }> {
    const { decoder } = this;
    const pasts = decoder.inputs.filter(({ name }) => name.startsWith('past_key_values.'));
    const feeds: Record<string, GraphTensor> = {
      input_ids: decoder.tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
      encoder_hidden_states: this.encoded as GraphTensor,
      use_cache_branch: decoder.tensor('bool', Uint8Array.of(this.isCached ? 1 : 0), [1]),
    };
    for (const { name } of pasts)
      feeds[name] = this.past[name] ?? decoder.tensor('float32', new Float32Array(0), [1, 2, 0, 4]);
    const kept = pasts.map(({ name }) => name).filter((name) => !this.isCached || name.includes('.decoder.'));
    const presents = kept.map((name) => name.replace('past_key_values', 'present'));
    const outputs = await decoder.run(feeds, ['logits', 'cross_attentions.1', ...presents]);
    kept.forEach((name, index) => (this.past[name] = outputs[presents[index] ?? ''] as GraphTensor));
    this.isCached = true;
    const all = outputs['logits']?.data as Float32Array;
    const size = all.length / ids.length;
    const logits = ids.map((_, index) => all.slice(index * size, (index + 1) * size));
    return { logits, attention: Float32Array.from(outputs['cross_attentions.1']?.data as Float32Array) };
  }

  async close(): Promise<void> {
    await Promise.all([this.encoder.release(), this.decoder.release()]);
  }
}

function expectNear(values: ArrayLike<number>, expected: readonly number[]): void {
  const differences = expected.map((value, index) => Math.abs(value - (values[index] ?? NaN)));
  expect(Math.max(...differences)).toBeLessThan(1e-4);
}

function likeliest(logits: Float32Array): number {
  return logits.indexOf(Math.max(...logits));
}

describe.each<Format>(['ctranslate2', 'safetensors'])('the Whisper converter, from %s', (format) => {
  let run: TinyRun;
  let files: string[];

  beforeAll(async () => {
    const converted = await convert(await inputOf(format));
    files = converted.files;
    run = await TinyRun.open(converted.outputFolder);
  });
  afterAll(() => run.close());

  it('computes what CTranslate2 computes with the same weights, token by token', async () => {
    const encoded = await run.encode();
    const size = encoded.length / 1_500;
    for (const [index, row] of reference.encoded.entries()) expectNear(encoded.subarray(index * 150 * size), row);
    let { logits } = await run.feed(reference.prompt);
    for (const [step, token] of reference.tokens.entries()) {
      const last = logits.at(-1) as Float32Array;
      expectNear(last, reference.logits[step] ?? []);
      expect(likeliest(last)).toBe(token);
      ({ logits } = await run.feed([token]));
    }
  });

  it('writes graphs, tokenizer and settings', () => {
    const graphs = ['encoder_model.onnx', 'decoder_model_merged.onnx'];
    expect(files).toEqual(['config.json', 'generation_config.json', 'tokenizer.json', ...graphs]);
  });
});

describe('the Whisper converter', () => {
  it('feeds tokens at once and one by one alike, and no token sees later ones', async () => {
    const { outputFolder } = await convert(await inputOf('ctranslate2'));
    const [whole, single] = [await TinyRun.open(outputFolder), await TinyRun.open(outputFolder)];
    await Promise.all([whole.encode(), single.encode()]);
    const ids = [...reference.prompt, ...reference.tokens];
    const { logits, attention } = await whole.feed(ids);
    const positions = attention.length / (2 * ids.length);
    for (const [index, id] of ids.entries()) {
      const step = await single.feed([id]);
      expectNear(logits[index] ?? [], [...(step.logits[0] ?? [])]);
      const row = attention.subarray(index * positions, (index + 1) * positions);
      expectNear(row, [...step.attention.subarray(0, positions)]);
    }
    await Promise.all([whole.close(), single.close()]);
  });

  it('takes the settings of CTranslate2 by the names of the hubs', async () => {
    const { outputFolder, converter } = await convert(await inputOf('ctranslate2'), { weights: 'int8', blockSize: 16 });
    const json = async (name: string) => JSON.parse(await readFile(join(outputFolder, name), 'utf8')) as unknown;
    expect(await json('generation_config.json')).toEqual({
      suppress_tokens: [1],
      begin_suppress_tokens: [2, 50],
      alignment_heads: [[1, 0]],
    });
    const sizes = {
      d_model: 8,
      num_mel_bins: 80,
      max_target_positions: 24,
      decoder_layers: 2,
      decoder_attention_heads: 2,
    };
    expect(await json('config.json')).toMatchObject(sizes);
    expect(converter).toBe('whisper/1 int8 blockSize=16');
  });
});

describe('a file that is no Whisper', () => {
  let input: string;
  let model: Buffer;

  beforeEach(async () => {
    input = await inputOf('ctranslate2');
    model = await readFile(join(input, 'model.bin'));
  });
  afterEach(() => rm(input, { recursive: true }));

  async function refused(content: Buffer): Promise<string> {
    await writeFile(join(input, 'model.bin'), content);
    const error: unknown = await convert(input).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: 'INVALID_MODEL' });
    return (error as Error).message;
  }

  /** Position behind the name of a tensor, where its rank is. */
  const behind = (name: string): number => model.indexOf(`${name}\0`) + name.length + 1;

  it('is refused wherever it is cut', async () => {
    const cuts = Array.from({ length: 16 }, (_, index) => Math.floor((index * model.length) / 16));
    for (const cut of [...cuts, 1, 3, 5, 17, model.length - 1]) {
      expect(await refused(model.subarray(0, cut))).toMatch(/^The file model\.bin cannot be converted: /);
    }
    expect(await refused(Buffer.concat([model, Buffer.alloc(3)]))).toContain('it has 3 bytes behind its list');
  });

  it('is refused when it lists more than it holds, without reading it', async () => {
    const count = 4 + 2 + 'WhisperSpec\0'.length + 4;
    model.writeUInt32LE(0xffffffff, count);
    expect(await refused(model)).toContain('it lists 4294967295 tensors, more than it has room for');
  });

  it.each<[string, (at: number) => void]>([
    ['has 960 bytes where [4294967295, 8] of F16 has 68719476720', (at) => model.writeUInt32LE(0xffffffff, at + 1)],
    ['is of type 200, which is not known', (at) => model.writeUInt8(200, at + 9)],
    ['has 4294967280 bytes where [60, 8] of F16 has 960', (at) => model.writeUInt32LE(0xfffffff0, at + 10)],
  ])('is refused when a tensor %s', async (reason, change) => {
    change(behind('decoder/embeddings/weight'));
    expect(await refused(model)).toContain(`its tensor decoder/embeddings/weight ${reason}`);
  });

  it.each<[string, () => unknown, string]>([
    ['another model', () => model.write('TransformSp', 6), 'and only WhisperSpec is converted'],
    ['another revision', () => model.writeUInt32LE(9, 18), 'it is in revision 9 of WhisperSpec'],
    ['another format', () => model.writeUInt32LE(5, 0), 'it is no model of CTranslate2 in version 6'],
  ])('is refused when it is %s', async (_what, change, reason) => {
    change();
    expect(await refused(model)).toContain(reason);
  });

  it('is refused when it has integers, and the message says what to take', async () => {
    const at = behind('encoder/layer_0/ffn/linear_0/weight');
    // The same bytes as 16-bit integers.
    model.writeUInt8(2, at + 9);
    expect(await refused(model)).toMatch(/it is quantized: encoder\/layer_0\/ffn\/linear_0\/weight is of type I16/);
  });

  it.each([
    ['decoder/pre_norm', 0],
    ['decoder/activation', 0],
    ['decoder/scale_embeddings', 1],
  ])('is refused when %s is %i', async (name, value) => {
    // Behind the rank: type, number of bytes, value.
    model.writeInt8(value, behind(name) + 6);
    expect(await refused(model)).toContain(`its setting ${name} is ${value}`);
  });

  it('is refused when its heads do not divide its width', async () => {
    for (const heads of [0, -1, 3]) {
      model.writeInt16LE(heads, behind('encoder/num_heads') + 6);
      expect(await refused(model)).toContain(`its width of 8 is not ${heads} heads`);
    }
  });

  it('is refused when it has a tensor that Whisper does not have', async () => {
    model.write('gammb', model.indexOf('encoder/layer_norm/gamma') + 'encoder/layer_norm/'.length);
    expect(await refused(model)).toContain('it has a tensor encoder/layer_norm/gammb');
  });

  it('is refused without its tokenizer', async () => {
    await rm(join(input, 'tokenizer.json'));
    expect(await refused(model)).toContain('The file tokenizer.json cannot be converted: it is missing');
  });
});
