import { join } from 'node:path';
import { errorText } from '#common/values';
import { cutWindows, openDecoder, openGraph, TextTokenizer, tokenLosses } from '#inference';
import type { PerplexityTask, PerplexityAnswer } from './measure-losses.js';

/* Runs as a separate process: the command line does not load the runtime, and the memory is freed with it. */

async function measure({
  folder,
  graphFile,
  text,
  sizes,
  threads,
  provider,
}: PerplexityTask): Promise<PerplexityAnswer> {
  const tokenizer = await TextTokenizer.load(folder);
  const tokens = tokenizer.encodePrompt(text);
  const windows = cutWindows(tokens, sizes);
  if (windows.length === 0) {
    return { error: `The text has ${tokens.length} tokens; a window has ${sizes.window}.` };
  }
  const modelPath = join(folder, graphFile);
  const session = await openGraph({ modelPath, providers: [provider], intraOpThreads: threads });
  const decoder = openDecoder(session, { slots: sizes.rows });
  try {
    const losses = await tokenLosses(decoder, windows, sizes);
    return { tokens: [...tokens], losses: [...losses], provider: session.provider };
  } finally {
    await decoder.close();
  }
}

process.once('message', (task: PerplexityTask) => {
  measure(task).then(
    (answer) => process.send?.(answer, () => process.exit(0)),
    (error: unknown) => {
      const answer: PerplexityAnswer = { error: errorText(error) };
      process.send?.(answer, () => process.exit(0));
    },
  );
});
