import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PlatformError } from '#common';
import type { InstalledModel } from '#model-store';

/** What the child measures. */
export interface PerplexityTask {
  folder: string;
  graphFile: string;
  text: string;
  sizes: { window: number; warmup: number; rows: number };
  threads: number;
  provider: string;
}

export type PerplexityAnswer = { error: string } | { tokens: number[]; losses: number[]; provider: string };

export interface MeasuredLosses {
  /** Of the text, to compare tokenizers. */
  tokens: number[];
  /** Negative natural-log probability of each scored token. */
  losses: Float64Array;
  provider: string;
}

const childModule = fileURLToPath(new URL('./perplexity.child.js', import.meta.url));

/** Scores a text with an installed decoder in a process of its own. Ends with the command. */
export async function measureLosses(
  { manifest, folder }: InstalledModel,
  { signal, ...task }: Omit<PerplexityTask, 'folder' | 'graphFile'> & { signal: AbortSignal },
): Promise<MeasuredLosses> {
  const answer = await new Promise<PerplexityAnswer>((resolve, reject) => {
    const child = fork(childModule, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], signal, killSignal: 'SIGKILL' });
    child.once('message', (message) => resolve(message as PerplexityAnswer));
    child.once('error', reject);
    child.once('exit', (code, ended) => resolve({ error: `its process ended with ${ended ?? `code ${code}`}` }));
    child.send({ ...task, folder, graphFile: manifest.graphFile } satisfies PerplexityTask);
  });
  if ('error' in answer) throw new PlatformError('INVALID_MODEL', `${manifest.id} was not measured: ${answer.error}`);
  return { ...answer, losses: Float64Array.from(answer.losses) };
}
