import { displayNanos, type NanoUsd, type TokenUsage } from '#common';
import { type BillableUnit, type Price, type Pricing, quoteUnits } from '#model-registry/manifest';
import type { ChatJobPayload } from './chat.job.js';
import { callBytes, toolBytes } from './chat.tool-meter.js';

/*
 * Prices of chat, as pure functions: the worst case before a request runs, the usage lines after it. Money is an
 * integer of nano-USD throughout, and one DIEM equals one USD; only responses convert it to a number.
 */

/** Token bounds of a model. */
export interface ChatBounds {
  /** Maximum length of prompt plus output, in tokens. */
  contextLength: number;
  /** Maximum number of tokens of one choice. */
  maxCompletionTokens: number;
  /** Maximum number of tokens of an image; absent: unknown, up to the whole context. */
  imageTokens?: number;
}

/** What the meter needs to know about a model. */
export interface ChatTariff extends ChatBounds {
  pricing: Pricing | null;
}

/** Upper bounds of what a request can use. */
export interface ChatQuote {
  promptTokens: number;
  completionTokens: number;
  amountNanoUsd: bigint;
}

/**
 * Tokens a chat template may add around each message and around the conversation: role markers, BOS, a default system
 * text.
 */
const templateTokensPerMessage = 64;
const templateTokensPerPrompt = 512;

/** A token is at least one byte, so the bytes of the messages and tools, as templates write them, bound their tokens. */
export function promptBytes({ messages, tools = [] }: Pick<ChatJobPayload, 'messages' | 'tools'>): number {
  const inMessages = messages.reduce(
    (bytes, { content, name, reasoningContent, toolCalls = [], toolCallId }) =>
      bytes +
      [content, name, reasoningContent].reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0) +
      callBytes(toolCalls, toolCallId),
    0,
  );
  return inMessages + toolBytes(tools);
}

function imageCount({ messages }: Pick<ChatJobPayload, 'messages'>): number {
  return messages.reduce((sum, { images = [] }) => sum + images.length, 0);
}

/** Returns the maximum number of tokens a request can use. */
export function boundChat(
  payload: ChatJobPayload,
  reach: ChatBounds,
): { promptTokens: number; completionTokens: number } {
  const overhead = templateTokensPerPrompt + templateTokensPerMessage * payload.messages.length;
  const ofImages = imageCount(payload) * (reach.imageTokens ?? reach.contextLength);
  const promptTokens = Math.min(reach.contextLength, promptBytes(payload) + overhead + ofImages);
  return { promptTokens, completionTokens: choiceBound(payload, reach) * payload.n };
}

/** The most a request can use and cost. Never less than what `chatUnits` bill for it. */
export function quoteChat(payload: ChatJobPayload, tariff: ChatTariff): ChatQuote {
  const { promptTokens, completionTokens } = boundChat(payload, tariff);
  const dearest = dearestPricing(promptTokens, tariff.pricing);
  const worst = { promptTokens, cachedTokens: 0, completionTokens, reasoningTokens: 0 };
  return { promptTokens, completionTokens, amountNanoUsd: quoteUnits(chatUnits(worst, dearest), dearest) };
}

/** The least amount that a request is admitted for: its prompt, and one token per choice. */
export function minChatNano(payload: ChatJobPayload, tariff: ChatTariff): NanoUsd {
  return quoteChat({ ...payload, maxTokens: 1 }, tariff).amountNanoUsd;
}

/** Maximum number of tokens of one choice. */
function choiceBound(payload: ChatJobPayload, reach: ChatBounds): number {
  return Math.min(payload.maxTokens ?? reach.maxCompletionTokens, reach.contextLength);
}

/** Returns one flat price that no reachable tier and no cache hit exceeds. */
function dearestPricing(promptTokens: number, pricing: Pricing | null): Pricing | null {
  if (pricing === null) return null;
  const { extended } = pricing;
  const tiers =
    extended !== undefined && promptTokens > extended.context_token_threshold ? [pricing, extended] : [pricing];
  return {
    input: dearest(tiers.flatMap(({ input, cache_input: cached }) => [input, cached])),
    output: dearest(tiers.map(({ output }) => output)),
  };
}

function dearest(prices: (Price | undefined)[]): Price {
  const known = prices.filter((price) => price !== undefined);
  return { usd: Math.max(0, ...known.map(({ usd }) => usd)), diem: Math.max(0, ...known.map(({ diem }) => diem)) };
}

/**
 * Returns the request with its output limit lowered to what `grantableNano` pays for; null when that is less than one
 * token per choice. A limit that is low enough stays.
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
 * Returns the usage by price. Cached prompt tokens are billed at `cache_input` where the model has that price; input
 * beyond the threshold of the extended tier reprices the whole request.
 */
export function chatUnits(usage: TokenUsage, pricing: Pricing | null): BillableUnit[] {
  const { promptTokens, cachedTokens, completionTokens } = usage;
  const { extended } = pricing ?? {};
  const isExtended = extended !== undefined && promptTokens > extended.context_token_threshold;
  const [tier, path] = isExtended ? [extended, 'extended.'] : [pricing, ''];
  const cachedPrice = tier?.cache_input === undefined ? 'input' : 'cache_input';
  const units = [
    { sku: 'llm-input-mtoken', price: `${path}input`, count: promptTokens - cachedTokens },
    { sku: 'llm-cache-input-mtoken', price: `${path}${cachedPrice}`, count: cachedTokens },
    { sku: 'llm-output-mtoken', price: `${path}output`, count: completionTokens },
  ];
  return units
    .filter(({ sku, count }) => sku !== 'llm-cache-input-mtoken' || count > 0)
    .map((unit) => ({ ...unit, measure: 'million' }));
}

/** Returns the `cost` of a response as the ledger will split it: reserved DIEM pay first, `usd` is the rest. */
export function chatCost(
  usage: TokenUsage,
  pricing: Pricing | null,
  heldDiemNano: NanoUsd,
): { usd: number; diem: number } {
  const costNano = quoteUnits(chatUnits(usage, pricing), pricing);
  const diemNano = costNano < heldDiemNano ? costNano : heldDiemNano;
  return { usd: displayNanos(costNano - diemNano, 9), diem: displayNanos(diemNano, 9) };
}
