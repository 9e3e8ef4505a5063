import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { PlatformError } from '#common';
import type { HostSupervisor, TextGenerationRequest } from '#inference/host';
import { decodeImage } from '#media';
import type { InstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { type CheckedModel, type CheckOptions, wholeNumber, withCheckHost } from './check-host.js';

const sameInBatch = 'A text is the same alone and in any batch on this processor.';
const differsInBatch =
  'Logits of a lone text and of one in a batch differ in their last bits on this processor: a near tie can resolve differently.';

type PromptImage = NonNullable<Extract<TextGenerationRequest['prompt'], { messages: unknown }>['images']>[number];

/** Result of one prompt. */
interface CheckResult {
  id: string;
  provider: string;
  loadMs: number;
  /** Whether the text is the same alone and in any batch on this processor, bit by bit; null: not known. */
  batchInvariant: boolean | null;
  promptTokens: number;
  completionTokens: number;
  firstTokenMs: number;
  /** Tokens per second between the first and the last piece of text; null if all came in one. */
  tokensPerSecond: number | null;
  text: string;
}

/** Runs one prompt and measures the speed. */
export async function checkText(context: CliContext, model: CheckedModel, options: CheckOptions): Promise<void> {
  const { signal, output } = context;
  const onText = options.json ? () => undefined : (text: string) => output.write(text);
  const image = options.image === undefined ? null : await readImage(options.image);
  const request = requestOf(model, options, image);
  const result = await withCheckHost(model, { options, signal }, (host) =>
    measureText(host, { request, signal, onText }),
  );
  if (options.json) return output.json({ id: model.manifest.id, ...result });
  output.line('\n');
  output.line(`${model.manifest.id} on ${result.provider}, loaded in ${Math.round(result.loadMs)} ms`);
  output.line(`first token after ${Math.round(result.firstTokenMs)} ms (${result.promptTokens} prompt tokens)`);
  const speed = result.tokensPerSecond === null ? '' : ` at ${result.tokensPerSecond.toFixed(1)} tokens/s`;
  output.line(`${result.completionTokens} tokens${speed}`);
  if (result.batchInvariant === null) return;
  output.line(result.batchInvariant ? sameInBatch : differsInBatch);
}

/** Runs one prompt on a loaded model. */
export async function measureText(
  host: Pick<HostSupervisor, 'report' | 'run'>,
  options: { request: TextGenerationRequest; signal: AbortSignal; onText: (text: string) => void },
): Promise<Omit<CheckResult, 'id'>> {
  const startMs = performance.now();
  let firstMs: number | null = null;
  let lastMs = startMs;
  let text = '';
  const { usage } = await host.run(options.request, {
    signal: options.signal,
    onEvents: (events) => {
      // Pieces that arrive together have one time, or two of them would look like thousands of tokens per second.
      const nowMs = performance.now();
      for (const event of events) {
        if (event.type !== 'text-delta') continue;
        lastMs = nowMs;
        firstMs ??= nowMs;
        text += event.text;
        options.onText(event.text);
      }
    },
  });
  const decodeMs = lastMs - (firstMs ?? lastMs);
  return {
    provider: host.report?.provider ?? 'cpu',
    loadMs: host.report?.loadMs ?? 0,
    batchInvariant: host.report?.batchInvariant ?? null,
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    firstTokenMs: (firstMs ?? performance.now()) - startMs,
    tokensPerSecond: decodeMs > 0 ? ((usage.completionTokens - 1) * 1_000) / decodeMs : null,
    text,
  };
}

/** An image in front of the prompt. Throws what is wrong with it. */
async function readImage(path: string): Promise<PromptImage> {
  const bytes = await readFile(path).catch((error: Error) => {
    throw new PlatformError('INVALID_REQUEST', `--image cannot be read: ${error.message}.`, undefined, error);
  });
  const { width, height, data } = await decodeImage(bytes, { channels: 3, param: '--image' });
  const hash = createHash('sha256').update(bytes).digest('hex');
  return { pixels: { width, height, data }, hash, param: '--image' };
}

/** Instruction models get a conversation, models without a chat template a text to complete. The host decides. */
function requestOf(
  { manifest }: InstalledModel,
  options: CheckOptions,
  image: PromptImage | null,
): TextGenerationRequest {
  const message = { role: 'user', content: options.prompt, ...(image && { imagePositions: [0] }) };
  return {
    id: `check-${manifest.id}`,
    ...(manifest.adapterOf !== undefined && { adapter: manifest.id }),
    prompt: { messages: [message], ...(image && { images: [image] }) },
    n: 1,
    sampling: { temperature: 0 },
    maxTokens: wholeNumber(options.maxTokens, '--max-tokens'),
    stop: [],
    stopTokenIds: [],
    topLogprobs: null,
  };
}
