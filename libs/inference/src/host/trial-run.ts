import { PlatformError } from '#common';
import type { EngineEvent } from '../contract/engine.js';
import type { WarmUp } from '../contract/engine-loader.js';
import type { GeneratedTokenLogprob } from '../contract/text-generation.js';
import { describeDifference, exact, type TrialResult, type TrialToken } from './result-difference.js';

/** A trial on one provider. */
export interface TrialMeasure {
  /** The one that was used. */
  provider: string;
  /** The shortest run after the first one, which compiles and allocates. */
  ms: number;
  result: TrialResult;
  /** False for models that draw random numbers: their results cannot be compared. */
  isRepeatable: boolean;
}

/** Runs after the first one, as many as fit in the time. */
const maxTimedRuns = 3;
const timedRunsMs = 5_000;

/** Measures a short run of a loaded model. Rejects with the failure of a run. */
export async function measureTrial(
  trial: WarmUp,
  { provider, run }: { provider: string; run: (request: WarmUp) => Promise<readonly EngineEvent[]> },
): Promise<TrialMeasure> {
  const result = resultOf(await run(trial));
  const startedAtMs = performance.now();
  let ms = Infinity;
  let isRepeatable = true;
  for (let runs = 0; runs < maxTimedRuns && (runs === 0 || performance.now() - startedAtMs < timedRunsMs); runs += 1) {
    const runStartedAtMs = performance.now();
    const events = await run(trial);
    ms = Math.min(ms, performance.now() - runStartedAtMs);
    isRepeatable &&= describeDifference(result, resultOf(events), exact) === null;
  }
  return { provider, ms, result, isRepeatable };
}

/** Collects what the events of a run have delivered. Throws their failure. */
export function resultOf(events: readonly EngineEvent[]): TrialResult {
  const result: TrialResult = { tokens: [], values: [] };
  for (const event of events) {
    if (event.type === 'failed') throw PlatformError.fromWire(event.error);
    if (event.type === 'text-delta') result.tokens.push(...(event.logprobs ?? []).map(trialToken));
    if (event.type === 'task-part') result.values.push(event.part);
    if (event.type === 'task-finished') result.values.push(event.output);
  }
  return result;
}

function trialToken({ token, logprob, topLogprobs }: GeneratedTokenLogprob): TrialToken {
  return {
    token,
    logprob,
    top: Object.fromEntries(topLogprobs.map((alternative) => [alternative.token, alternative.logprob])),
  };
}
