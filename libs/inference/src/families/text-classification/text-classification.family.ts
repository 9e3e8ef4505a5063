import { join } from 'node:path';
import { PlatformError } from '#common';
import type { EngineLoader } from '../../contract/engine-loader.js';
import { type EmbeddingInput, type EmbeddingOutput, type EmbeddingPart, embeddingTask } from '../../embedding/index.js';
import { QueuedTaskEngine, type TaskContext } from '../../engines/queued-task.engine.js';
import { floatsOf, integerTensor } from '../../runtime/float-tensor.js';
import { openGraph } from '../../runtime/open-graph.js';
import { joinWindows, softmax, splitSegments, splitWindows } from './text-windows.js';
import { WordPieceTokenizer } from './word-piece-tokenizer.js';

const vocabularyFile = 'vocab.txt';
/** Tokens per run by default, special ones included. */
const defaultWindow = 256;
const specialTokens = 2;

/**
 * BERT encoders with a classification head. The vector of a text is the probability of each class, in the order of
 * `labels`. A long text is read in windows. Options: `labels`, `maxTokens`.
 */
export const loadTextClassificationFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, providers, intraOpThreads, familyOptions } = options;
  const { maxTokens = defaultWindow } = familyOptions;
  const isWindow = typeof maxTokens === 'number' && Number.isInteger(maxTokens) && maxTokens > specialTokens;
  if (!isWindow) throw new PlatformError('INVALID_MANIFEST', 'familyOptions.maxTokens must be a number above 2.');
  const tokenizer = await WordPieceTokenizer.load(join(directory, vocabularyFile));
  const session = await openGraph({ modelPath: join(directory, graphFile), providers, intraOpThreads });
  const output = session.outputs[0]?.name ?? 'logits';

  const probabilities = async (window: readonly number[], context: TaskContext): Promise<number[]> => {
    const ids = [tokenizer.start, ...window, tokenizer.end];
    const cells = (name: string): number[] => {
      if (name === 'input_ids') return ids;
      return ids.map(() => (name === 'attention_mask' ? 1 : 0));
    };
    const feeds = Object.fromEntries(
      session.inputs.map(({ name }) => {
        return [name, integerTensor(session, { input: name, data: cells(name), dims: [1, ids.length] })];
      }),
    );
    await context.yieldToEventLoop();
    const fetched = await context.measure(() => session.run(feeds, [output]));
    return softmax(floatsOf(fetched[output]));
  };

  const classify = async ({ texts }: EmbeddingInput, context: TaskContext): Promise<EmbeddingOutput> => {
    let tokens = 0;
    const found: number[][] = [];
    for (const text of texts) {
      const ids: number[] = [];
      for (const segment of splitSegments(text)) {
        await context.yieldToEventLoop();
        ids.push(...tokenizer.encode(segment));
      }
      const windows = splitWindows(ids, maxTokens - specialTokens);
      const ofWindows: number[][] = [];
      for (const window of windows) {
        ofWindows.push(await probabilities(window, context));
        tokens += window.length + specialTokens;
      }
      found.push(joinWindows(ofWindows));
    }
    const part: EmbeddingPart = {
      indexes: texts.map((_text, index) => index),
      dimensions: found[0]?.length ?? 0,
      vectors: Float32Array.from(found.flat()),
    };
    context.part(part);
    return { tokens };
  };

  const engine = new QueuedTaskEngine({
    handlers: { [embeddingTask]: classify },
    sink,
    onClose: () => session.release(),
  });
  const { provider, providerNote } = session;
  const warmUp = { task: embeddingTask, input: { texts: ['Hello.'], dimensions: null } };
  return { engine, provider, providerNote, slots: 1, warmUp };
};
