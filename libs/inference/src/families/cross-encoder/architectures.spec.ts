import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  architecturesWithIndexers,
  architecturesWithSharedKeys,
  architecturesWithStates,
  convertArchitecture,
  knownTexts,
  tinyArchitectures,
} from '#test/tiny-architectures';
import { CrossEncoder } from '../../reranking/index.js';
import { openGraph } from '../../runtime/open-graph.js';

/*
 * Every architecture of decoders as a reranker: its score is the difference of two logits, which are known from the
 * Python reference of the text models (`tools/reference/tiny_decoders.py`).
 */

const stateful = 'whose layers keep a state; it can only write text here';
const choosing = 'whose layers attend to chosen positions; it can only write text here';
const sharing = 'whose layers share keys and values; it can only write text here';
/** Reasons to refuse models that the graph of whole texts does not compute. */
const refused: Readonly<Record<string, string>> = {
  gemma2: 'its output layer has a cap or a bias',
  ...Object.fromEntries(architecturesWithSharedKeys.map((name) => [name, sharing])),
  ...Object.fromEntries(architecturesWithIndexers.map((name) => [name, choosing])),
  'gpt-oss': 'whose layers attend to sinks; it can only write text here',
  ...Object.fromEntries(architecturesWithStates.map((name) => [name, stateful])),
};
const [trueToken, falseToken] = [5, 9] as const;
/** Largest error of the difference of two logits, each of which may be off by 1e-4. */
const tolerance = 2e-4;

let home = '';
beforeAll(async () => void (home = await mkdtemp(join(tmpdir(), 'reranking-architectures-'))));
afterAll(() => rm(home, { recursive: true, force: true }));

async function convert(name: string): Promise<string> {
  const format = { weights: 'float32', purpose: 'rerank', trueToken, falseToken };
  return join(await convertArchitecture(name, join(home, name), format), 'model.onnx');
}

describe('a decoder as a reranker', () => {
  it.each(tinyArchitectures.filter((name) => !Object.hasOwn(refused, name)))(
    'scores texts in a batch by the logits of the reference: %s',
    async (name) => {
      const texts = knownTexts(name);
      const session = await openGraph({ modelPath: await convert(name), providers: ['cpu'], intraOpThreads: 1 });
      try {
        const rows = texts.map(({ promptIds }) => ({ ids: Int32Array.from(promptIds) }));
        const scores = await new CrossEncoder(session, 0).encode(rows);
        expect(scores).toHaveLength(texts.length);
        texts.forEach(({ first }, index) => {
          const wanted = (first[trueToken] ?? NaN) - (first[falseToken] ?? NaN);
          expect(Math.abs((scores[index]?.[0] ?? NaN) - wanted)).toBeLessThan(tolerance);
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
