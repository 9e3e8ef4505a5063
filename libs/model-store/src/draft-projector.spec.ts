import { copyFile, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tinyVisionGgufFolder, tinyVisionGgufNames } from '#test/tiny-vision-models';
import { WeightsServer } from '#test/weights-server';
import { draftManifest } from './draft-manifest.js';
import { readDecoderSize } from './memory/index.js';
import { silentReporter } from './pull/progress.js';
import { pullModels } from './pull/pull-models.js';

let root: string;
let folder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'draft-projector-'));
  folder = join(root, 'models');
});
afterEach(() => rm(root, { recursive: true }));

const textFile = (name: string) => `Tiny-${name}-F16.gguf`;
const projectorOf = (name: string) => `mmproj-Tiny-${name}-F16.gguf`;
const copyPair = (name: string) => cp(tinyVisionGgufFolder(name), folder, { recursive: true });

/** Replaces a text in a file by one of the same length. */
async function patch(path: string, from: string, to: string): Promise<void> {
  const bytes = await readFile(path);
  bytes.write(to.padEnd(from.length), bytes.indexOf(from), 'latin1');
  await writeFile(path, bytes);
}

describe.each(tinyVisionGgufNames)('the draft of a GGUF file with its projector: %s', (name) => {
  beforeEach(() => copyPair(name));

  it.each([
    ['a folder', () => folder],
    ['a file', () => join(folder, textFile(name))],
  ])('finds the projector beside %s, and installs both', async (_, path) => {
    const { manifest, facts } = await draftManifest(`file:${path()}`, {});
    expect(manifest).toMatchObject({
      family: 'vision-language',
      converter: { kind: 'gguf', options: { weights: 'stored', projector: 'mmproj.gguf' } },
      familyOptions: { visionEncoder: 'vision_encoder.onnx', imageTokens: expect.any(Number) as number },
      capabilities: { supportsVision: true },
    });
    expect(manifest.sources[1]?.files).toMatchObject([{ path: projectorOf(name), as: 'mmproj.gguf' }]);
    expect(facts.summary).toContain(', reads images;');
    const home = join(root, 'home');
    const [result] = await pullModels({ home, manifests: [manifest], reporter: silentReporter, sources: {} });
    expect(result).toMatchObject({ status: 'installed' });
    const installed = join(home, 'models', manifest.id);
    expect(await readdir(installed)).toEqual(
      expect.arrayContaining(['preprocessor_config.json', 'vision_encoder.onnx']),
    );
    const size = await readDecoderSize(installed, manifest);
    const ratio = (size?.vision?.weightsBytes ?? 0) / (facts.decoder?.size.vision?.weightsBytes ?? 0);
    expect(Math.abs(ratio - 1)).toBeLessThan(0.02);
  });

  it('is a model of text if no projector is wanted', async () => {
    const { manifest } = await draftManifest(`file:${folder}`, {}, { projector: 'none' });
    expect(manifest).toMatchObject({ family: 'decoder', sources: [expect.anything()] });
    expect(manifest.converter.options).not.toHaveProperty('projector');
  });
});

describe('the projector of SmolVLM', () => {
  beforeEach(() => copyPair('smolvlm'));

  it.each([
    { says: 'how large an image becomes', renamed: 'preproc_image_size', splits: true, imageTokens: 94 },
    { says: 'nothing of it, so images are one tile', renamed: 'another_image_size', splits: false, imageTokens: 20 },
  ])('says $says', async ({ renamed, splits, imageTokens }) => {
    await patch(join(folder, projectorOf('smolvlm')), 'preproc_image_size', renamed);
    const { manifest } = await draftManifest(`file:${folder}`, {});
    expect(manifest.familyOptions).toMatchObject({ imageTokens, frameTokens: 19 });
    const home = join(root, 'home');
    await pullModels({ home, manifests: [manifest], reporter: silentReporter, sources: {} });
    const installed = await readFile(join(home, 'models', manifest.id, 'preprocessor_config.json'), 'utf8');
    expect(JSON.parse(installed)).toMatchObject({
      do_image_splitting: splits,
      size: { longest_edge: splits ? 336 : 672 },
      max_image_size: { longest_edge: 168 },
    });
  });

  it.each([
    [
      'without its scale',
      'projector.scale_factor',
      'projector.xxxxx_factor',
      /`clip\.vision\.projector\.scale_factor` is missing/,
    ],
    [
      'without the layer behind the encoder',
      'mm.model.fc.weight',
      'mm.model.fx.weight',
      /it has no tensor mm\.model\.fc\.weight/,
    ],
  ])('%s is refused by its name, and left aside if it was not named', async (_, from, to, reason) => {
    await patch(join(folder, projectorOf('smolvlm')), from, to);
    const named = draftManifest(`file:${folder}`, {}, { projector: projectorOf('smolvlm') });
    await expect(named).rejects.toMatchObject({
      message: expect.stringMatching(reason) as string,
      param: projectorOf('smolvlm'),
    });
    const { manifest, facts } = await draftManifest(`file:${folder}`, {});
    expect(manifest.family).toBe('decoder');
    expect(facts.ignored).toMatch(reason);
  });

  it('with a scale that does not divide its tiles is left aside', async () => {
    const path = join(folder, projectorOf('smolvlm'));
    const bytes = await readFile(path);
    const key = 'clip.vision.projector.scale_factor';
    // Behind a key are its type, then its value.
    bytes.writeUInt32LE(5, bytes.indexOf(key) + key.length + 4);
    await writeFile(path, bytes);
    const { manifest, facts } = await draftManifest(`file:${folder}`, {});
    expect(manifest.family).toBe('decoder');
    expect(facts.ignored).toMatch(/tiles of 12 by 12 patches do not fit its scale_factor 5/);
  });
});

