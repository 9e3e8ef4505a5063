import type { HostSupervisor } from '#inference/host';
import { type EmbeddingInput, type EmbeddingOutput, type EmbeddingPart, embeddingTask } from '#inference/tasks';
import type { InstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { type CheckOptions, describeLoad, type LoadFacts, loadFacts, timeTask, withCheckHost } from './check-host.js';

/** Result of embedding known sentences. */
interface EmbeddingCheck extends LoadFacts {
  dimensions: number;
  tokensPerSecond: number;
  /** Cosines of two sentences with the same meaning and of two unrelated ones. */
  cosines: { similar: number; dissimilar: number };
}

const sentence = 'A man is eating a piece of bread.';
const similar = 'Someone eats some bread.';
const dissimilar = 'The parliament voted on the budget.';
/** Enough texts for several full batches. */
const copies = 64;

/** Embeds sentences of known similarity and measures the speed. */
export async function checkEmbedding(context: CliContext, model: InstalledModel, options: CheckOptions): Promise<void> {
  const { signal, output } = context;
  const check = await withCheckHost(model, { options, signal }, (host) => run(host, signal));
  const { id } = model.manifest;
  if (options.json) return output.json({ id, ...check });
  output.line(describeLoad(id, check));
  output.line(`${check.dimensions} dimensions, ${Math.round(check.tokensPerSecond)} tokens/s`);
  output.line(`cosine of "${sentence}"`);
  output.line(`  ${check.cosines.similar.toFixed(3)} with "${similar}"`);
  output.line(`  ${check.cosines.dissimilar.toFixed(3)} with "${dissimilar}"`);
}

async function run(host: HostSupervisor, signal: AbortSignal): Promise<EmbeddingCheck> {
  const texts = Array.from({ length: copies }, () => [sentence, similar, dissimilar]).flat();
  const input: EmbeddingInput = { texts, dimensions: null };
  const vectors: Float32Array[] = [];
  const { output, seconds } = await timeTask(
    host,
    { task: embeddingTask, input },
    { signal, onPart: (part) => take(vectors, part as EmbeddingPart) },
  );
  const [first, second, third] = vectors;
  return {
    ...loadFacts(host),
    dimensions: first?.length ?? 0,
    tokensPerSecond: (output as EmbeddingOutput).tokens / seconds,
    cosines: { similar: cosine(first, second), dissimilar: cosine(first, third) },
  };
}

function take(vectors: Float32Array[], part: EmbeddingPart): void {
  for (const [row, index] of part.indexes.entries()) {
    vectors[index] = part.vectors.slice(row * part.dimensions, (row + 1) * part.dimensions);
  }
}

function cosine(left: Float32Array = new Float32Array(), right: Float32Array = new Float32Array()): number {
  const product = left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
  return product / (Math.hypot(...left) * Math.hypot(...right));
}
