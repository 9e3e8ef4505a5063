import { median, percentile } from '../report.js';

/** One stream as its reader received it; times in ms from an origin shared by all streams of a run. */
export interface StreamTiming {
  startMs: number;
  /** Arrival time of each piece of text. */
  pieceMs: number[];
  /** Generated tokens; a piece may contain several. */
  tokens: number;
  promptTokens: number;
}

export interface RunSummary {
  /** Tokens over all streams, from the first start to the last piece. */
  tokensPerSecond: number;
  /** Tokens over all streams while the maximum number of them decoded at once. */
  decodeTokensPerSecond: number;
  /** Median rate of the individual streams after their first piece. */
  perStreamTokensPerSecond: number;
  firstTokenP50Ms: number;
  firstTokenP95Ms: number;
  tokens: number;
  promptTokens: number;
}

export function summarizeRun(streams: readonly StreamTiming[]): RunSummary {
  const answered = streams.filter((stream) => stream.pieceMs.length > 0);
  const firsts = answered.map((stream) => firstOf(stream) - stream.startMs);
  const start = Math.min(...streams.map((stream) => stream.startMs));
  const end = Math.max(...answered.map(lastOf));
  const tokens = sum(streams.map((stream) => stream.tokens));
  return {
    tokensPerSecond: perSecond(tokens, end - start),
    decodeTokensPerSecond: decodeRate(answered),
    perStreamTokensPerSecond: median(answered.map(ownRate).filter(Number.isFinite)),
    firstTokenP50Ms: median(firsts),
    firstTokenP95Ms: percentile(firsts, 95),
    tokens,
    promptTokens: sum(streams.map((stream) => stream.promptTokens)),
  };
}

/**
 * Decoding throughput without prompts. Counts only the time in which the maximum number of streams was between first
 * and last piece; otherwise some stream waits for its prompt or has ended.
 */
function decodeRate(streams: readonly StreamTiming[]): number {
  const windows = busiestWindows(streams);
  const duration = sum(windows.map(({ from, to }) => to - from));
  const tokens = windows.flatMap((window) => streams.map((stream) => tokensWithin(stream, window)));
  return perSecond(sum(tokens), duration);
}

interface Window {
  from: number;
  to: number;
}

function busiestWindows(streams: readonly StreamTiming[]): Window[] {
  const edges = streams
    .flatMap((stream) => [
      { at: firstOf(stream), change: 1 },
      { at: lastOf(stream), change: -1 },
    ])
    .toSorted((left, right) => left.at - right.at || right.change - left.change);
  let active = 0;
  const counts = edges.map(({ at, change }) => ({ at, active: (active += change) }));
  const busiest = Math.max(...counts.map((count) => count.active));
  return counts.flatMap((count, index) => {
    const next = counts[index + 1];
    return count.active === busiest && next !== undefined ? [{ from: count.at, to: next.at }] : [];
  });
}

function tokensWithin(stream: StreamTiming, { from, to }: Window): number {
  return sum(stream.pieceMs.map((at, index) => (at > from && at <= to ? tokensOfPiece(stream, index) : 0)));
}

/** The first piece of a stream is one token. The other tokens are spread evenly over the other pieces. */
function tokensOfPiece({ pieceMs, tokens }: StreamTiming, index: number): number {
  if (pieceMs.length === 1) return tokens;
  return index === 0 ? 1 : (tokens - 1) / (pieceMs.length - 1);
}

function ownRate(stream: StreamTiming): number {
  return perSecond(stream.tokens - 1, lastOf(stream) - firstOf(stream));
}

const firstOf = (stream: StreamTiming): number => stream.pieceMs[0] ?? Number.NaN;
const lastOf = (stream: StreamTiming): number => stream.pieceMs.at(-1) ?? Number.NaN;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const perSecond = (count: number, ms: number): number => (ms > 0 ? (count * 1000) / ms : Number.NaN);
