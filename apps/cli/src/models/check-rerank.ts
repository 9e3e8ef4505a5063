import type { HostSupervisor } from '#inference/host';
import { type RerankInput, type RerankOutput, type RerankPart, rerankTask } from '#inference/tasks';
import type { InstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { type CheckOptions, describeLoad, type LoadFacts, loadFacts, timeTask, withCheckHost } from './check-host.js';

/** Result of scoring known documents. */
interface RerankCheck extends LoadFacts {
  tokensPerSecond: number;
  /** Scores of a document that answers the query and of one that does not. */
  scores: { relevant: number; irrelevant: number };
}

const query = 'How many people live in Berlin?';
const relevant = 'Berlin has about 3.7 million inhabitants.';
const irrelevant = 'A man is eating a piece of bread.';
/** Enough documents for several full batches. */
const copies = 64;

/** Scores documents of known relevance and measures the speed. */
export async function checkRerank(context: CliContext, model: InstalledModel, options: CheckOptions): Promise<void> {
  const { signal, output } = context;
  const check = await withCheckHost(model, { options, signal }, (host) => run(host, signal));
  const { id } = model.manifest;
  if (options.json) return output.json({ id, ...check });
  output.line(describeLoad(id, check));
  output.line(`${Math.round(check.tokensPerSecond)} tokens/s`);
  output.line(`score for "${query}"`);
  output.line(`  ${check.scores.relevant.toFixed(3)} of "${relevant}"`);
  output.line(`  ${check.scores.irrelevant.toFixed(3)} of "${irrelevant}"`);
}

async function run(host: HostSupervisor, signal: AbortSignal): Promise<RerankCheck> {
  const documents = Array.from({ length: copies }, () => [relevant, irrelevant]).flat();
  const input: RerankInput = { query, documents, maxTokensPerDocument: null };
  const scores: number[] = [];
  const { output, seconds } = await timeTask(
    host,
    { task: rerankTask, input },
    { signal, onPart: (part) => take(scores, part as RerankPart) },
  );
  const [first = 0, second = 0] = scores;
  return {
    ...loadFacts(host),
    tokensPerSecond: (output as RerankOutput).tokens / seconds,
    scores: { relevant: first, irrelevant: second },
  };
}

function take(taken: number[], { indexes, scores }: RerankPart): void {
  for (const [row, index] of indexes.entries()) taken[index] = scores[row] ?? 0;
}
