import { errorText } from '#common/values';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import type { HostLauncher, HostProcess } from '../host/host-process.js';
import type { HostMessage } from '../host/host-protocol.js';
import { describeDifference, isEmpty, toleranceOf } from '../host/result-difference.js';
import type { TrialMeasure } from '../host/trial-run.js';
import type { TrialRecord } from './trial-store.js';

/** A model on one provider: its measure, null if its family has no short run, or why it does not run there. */
export type Attempt =
  | { measure: TrialMeasure | null }
  | {
      failure: string;
      /** False when the process was ended from outside, as for memory: another attempt may go well. */
      isLasting: boolean;
    };

const interrupted: Attempt = { failure: 'its trial was interrupted', isLasting: false };

/** Loading and compiling on a device; the processor is given the same time. */
const attemptTimeoutMs = 240_000;

/** Signals by which a process ends itself: the driver or the runtime broke. */
const crash = /signal SIG(SEGV|ABRT|BUS|ILL|FPE)/;

/** Reasons that an operator removes by an installation: another attempt may go well. */
const installation = /libraries are not installed|not part of this build|no device was found/;

/** True if a host that ended in this way is broken where it ran. */
export function isCrash(reason: string): boolean {
  return crash.test(reason);
}

/** Loads a model on one provider in a process of its own and measures its short run. Never rejects. */
export async function attemptOn(
  provider: string,
  { launch, load, signal, timeoutMs = attemptTimeoutMs }: AttemptOptions,
): Promise<Attempt> {
  if (signal.aborted) return interrupted;
  // Neither changes where the model runs.
  const { adapters: _adapters, tee: _tee, ...model } = load;
  const options: HostLoadOptions = {
    ...model,
    providers: [provider],
    slots: 1,
    spareSlots: 0,
    cacheTokens: load.contextLength,
  };
  let host: HostProcess | null = null;
  let timer: NodeJS.Timeout | null = null;
  try {
    const process = (host = launch(options));
    return await new Promise<Attempt>((resolve) => {
      const fail = (failure: string, isLasting: boolean) => resolve({ failure, isLasting });
      timer = setTimeout(() => fail(`its trial took longer than ${timeoutMs / 1_000} s`, true), timeoutMs);
      signal.addEventListener('abort', () => resolve(interrupted), { once: true });
      process.onExit((reason) => fail(`the process of its trial ended (${reason})`, isCrash(reason)));
      process.onMessage((message) => accept(message, { process, resolve, fail }));
      process.send({ type: 'load', options });
    });
  } catch (error) {
    return { failure: errorText(error), isLasting: false };
  } finally {
    if (timer !== null) clearTimeout(timer);
    host?.kill();
  }
}

export interface AttemptOptions {
  launch: HostLauncher;
  load: HostLoadOptions;
  signal: AbortSignal;
  timeoutMs?: number;
}

interface Attempted {
  process: HostProcess;
  resolve: (attempt: Attempt) => void;
  fail: (failure: string, isLasting: boolean) => void;
}

function accept(message: HostMessage, { process, resolve, fail }: Attempted): void {
  switch (message.type) {
    case 'ready':
      return process.send({ type: 'try' });
    case 'tried':
      return resolve({ measure: message.measure });
    case 'load-failed':
    case 'try-failed':
      return fail(message.detail.replace(/\.$/, ''), !installation.test(message.detail));
    default:
      return;
  }
}

/** Compares two attempts. `reference` is that of the processor. */
export function recordOf(
  attempt: Attempt,
  reference: Attempt,
  quantization: HostLoadOptions['quantization'],
): Pick<TrialRecord, 'failure' | 'difference' | 'uncompared' | 'providerMs' | 'cpuMs'> {
  const nothing = { failure: null, difference: null, uncompared: null, providerMs: null, cpuMs: null };
  if ('failure' in attempt) return { ...nothing, failure: attempt.failure };
  const { measure } = attempt;
  if (measure === null) return { ...nothing, uncompared: 'models of its family have no short run' };
  const providerMs = measure.ms;
  if ('failure' in reference) {
    return { ...nothing, providerMs, uncompared: `the processor does not run it: ${reference.failure}` };
  }
  if (reference.measure === null) return { ...nothing, providerMs, uncompared: 'the processor has no short run of it' };
  const times = { providerMs, cpuMs: reference.measure.ms };
  if (!reference.measure.isRepeatable) {
    return { ...nothing, ...times, uncompared: 'its results differ from run to run on the processor, too' };
  }
  if (isEmpty(reference.measure.result))
    return { ...nothing, ...times, uncompared: 'its short run returns no numbers' };
  const tolerance = toleranceOf(quantization);
  return { ...nothing, ...times, difference: describeDifference(reference.measure.result, measure.result, tolerance) };
}
