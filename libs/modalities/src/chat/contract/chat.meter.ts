import { costPerMillion, displayNanos, formatNanos, type NanoUsd, nanosOf, type TokenUsage } from '#common';
import type { Price, TextPricing } from '#model-registry/manifest';
import type { ChatJobPayload } from './chat.job.js';

/*
 * What a chat costs, as pure functions: the worst case before it runs, the usage lines after. Money is an integer
 * of nano-USD throughout, and a DIEM is a USD; only answers make a number of it.
 */

/** How much a model can take and make. */
export interface ChatBounds {
  /** Longest prompt plus output, in tokens. */
  contextLength: number;
  /** Most tokens of one choice. */
  maxCompletionTokens: number;
}

/** What the meter must know of a model. */
export interface ChatTariff extends ChatBounds {
  pricing: TextPricing | null;
}

/** Upper bounds of what a request can use. */
export interface ChatQuote {
  promptTokens: number;
  completionTokens: number;
  amountNanoUsd: bigint;
}

/** One billed kind of token: `units` tokens at a price per million. */
export interface UsageLine {
  kind: 'input' | 'cache-input' | 'output';
  units: number;
  nanoUsdPerMillion: bigint;
  amountNanoUsd: bigint;
}

/** Tokens a chat template may add around each message, and around the whole: role marks, BOS, a default system text. */
const templateTokensPerMessage = 64;
const templateTokensPerPrompt = 512;

function line(kind: UsageLine['kind'], units: number, price: Price): UsageLine {
  const nanoUsdPerMillion = nanosOf(price.usd);
  return { kind, units, nanoUsdPerMillion, amountNanoUsd: costPerMillion(units, nanoUsdPerMillion) };
}

function total(lines: UsageLine[]): NanoUsd {
  return lines.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
}

/** A token is at least one byte, so the bytes of the messages bound their tokens. */
export function promptBytes(payload: Pick<ChatJobPayload, 'messages'>): number {
  return payload.messages.reduce(
    (bytes, { content, name, reasoningContent }) =>
      bytes + Buffer.byteLength(content) + Buffer.byteLength(name ?? '') + Buffer.byteLength(reasoningContent ?? ''),
    0,
  );
}

/** The most tokens a request can use. */
export function boundChat(
  payload: ChatJobPayload,
  reach: ChatBounds,
): { promptTokens: number; completionTokens: number } {
  const overhead = templateTokensPerPrompt + templateTokensPerMessage * payload.messages.length;
  const promptTokens = Math.min(reach.contextLength, promptBytes(payload) + overhead);
  return { promptTokens, completionTokens: choiceBound(payload, reach) * payload.n };
}

/** The most a request can use and cost. Never less than what `chatUsageLines` bills for it. */
export function quoteChat(payload: ChatJobPayload, tariff: ChatTariff): ChatQuote {
  const { promptTokens, completionTokens } = boundChat(payload, tariff);
  const dearest = dearestPricing(promptTokens, tariff.pricing);
  const worst = { promptTokens, cachedTokens: 0, completionTokens, reasoningTokens: 0 };
  return { promptTokens, completionTokens, amountNanoUsd: total(chatUsageLines(worst, dearest)) };
}

/** Most tokens of one choice. */
function choiceBound(payload: ChatJobPayload, reach: ChatBounds): number {
  return Math.min(payload.maxTokens ?? reach.maxCompletionTokens, reach.contextLength);
}

/** One flat price that no tier within reach and no cache hit exceeds. */
function dearestPricing(promptTokens: number, pricing: TextPricing | null): TextPricing | null {
  if (pricing === null) return null;
  const { extended } = pricing;
  const tiers =
    extended !== undefined && promptTokens > extended.context_token_threshold ? [pricing, extended] : [pricing];
  return {
    input: dearest(tiers.flatMap(({ input, cache_input: cached }) => (cached ? [input, cached] : [input]))),
    output: dearest(tiers.map(({ output }) => output)),
  };
}

function dearest(prices: Price[]): Price {
  return { usd: Math.max(...prices.map(({ usd }) => usd)), diem: Math.max(...prices.map(({ diem }) => diem)) };
}

/**
 * The same request with its output bound lowered to what `grantableNano` pays for; null when that is not one token per
 * choice. A bound that is low enough is kept.
 */
export function clampChat(payload: ChatJobPayload, tariff: ChatTariff, grantableNano: NanoUsd): ChatJobPayload | null {
  const affordable = (maxTokens: number): boolean =>
    quoteChat({ ...payload, maxTokens }, tariff).amountNanoUsd <= grantableNano;
  if (!affordable(1)) return null;
  let [max, tooMany] = [1, choiceBound(payload, tariff) + 1];
  while (tooMany - max > 1) {
    const middle = Math.floor((max + tooMany) / 2);
    if (affordable(middle)) max = middle;
    else tooMany = middle;
  }
  return { ...payload, maxTokens: max };
}

/** A payload with its worst-case cost, and the same with as much output as an amount pays for. */
export function affordableChat(payload: ChatJobPayload, tariff: ChatTariff) {
  const quoted = (asked: ChatJobPayload) => ({ payload: asked, amountNano: quoteChat(asked, tariff).amountNanoUsd });
  return {
    ...quoted(payload),
    shrink: (grantableNano: NanoUsd) => {
      const smaller = clampChat(payload, tariff, grantableNano);
      return smaller === null ? null : quoted(smaller);
    },
  };
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

/** The `cost` of an answer, as the ledger will split it: DIEM that were held for it pay first, `usd` is the rest. */
export function chatCost(
  usage: TokenUsage,
  pricing: TextPricing | null,
  heldDiemNano: NanoUsd,
): { usd: number; diem: number } {
  const costNano = total(chatUsageLines(usage, pricing));
  const diemNano = costNano < heldDiemNano ? costNano : heldDiemNano;
  return { usd: displayNanos(costNano - diemNano, 9), diem: displayNanos(diemNano, 9) };
}

/** The positions of a charge, as the ledger keeps them: units are millions of tokens. */
export function chatChargeLines(
  modelId: string,
  usage: TokenUsage,
  pricing: TextPricing | null,
): { sku: string; units: string; unitPriceNano: NanoUsd; amountNano: NanoUsd }[] {
  return chatUsageLines(usage, pricing).map(({ kind, units, nanoUsdPerMillion, amountNanoUsd }) => ({
    sku: `${modelId}-llm-${kind}-mtoken`,
    units: formatNanos(BigInt(units) * 1000n, 6),
    unitPriceNano: nanoUsdPerMillion,
    amountNano: amountNanoUsd,
  }));
}
