import { readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertModel } from '#model-store';
import { openGraph } from '../../runtime/open-graph.js';

/*
 * Every architecture of decoders as a reranker: its score is the difference of two logits, which are known from the Python
 * reference of the text models (`tools/reference/tiny_decoders.py`).
 */

interface KnownModel {
  /** Of the conversion; absent: the file's. */
  contextLength?: number;
  file: string;
  texts: { promptIds: number[]; first: number[] }[];
}

const fixtures = new URL('../decoder/__fixtures__/architectures/', import.meta.url);
const models = JSON.parse(readFileSync(new URL('expected.json', fixtures), 'utf8')) as Record<string, KnownModel>;
/** What the graph of whole texts does not compute. */
const refused: Readonly<Record<string, string>> = {
  gemma2: 'its output layer has a cap or a bias',
  'gpt-oss': 'whose layers attend to sinks; it can only write text here',
  lfm2: 'whose layers keep a state; it can only write text here',
  qwen35: 'whose layers keep a state; it can only write text here',
  'qwen35-moe': 'whose layers keep a state; it can only write text here',
};
const [trueToken, falseToken] = [5, 9] as const;
/** Of the difference of two logits, each of which may be off by 1e-4. */
const tolerance = 2e-4;

let home = '';
beforeAll(async () => void (home = await mkdtemp(join(tmpdir(), 'reranking-architectures-'))));
afterAll(() => rm(home, { recursive: true, force: true }));

async function convert(name: string): Promise<string> {
  const { file, contextLength } = models[name] as KnownModel;
  const [inputFolder, outputFolder] = [join(home, `${name}-source`), join(home, name)];
  for (const path of [inputFolder, outputFolder]) await mkdir(path);
  await copyFile(new URL(`${file}.gguf`, fixtures), join(inputFolder, 'tiny.gguf'));
  const compared = { weights: 'float32', purpose: 'rerank', trueToken, falseToken };
  const options = { ...compared, ...(contextLength !== undefined && { contextLength }) };
  await convertModel({ kind: 'gguf', inputFolder, outputFolder, options });
  return join(outputFolder, 'model.onnx');
}

describe('a decoder as a reranker', () => {
  it.each(Object.keys(models).filter((name) => !Object.hasOwn(refused, name)))(
    'scores texts in a batch by the logits of the reference: %s',
    async (name) => {
      const texts = (models[name] as KnownModel).texts;
      const length = Math.max(...texts.map(({ promptIds }) => promptIds.length));
      const rows = (values: (text: (typeof texts)[number]) => number[]) =>
        BigInt64Array.from(
          texts.flatMap((text) => Array.from({ length }, (_, index) => BigInt(values(text)[index] ?? 0))),
        );
      const session = await openGraph({ modelPath: await convert(name), providers: ['cpu'], intraOpThreads: 1 });
      try {
        const dimensions = [texts.length, length];
        const feeds = {
          input_ids: session.tensor(
            'int64',
            rows(({ promptIds }) => promptIds),
            dimensions,
          ),
          attention_mask: session.tensor(
            'int64',
            rows(({ promptIds }) => promptIds.map(() => 1)),
            dimensions,
          ),
        };
        const fetched = await session.run(feeds, ['logits']);
        const scores = Array.from(fetched['logits']?.data as Float32Array);
        expect(scores).toHaveLength(texts.length);
        texts.forEach(({ first }, index) => {
          const wanted = (first[trueToken] ?? NaN) - (first[falseToken] ?? NaN);
          expect(Math.abs((scores[index] ?? NaN) - wanted)).toBeLessThan(tolerance);
        });
      } finally {
        await session.release();
      }
    },
  );

  it.each(Object.entries(refused))('is refused where its score is not computed: %s', async (name, reason) => {
    await expect(convert(name)).rejects.toThrow(reason);
  });
});
