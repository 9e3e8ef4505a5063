import type { TokenUsage } from '#common';
import type { Price, TextPricing } from '#model-registry/manifest';
import type { ChatJobPayload } from './chat.job.js';

/*
 * What a chat costs, as pure functions: the worst case before it runs, the usage lines after. Money is an integer
 * of nano-USD (and nano-DIEM) throughout; only `displayAmount` makes a number of it.
 */

/** What the meter must know of a model. */
export interface ChatTariff {
  /** Longest prompt plus output, in tokens. */
  contextLength: number;
  /** Most tokens of one choice. */
  maxCompletionTokens: number;
  pricing: TextPricing | null;
}

/** Upper bounds of what a request can use. */
export interface ChatQuote {
  promptTokens: number;
  completionTokens: number;
  amountNanoUsd: bigint;
  amountNanoDiem: bigint;
}

/** One billed kind of token: `units` tokens at a price per million. */
export interface UsageLine {
  kind: 'input' | 'cache-input' | 'output';
  units: number;
  nanoUsdPerMillion: bigint;
  nanoDiemPerMillion: bigint;
  amountNanoUsd: bigint;
  amountNanoDiem: bigint;
}

/** Tokens a chat template may add around each message, and around the whole: role marks, BOS, a default system text. */
const templateTokensPerMessage = 64;
const templateTokensPerPrompt = 512;
const million = 1_000_000n;

/** A price per million tokens as an integer; prices have at most nine decimals. */
function nanos(amount: number): bigint {
  return BigInt(Math.round(amount * 1e9));
}

function costOf(units: number, nanosPerMillion: bigint): bigint {
  return (BigInt(units) * nanosPerMillion + million / 2n) / million;
}

function line(kind: UsageLine['kind'], units: number, price: Price): UsageLine {
  const nanoUsdPerMillion = nanos(price.usd);
  const nanoDiemPerMillion = nanos(price.diem);
  return {
    kind,
    units,
    nanoUsdPerMillion,
    nanoDiemPerMillion,
    amountNanoUsd: costOf(units, nanoUsdPerMillion),
    amountNanoDiem: costOf(units, nanoDiemPerMillion),
  };
}

function total(lines: UsageLine[]): { amountNanoUsd: bigint; amountNanoDiem: bigint } {
  return lines.reduce(
    (sum, { amountNanoUsd, amountNanoDiem }) => ({
      amountNanoUsd: sum.amountNanoUsd + amountNanoUsd,
      amountNanoDiem: sum.amountNanoDiem + amountNanoDiem,
    }),
    { amountNanoUsd: 0n, amountNanoDiem: 0n },
  );
}

/** A token is at least one byte, so the bytes of the messages bound their tokens. */
export function promptBytes(payload: Pick<ChatJobPayload, 'messages'>): number {
  return payload.messages.reduce(
    (bytes, { content, name, reasoningContent }) =>
      bytes + Buffer.byteLength(content) + Buffer.byteLength(name ?? '') + Buffer.byteLength(reasoningContent ?? ''),
    0,
  );
}

/** The most a request can use and cost. Never less than what `chatUsageLines` bills for it. */
export function quoteChat(payload: ChatJobPayload, tariff: ChatTariff): ChatQuote {
  const overhead = templateTokensPerPrompt + templateTokensPerMessage * payload.messages.length;
  const promptTokens = Math.min(tariff.contextLength, promptBytes(payload) + overhead);
  const perChoice = Math.min(payload.maxTokens ?? tariff.maxCompletionTokens, tariff.contextLength);
  const completionTokens = perChoice * payload.n;
  const worst = { promptTokens, cachedTokens: 0, completionTokens, reasoningTokens: 0 };
  return { promptTokens, completionTokens, ...total(chatUsageLines(worst, tariff.pricing)) };
}

/**
 * What was used, by price. Cached prompt tokens bill at `cache_input` where the model has that price; input beyond
 * the threshold of the extended tier reprices the whole request.
 */
export function chatUsageLines(usage: TokenUsage, pricing: TextPricing | null): UsageLine[] {
  if (pricing === null) return [];
  const { extended } = pricing;
  const tier = extended !== undefined && usage.promptTokens > extended.context_token_threshold ? extended : pricing;
  const lines = [line('input', usage.promptTokens - usage.cachedTokens, tier.input)];
  if (usage.cachedTokens > 0) lines.push(line('cache-input', usage.cachedTokens, tier.cache_input ?? tier.input));
  lines.push(line('output', usage.completionTokens, tier.output));
  return lines;
}

/** An integer of billionths as a number, for answers; nothing is computed with it. */
function displayAmount(billionths: bigint): number {
  return Number(billionths) / 1e9;
}

/** The `cost` of an answer. */
export function chatCost(usage: TokenUsage, pricing: TextPricing | null): { usd: number; diem: number } {
  const { amountNanoUsd, amountNanoDiem } = total(chatUsageLines(usage, pricing));
  return { usd: displayAmount(amountNanoUsd), diem: displayAmount(amountNanoDiem) };
}
