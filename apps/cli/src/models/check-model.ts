import { availableParallelism } from 'node:os';
import { PlatformError } from '#common';
import { forkHost, type HostLoadOptions, HostSupervisor, type TextGenerationRequest } from '#inference/host';
import type { InstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { findKnownModel } from './known-models.js';

export interface CheckOptions {
  prompt: string;
  maxTokens: string;
  threads?: string;
  provider: string;
  json?: boolean;
}

/** What a run of one prompt showed. */
interface CheckResult {
  id: string;
  provider: string;
  loadMs: number;
  promptTokens: number;
  completionTokens: number;
  firstTokenMs: number;
  /** Between the first token and the last. */
  tokensPerSecond: number;
  text: string;
}

/** Loads an installed model as a worker would, in a host of its own, and runs one prompt. */
export async function checkModel(context: CliContext, name: string, options: CheckOptions): Promise<void> {
  const { manifest, installed } = await findKnownModel(context, name);
  if (!installed) {
    const message = `${manifest.id} is not installed. Install it with: sluice models pull ${manifest.id}`;
    throw new PlatformError('MODEL_NOT_FOUND', message);
  }
  if (manifest.type !== 'text') throw new PlatformError('INVALID_MODEL', 'Only text models can be checked.');
  const onText = options.json ? () => undefined : (text: string) => context.output.write(text);
  const result = await runCheck(installed, options, context.signal, onText);
  if (options.json) return context.output.json(result);
  context.output.line('\n');
  context.output.line(`${result.id} on ${result.provider}, loaded in ${Math.round(result.loadMs)} ms`);
  context.output.line(`first token after ${Math.round(result.firstTokenMs)} ms (${result.promptTokens} prompt tokens)`);
  context.output.line(`${result.completionTokens} tokens at ${result.tokensPerSecond.toFixed(1)} tokens/s`);
}

async function runCheck(
  model: InstalledModel,
  options: CheckOptions,
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<CheckResult> {
  const load = loadOptions(model, options);
  const host = new HostSupervisor({ load, launch: forkHost() });
  try {
    await whenReady(host, signal);
    const startMs = performance.now();
    let firstMs: number | null = null;
    let text = '';
    const { usage } = await host.run(requestOf(model, options), {
      signal,
      onEvents: (events) => {
        for (const event of events) {
          if (event.type !== 'text-delta') continue;
          firstMs ??= performance.now();
          text += event.text;
          onText(event.text);
        }
      },
    });
    const endMs = performance.now();
    const decodeMs = endMs - (firstMs ?? startMs);
    return {
      id: load.modelId,
      provider: host.report?.provider ?? options.provider,
      loadMs: host.report?.loadMs ?? 0,
      promptTokens: usage.promptTokens,
      completionTokens: usage.completionTokens,
      firstTokenMs: (firstMs ?? endMs) - startMs,
      tokensPerSecond: decodeMs > 0 ? (Math.max(usage.completionTokens - 1, 0) * 1_000) / decodeMs : 0,
      text,
    };
  } finally {
    await host.drain(0);
  }
}

/** A model that cannot load never gets better by trying again here: the first reason is the answer. */
function whenReady(host: HostSupervisor, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    host.onChange(({ state, reason }) => {
      if (state === 'ready') resolve();
      if (state === 'restarting' || state === 'gone') {
        reject(new PlatformError('INFERENCE_FAILED', `The model does not load: ${reason?.split(';')[0] ?? state}.`));
      }
    });
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    host.start();
  });
}

function loadOptions({ manifest, folder }: InstalledModel, options: CheckOptions): HostLoadOptions {
  const contextLength = manifest.contextLength ?? 2_048;
  return {
    modelId: manifest.id,
    directory: folder,
    graphFile: manifest.graphFile,
    family: manifest.family,
    familyOptions: manifest.familyOptions ?? {},
    providers: options.provider === 'cpu' ? ['cpu'] : [options.provider, 'cpu'],
    intraOpThreads: options.threads === undefined ? availableParallelism() : wholeNumber(options.threads, '--threads'),
    slots: 1,
    contextLength,
    cacheTokens: contextLength,
  };
}

/** Instruction models get a conversation, models without a chat template a text to continue: the host decides. */
function requestOf({ manifest }: InstalledModel, options: CheckOptions): TextGenerationRequest {
  return {
    id: `check-${manifest.id}`,
    prompt: { messages: [{ role: 'user', content: options.prompt }] },
    n: 1,
    sampling: { temperature: 0 },
    maxTokens: wholeNumber(options.maxTokens, '--max-tokens'),
    stop: [],
    stopTokenIds: [],
    topLogprobs: null,
  };
}

function wholeNumber(text: string, option: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new PlatformError('INVALID_REQUEST', `${option} must be a whole number, 1 or more.`);
  }
  return value;
}
