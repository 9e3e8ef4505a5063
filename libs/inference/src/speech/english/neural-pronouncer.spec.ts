import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { productOf } from '#common/values';
import { NeuralPronouncer } from './neural-pronouncer.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-neural-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const size = 4;
const phonemes = ['<pad>', '<unk>', '<s>', '</s>', 'AA1', 'B'];

/** Model whose output ignores the state: `favourite` always wins. */
async function modelThatSays(favourite: number): Promise<NeuralPronouncer> {
  const matrix = (shape: number[], fill = 0, set: Record<number, number> = {}) => {
    const values = new Float32Array(productOf(shape)).fill(fill);
    for (const [index, value] of Object.entries(set)) values[Number(index)] = value;
    return { shape, data: Buffer.from(values.buffer).toString('base64') };
  };
  const cell = (side: string) => ({
    [`${side}_w_ih`]: matrix([3 * size, size], 0.1),
    [`${side}_w_hh`]: matrix([3 * size, size], 0.1),
    [`${side}_b_ih`]: matrix([3 * size]),
    [`${side}_b_hh`]: matrix([3 * size]),
  });
  const stored = {
    graphemes: ['<pad>', '<unk>', '</s>', 'a', 'b'],
    phonemes,
    enc_emb: matrix([5, size], 0.5),
    dec_emb: matrix([phonemes.length, size], 0.5),
    ...cell('enc'),
    ...cell('dec'),
    fc_w: matrix([phonemes.length, size]),
    fc_b: matrix([phonemes.length], 0, { [favourite]: 1 }),
  };
  const path = join(folder, `${favourite}.json`);
  await writeFile(path, JSON.stringify(stored));
  return await NeuralPronouncer.load(path);
}

describe('NeuralPronouncer', () => {
  it('returns null for a word whose end it does not find', async () => {
    const model = await modelThatSays(phonemes.indexOf('B'));
    expect(model.guess('ab')).toBeNull();
  });

  it('returns null when it produces nothing, and for overlong words', async () => {
    const model = await modelThatSays(phonemes.indexOf('</s>'));
    expect(model.guess('ab')).toBeNull();
    expect(model.guess('a'.repeat(25))).toBeNull();
    expect(model.guess('')).toBeNull();
  });

  it('rejects a file of another layout', async () => {
    const path = join(folder, 'broken.json');
    await writeFile(path, '{"enc_emb":{"shape":[2,2],"data":""}}');
    await expect(NeuralPronouncer.load(path)).rejects.toMatchObject({ code: 'INVALID_MODEL' });
  });
});
