import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { copyTinyAdapter, editTensorList } from '#test/tiny-adapters';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { addAdapters } from '../adapter/index.js';
import { convertModel } from './index.js';

let root = '';
let baseFolder = '';
let inputFolder = '';
let outputFolder = '';
let count = 0;

async function convertBase(layout: 'split' | 'concat', name = 'llama'): Promise<string> {
  const [source, target] = [join(root, `${name}-${layout}-source`), join(root, `${name}-${layout}`)];
  for (const folder of [source, target]) await mkdir(folder);
  await copyTinyDecoder(name, source);
  await convertModel({ kind: 'safetensors', options: { layout }, inputFolder: source, outputFolder: target });
  return target;
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'lora-'));
  baseFolder = await convertBase('split');
}, 60_000);
afterAll(() => rm(root, { recursive: true, force: true }));

beforeEach(async () => {
  count += 1;
  [inputFolder, outputFolder] = [join(root, `in-${count}`), join(root, `out-${count}`)];
  await mkdir(inputFolder);
  await mkdir(outputFolder);
  await copyTinyAdapter('llama', 'all', inputFolder);
});

const convert = (options: { baseFolder?: string } = { baseFolder }) =>
  convertModel({ kind: 'lora', options: {}, inputFolder, outputFolder, ...options });

const weights = () => join(inputFolder, 'adapter_model.safetensors');
const query = 'base_model.model.model.layers.0.self_attn.q_proj';

async function configure(changes: Record<string, unknown>): Promise<void> {
  const path = join(inputFolder, 'adapter_config.json');
  const config = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
  await writeFile(path, JSON.stringify({ ...config, ...changes }));
}

async function rename(from: string, to: string): Promise<void> {
  await editTensorList(weights(), (entries) => {
    const entry = entries[from];
    if (!entry) throw new Error(`no ${from}`);
    delete entries[from];
    entries[to] = entry;
  });
}

async function expectRefusal(message: RegExp): Promise<void> {
  await expect(convert()).rejects.toMatchObject({ code: 'INVALID_MODEL', message: expect.stringMatching(message) });
  expect(await readdir(outputFolder)).toEqual([]);
}

