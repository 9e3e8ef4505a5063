import type { Contender } from './contender.js';
import type { LoopLag, PlatformContender } from './platform.contender.js';
import { median } from '../report.js';
import { type RunSummary, type StreamTiming, summarizeRun } from './timing.js';
import type { BenchCase, BenchRequest, PrefixCase } from './workload.js';

/** Result of one contender in one case: the median of every figure over the repetitions. */
export interface CaseResult extends RunSummary {
  case: string;
  contender: string;
  repetitions: number;
  /** Resident memory of all its processes after the last repetition, in bytes. */
  residentBytes: number;
  lag: LoopLag | null;
}

export interface RunOptions {
  repetitions: number;
  /** Warm-up repetitions. */
  warmups: number;
  onProgress: (text: string) => void;
}

/**
 * Runs one case for all contenders, interleaved: each repetition gives every contender the same requests in turn.
 * Figures are medians over all runs. The first contender determines the output lengths, because it may reach the end of
 * a text; the others generate as many tokens per request.
 */
export async function runCase(
  { name, concurrency, requests, runsInARow }: BenchCase,
  contenders: readonly Contender[],
  { repetitions, warmups, onProgress }: RunOptions,
): Promise<CaseResult[]> {
  const summaries = new Map<Contender, RunSummary[]>(contenders.map((contender) => [contender, []]));
  const lags: LoopLag[] = [];
  for (let repetition = 0; repetition < warmups + repetitions; repetition++) {
    const plans = Array.from({ length: runsInARow }, (_, index) => requests(repetition * runsInARow + index));
    for (const contender of contenders) {
      await loopLagOf(contender);
      const runs: RunSummary[] = [];
      for (const [index, plan] of plans.entries()) {
        const timings = await contender.run({ requests: plan, concurrency });
        runs.push(summarizeRun(timings));
        if (contender === contenders[0]) plans[index] = withOutputsOf(plan, timings);
      }
      const lag = await loopLagOf(contender);
      if (repetition < warmups) continue;
      summaries.get(contender)?.push(...runs);
      if (lag) lags.push(lag);
      onProgress(`${name}: ${contender.name} ${medians(runs).tokensPerSecond.toFixed(1)} tokens/s`);
    }
  }
  return Promise.all(
    contenders.map(async (contender) => ({
      case: name,
      contender: contender.name,
      repetitions,
      ...medians(summaries.get(contender) ?? []),
      residentBytes: await contender.residentBytes(),
      lag: isPlatform(contender) ? medianLag(lags) : null,
    })),
  );
}

/** The same requests with the output lengths of the first contender. */
function withOutputsOf(plan: readonly BenchRequest[], timings: readonly StreamTiming[]): BenchRequest[] {
  return plan.map((request, index) => ({ ...request, maxTokens: Math.max(1, timings[index]?.tokens ?? 1) }));
}

function isPlatform(contender: Contender): contender is PlatformContender {
  return 'loopLag' in contender;
}

async function loopLagOf(contender: Contender): Promise<LoopLag | null> {
  return isPlatform(contender) ? contender.loopLag() : null;
}

function medians(summaries: readonly RunSummary[]): RunSummary {
  const of = (pick: (summary: RunSummary) => number) => median(summaries.map(pick));
  return {
    tokensPerSecond: of((each) => each.tokensPerSecond),
    decodeTokensPerSecond: of((each) => each.decodeTokensPerSecond),
    perStreamTokensPerSecond: of((each) => each.perStreamTokensPerSecond),
    firstTokenP50Ms: of((each) => each.firstTokenP50Ms),
    firstTokenP95Ms: of((each) => each.firstTokenP95Ms),
    tokens: of((each) => each.tokens),
    promptTokens: of((each) => each.promptTokens),
  };
}

function medianLag(lags: readonly LoopLag[]): LoopLag {
  const of = (pick: (lag: LoopLag) => number) => median(lags.map(pick));
  return { apiMs: of((lag) => lag.apiMs), workerMs: of((lag) => lag.workerMs), hostMs: of((lag) => lag.hostMs) };
}

export interface PrefixResult {
  case: string;
  repetitions: number;
  /** Time to first token with the whole prompt computed, and with its prefix cached. */
  computedMs: number;
  reusedMs: number;
  cachedTokens: number;
}

/** Sends the same prefix twice and measures what the second request saves on its first token. */
export async function runPrefixCase(
  { name, prompts }: PrefixCase,
  platform: PlatformContender,
  { repetitions, warmups, onProgress }: RunOptions,
): Promise<PrefixResult> {
  const runs: { computedMs: number; reusedMs: number; cachedTokens: number }[] = [];
  for (let repetition = 0; repetition < warmups + repetitions; repetition++) {
    const [first, second] = prompts(repetition);
    const computed = await platform.firstToken(first);
    const reused = await platform.firstToken(second);
    if (repetition < warmups) continue;
    runs.push({ computedMs: computed.ms, reusedMs: reused.ms, cachedTokens: reused.cachedTokens });
    onProgress(`${name}: ${computed.ms.toFixed(0)} ms computed, ${reused.ms.toFixed(0)} ms reused`);
  }
  const of = (pick: (run: (typeof runs)[number]) => number) => median(runs.map(pick));
  return {
    case: name,
    repetitions,
    computedMs: of((run) => run.computedMs),
    reusedMs: of((run) => run.reusedMs),
    cachedTokens: of((run) => run.cachedTokens),
  };
}