describe('the projector of a GGUF file', () => {
  beforeEach(() => copyPair('qwen3-vl'));

  it('may be elsewhere', async () => {
    const elsewhere = join(root, 'mmproj-elsewhere.gguf');
    await copyFile(join(folder, projectorOf('qwen3-vl')), elsewhere);
    await rm(join(folder, projectorOf('qwen3-vl')));
    const { manifest } = await draftManifest(`file:${folder}`, {}, { projector: elsewhere });
    expect(manifest.sources[1]?.uri).toBe(`file:${elsewhere}`);
  });

  it('is not guessed beside a file among other models', async () => {
    await copyFile(join(folder, textFile('qwen3-vl')), join(folder, 'another.gguf'));
    const { manifest } = await draftManifest(`file:${join(folder, textFile('qwen3-vl'))}`, {});
    expect(manifest.family).toBe('decoder');
  });

  it.each([
    [
      'of another type',
      'qwen3vl_merger',
      'internvl',
      /clip\.projector_type` is internvl +; gemma3, idefics3, mlp, qwen2vl/,
    ],
    ['without a tensor', 'v.blk.1.ln1.bias', 'v.blk.1.xyz.bias', /it has no tensor v\.blk\.1\.ln1\.bias/],
  ])('%s is refused by name if it was named, and left aside with the reason otherwise', async (_, from, to, reason) => {
    await patch(join(folder, projectorOf('qwen3-vl')), from, to);
    const named = draftManifest(`file:${folder}`, {}, { projector: projectorOf('qwen3-vl') });
    await expect(named).rejects.toThrow(reason);
    const { manifest, facts } = await draftManifest(`file:${folder}`, {});
    expect(manifest.family).toBe('decoder');
    expect(facts.ignored).toMatch(reason);
  });

  it('of another decoder is refused', async () => {
    const projector = join(tinyVisionGgufFolder('gemma3'), projectorOf('gemma3'));
    const draft = draftManifest(`file:${folder}`, {}, { projector });
    await expect(draft).rejects.toThrow(/belongs to a model of the architecture gemma3, not qwen3vl/);
  });

  it('is for GGUF files only, and must exist', async () => {
    await expect(draftManifest(`file:${folder}`, {}, { projector: 'nothing.gguf' })).rejects.toThrow(/no file nothing/);
  });

  it('is found in a repository, of which the headers are read', async () => {
    const server = await WeightsServer.start();
    try {
      const names = await readdir(folder);
      const files = await Promise.all(names.map(async (each) => [each, await readFile(join(folder, each))] as const));
      const [first] = files.filter(([each]) => each.startsWith('mmproj'));
      const others = { 'mmproj-Tiny-BF16.gguf': first?.[1] ?? Buffer.alloc(0), 'README.md': Buffer.from('#') };
      server.addRepository('team/Tiny-GGUF', 'd'.repeat(40), { ...Object.fromEntries(files), ...others });
      const { manifest } = await draftManifest('hf:team/Tiny-GGUF', { hubEndpoint: server.url });
      expect(manifest.sources).toHaveLength(1);
      expect(manifest.sources[0]?.files).toMatchObject([
        { path: textFile('qwen3-vl') },
        { path: projectorOf('qwen3-vl'), as: 'mmproj.gguf' },
      ]);
      expect(manifest.family).toBe('vision-language');
    } finally {
      await server.close();
    }
  });
});