describe('a LoRA adapter', () => {
  it('is installed as the matrices of its projections', async () => {
    expect(await convert()).toEqual({ converter: 'lora/1', files: ['adapter.bin', 'adapter.json'] });
    const { projections } = JSON.parse(await readFile(join(outputFolder, 'adapter.json'), 'utf8'));
    expect(projections).toHaveLength(14);
    expect(projections).toContainEqual({ name: 'layers.1.down', inputs: 48, outputs: 32, rank: 4 });
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['another method', { peft_type: 'IA3' }, /adapter_config\.json .*peft_type is "IA3"; only LORA/],
    ['another task', { task_type: 'SEQ_CLS' }, /task_type is "SEQ_CLS"/],
    ['DoRA', { use_dora: true }, /use_dora is set, and DoRA scales the weights/],
    ['whole modules', { modules_to_save: ['lm_head'] }, /modules_to_save is set, and it replaces whole modules/],
    ['biases', { bias: 'all' }, /bias is "all"/],
    ['biases of its matrices', { lora_bias: true }, /lora_bias is set/],
    ['a changed base', { init_lora_weights: 'pissa' }, /init_lora_weights is "pissa", which changes the weights/],
    ['no rank', { r: 0 }, /r is 0, not a number above 0/],
    ['no alpha', { lora_alpha: '8' }, /lora_alpha is "8", not a number/],
    ['another rank than its tensors', { r: 5 }, /lora_A\.weight has rank 4, and adapter_config\.json says 5/],
    ['an expression for ranks', { rank_pattern: { '(a+)+$': 4 } }, /rank_pattern has the expression "\(a\+\)\+\$"/],
  ])('with %s is refused', async (_name, changes, message) => {
    await configure(changes);
    await expectRefusal(message);
  });

  it('is refused for a base whose factors it would lack', async () => {
    const falcon = await convertBase('split', 'falcon-h1');
    await expect(convert({ baseFolder: falcon })).rejects.toThrow(
      /adapter_model\.safetensors .*its base is a FalconH1ForCausalLM, which takes no adapters here/,
    );
  });

  it.each<[string, string, RegExp]>([
    [
      'a module that the base lacks',
      `${query.replace('q_proj', 'w_proj')}.lora_A.weight`,
      /w_proj\.lora_A\.weight is of a module/,
    ],
    [
      'a layer that the base lacks',
      `${query.replace('.0.', '.7.')}.lora_A.weight`,
      /fits no linear layer: the base has no such layer/,
    ],
    ['an output layer', 'base_model.model.lm_head.lora_A.weight', /embeddings or output layer/],
    ['embeddings', 'base_model.model.model.embed_tokens.lora_embedding_A', /lora_embedding_A is of embeddings/],
    ['a scale of DoRA', `${query}.lora_magnitude_vector`, /lora_magnitude_vector is a scale of DoRA/],
    ['an unknown tensor', 'something', /its tensor something is no LoRA matrix/],
  ])('with %s is refused', async (_name, to, message) => {
    await rename(`${query}.lora_A.weight`, to);
    await expectRefusal(message);
  });

  it('with one matrix of a pair is refused', async () => {
    await editTensorList(weights(), (entries) => delete entries[`${query}.lora_B.weight`]);
    await expectRefusal(/it has no lora_B of model\.layers\.0\.self_attn\.q_proj/);
  });

  it('of a base with other sizes is refused', async () => {
    await editTensorList(weights(), (entries) => {
      const entry = entries[`${query}.lora_A.weight`];
      if (entry) entry.shape = [8, 16];
    });
    await expectRefusal(/q_proj\.lora_A\.weight is 8 × 16, and the base needs 8 × 32; it may be of another base/);
  });

  it('with a value that is no number is refused', async () => {
    const file = await readFile(weights());
    file.writeFloatLE(NaN, file.length - 4);
    await writeFile(weights(), file);
    await expectRefusal(/adapter_model\.safetensors cannot be converted: value \d+ of .* is NaN/);
  });

  it('that is cut short is refused', async () => {
    const file = await readFile(weights());
    await writeFile(weights(), file.subarray(0, file.length - 100));
    await expectRefusal(/is cut short/);
  });

  it('stored as a pickle is refused', async () => {
    await cp(weights(), join(inputFolder, 'adapter_model.bin'));
    await rm(weights());
    await expectRefusal(/adapter_model\.safetensors .*missing; save adapter_model\.bin again as safetensors/);
  });

  it('of a model that attends to latents is refused', async () => {
    const latents = await convertBase('split', 'deepseek-v3');
    await expect(convert({ baseFolder: latents })).rejects.toThrow('Adapters of DeepseekV3ForCausalLM are not served.');
  });

  it('of a model in another layout is refused', async () => {
    const concat = await convertBase('concat');
    await expect(convert({ baseFolder: concat })).rejects.toThrow(/model\.onnx .*layout `split`, which adapters need/);
    const empty = convert({ baseFolder: join(root, 'none') });
    await expect(empty).rejects.toThrow(
      /model\.onnx .*missing, and adapters need a base that a converter of Sluice wrote/,
    );
    await expect(convert({})).rejects.toMatchObject({ code: 'INVALID_MANIFEST' });
  });

  it('that does not fit a base installed later is left out, and the others are kept', async () => {
    await convert();
    const other = join(root, 'other');
    await cp(outputFolder, other, { recursive: true });
    const index = (await readFile(join(other, 'adapter.json'), 'utf8')).replace('layers.0.', 'layers.9.');
    await writeFile(join(other, 'adapter.json'), index);
    const adapted = await addAdapters({ directory: baseFolder, graphFile: 'model.onnx' }, [
      { modelId: 'other', directory: other },
      { modelId: 'own', directory: outputFolder },
      { modelId: 'absent', directory: join(root, 'absent') },
    ]);
    expect([...adapted.adapters]).toEqual([['own', 1]]);
    expect(adapted.refused).toMatchObject([
      { modelId: 'other', reason: expect.stringMatching(/layers\.9\.\w+ does not fit the base/) },
      { modelId: 'absent' },
    ]);
  });
});
