import { PlatformError } from '#common';
import {
  forkHost,
  hostLoadOptions,
  type HostLoadOptions,
  HostSupervisor,
  type TaskOptions,
  type TaskRequest,
} from '#inference/host';
import type { InstalledModel } from '#model-store';
import { environmentWithoutSecrets } from '#platform/config';
import { availableProcessors } from '#platform/process';

/** An adapter is loaded with its base. */
export type CheckedModel = InstalledModel & { base?: InstalledModel };

/** How to load the model for a check. */
export interface CheckHostOptions {
  threads?: string;
  provider: string;
}

/** Options as given on the command line. */
export interface CheckOptions extends CheckHostOptions {
  prompt: string;
  maxTokens: string;
  /** Path of the output image; default: named after the model, in the current folder. */
  output?: string;
  /** Path of a recording, for transcription models. */
  audio?: string;
  /** Path of an image, for models that read images. */
  image?: string;
  /** Measures the perplexity instead, on this text, and against another installed model. */
  perplexity?: boolean;
  text?: string;
  beside?: string;
  json?: boolean;
}

/** Runs `work` on a model in a host process of its own, loaded as in a worker. The host ends afterwards. */
export async function withCheckHost<Result>(
  model: CheckedModel,
  { options, signal }: { options: CheckHostOptions; signal: AbortSignal },
  work: (host: HostSupervisor) => Promise<Result>,
): Promise<Result> {
  const host = new HostSupervisor({
    load: loadOptions(model, options),
    launch: forkHost({ env: () => environmentWithoutSecrets() }),
  });
  try {
    await whenReady(host, signal);
    const [refused] = host.report?.adapters.refused ?? [];
    if (refused !== undefined) throw new PlatformError('INVALID_MODEL', refused.reason);
    return await work(host);
  } finally {
    await host.drain(0);
  }
}

/** How a model was loaded for a check. */
export interface LoadFacts {
  provider: string;
  /** Why the model runs slower than possible; null when it does not. */
  note: string | null;
  loadMs: number;
}

export function loadFacts({ report }: HostSupervisor): LoadFacts {
  const { provider = 'cpu', providerNote: note = null, loadMs = 0 } = report ?? {};
  return { provider, note, loadMs };
}

export function describeLoad(id: string, { provider, note, loadMs }: LoadFacts): string {
  return `${id} on ${provider}${note === null ? '' : ` (${note})`}, loaded in ${Math.round(loadMs)} ms`;
}

/** Runs one task, and returns its output with the seconds that it took. Throws `JOB_CANCELLED` if it was interrupted. */
export async function timeTask(
  host: HostSupervisor,
  request: Pick<TaskRequest, 'task' | 'input'>,
  options: TaskOptions,
): Promise<{ output: object; seconds: number }> {
  const startMs = performance.now();
  const { cancelled, output } = await host.runTask({ id: 'check', ...request }, options);
  const seconds = (performance.now() - startMs) / 1_000;
  if (cancelled || output === null) throw new PlatformError('JOB_CANCELLED', 'The check was interrupted.');
  return { output, seconds };
}

/** Throws `INVALID_REQUEST` naming the option. */
export function wholeNumber(text: string, option: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new PlatformError('INVALID_REQUEST', `${option} must be a whole number, 1 or more.`);
  }
  return value;
}

/** Reports the first load error. Retrying would not help here. */
function whenReady(host: HostSupervisor, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    host.onChange(({ state }) => {
      if (state === 'ready') resolve();
      if (state === 'restarting' || state === 'gone') {
        reject(new PlatformError('INFERENCE_FAILED', `The model does not load: ${host.loadFailure ?? state}.`));
      }
    });
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    host.start();
  });
}

/** One sequence and a KV cache for it only. */
function loadOptions(model: CheckedModel, { provider, threads }: CheckHostOptions): HostLoadOptions {
  const checked = { manifest: model.manifest, directory: model.folder };
  const { base } = model;
  const load = hostLoadOptions(
    base === undefined ? checked : { manifest: base.manifest, directory: base.folder, adapters: [checked] },
    {
      providers: [provider],
      threads: threads === undefined ? availableProcessors() : wholeNumber(threads, '--threads'),
      slots: 1,
    },
  );
  return { ...load, cacheTokens: load.contextLength };
}
