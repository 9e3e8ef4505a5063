import { displayNanos, type JobUsage, type NanoUsd } from '#common';
import { contentBytes } from '#tee/sealing';
import { type BillableUnit, type Price, type Pricing, quoteUnits } from '#model-registry/manifest';
import type { ChatJobPayload, ChatJobPrompt, ChatJobTool, ChatJobToolCall } from './chat.job.js';
import { webUnits, webUnitsOf } from './chat.web-meter.js';

/* How many bytes chat templates may write for tools and their calls. */

/** Texts of templates about tools in general, and around each tool, call, result and argument. */
const introduction = 4_096;
const aroundTool = 512;
const aroundCall = 256;
const aroundArgument = 48;

/** Templates write a tool as indented JSON or, longer, with a tag around each member. */
function toolBytes(tools: readonly ChatJobTool[]): number {
  if (tools.length === 0) return 0;
  return tools.reduce((bytes, { name, description, parameters }) => {
    const text = JSON.stringify({ name, description, parameters }, null, 4);
    return bytes + 2 * Buffer.byteLength(text) + aroundTool;
  }, introduction);
}

/** Templates write arguments as JSON with blanks in it, or each with tags around it. */
function callBytes(calls: readonly ChatJobToolCall[], toolCallId: string | undefined): number {
  const ofResult = toolCallId === undefined ? 0 : Buffer.byteLength(toolCallId) + aroundCall;
  return calls.reduce((bytes, { id, name, arguments: text }) => {
    const members = text.split(':').length + text.split(',').length;
    const written = Buffer.byteLength(id) + Buffer.byteLength(name) + Buffer.byteLength(text);
    return bytes + written + members * aroundArgument + aroundCall;
  }, ofResult);
}

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
  /** Maximum number of tokens of a frame of a video; absent: as of an image. */
  frameTokens?: number;
}

/** What the meter needs to know about a model. */
export interface PricedLimits extends ChatBounds {
  pricing: Pricing | null;
}

/** Upper bounds of what a request can use. */
export interface ChatQuote {
  promptTokens: number;
  completionTokens: number;
  /** What is looked up for it; absent: nothing. */
  units?: JobUsage['units'];
  amountNanoUsd: bigint;
}

/**
 * Tokens a chat template may add around each message and around the conversation: role markers, BOS, a default system
 * text.
 */
const templateTokensPerMessage = 64;
const templateTokensPerPrompt = 512;

/**
 * A token is at least one byte, so the bytes of the messages and tools, as templates write them, bound their tokens. The
 * length of a sealed field says exactly how many it holds.
 */
export function promptBytes({
  messages,
  tools = [],
  toolChoice,
  sealing,
}: Pick<ChatJobPayload, 'messages' | 'tools' | 'toolChoice' | 'sealing'>): number {
  const bytesOf = sealing === undefined ? Buffer.byteLength : contentBytes;
  const inMessages = messages.reduce(
    (bytes, { content, name, reasoningContent, toolCalls = [], toolCallId }) =>
      bytes +
      [content, name, reasoningContent].reduce((sum, text) => sum + bytesOf(text ?? ''), 0) +
      callBytes(toolCalls, toolCallId),
    0,
  );
  // The prompt does not mention tools that may not be called.
  return inMessages + toolBytes(toolChoice === 'none' ? [] : tools);
}

/** The most that images and frames take; unknown ones take the whole context. */
function tokensOfImages({ messages }: Pick<ChatJobPayload, 'messages'>, limits: ChatBounds): number {
  const { contextLength, imageTokens = contextLength, frameTokens = imageTokens } = limits;
  const images = messages.flatMap((message) => message.images ?? []);
  return images.reduce((sum, { isFrame }) => sum + (isFrame === true ? frameTokens : imageTokens), 0);
}

/** How many texts a request generates. */
export function choiceCount({ n, prompts }: Pick<ChatJobPayload, 'n' | 'prompts'>): number {
  return n * (prompts?.length ?? 1);
}

/** A tokenizer adds at most these to a prompt without a template. */
const tokensPerBarePrompt = 16;

/** An upper bound of the tokens of a prompt without a template. */
export function rawPromptTokens({ text = '', tokenIds = [] }: ChatJobPrompt): number {
  return Buffer.byteLength(text) + tokenIds.length + tokensPerBarePrompt;
}

/** Returns the maximum number of tokens a request can use. */
export function boundChat(
  payload: ChatJobPayload,
  limits: ChatBounds,
): { promptTokens: number; completionTokens: number } {
  const completionTokens = choiceBound(payload, limits) * choiceCount(payload);
  if (payload.prompts !== undefined) {
    const bounds = payload.prompts.map((prompt) => Math.min(limits.contextLength, rawPromptTokens(prompt)));
    return { promptTokens: bounds.reduce((sum, tokens) => sum + tokens, 0), completionTokens };
  }
  const overhead = templateTokensPerPrompt + templateTokensPerMessage * payload.messages.length;
  const ofImages = tokensOfImages(payload, limits);
  const promptTokens = Math.min(limits.contextLength, promptBytes(payload) + overhead + ofImages);
  return { promptTokens, completionTokens };
}

/** The most a request can use and cost. Never less than what `chatUnits` bill for it. */
export function quoteChat(payload: ChatJobPayload, limits: PricedLimits): ChatQuote {
  const { promptTokens, completionTokens } = boundChat(payload, limits);
  const dearest = dearestPricing(promptTokens, limits.pricing);
  const units = webUnitsOf(payload);
  const worst = { promptTokens, cachedTokens: 0, completionTokens, reasoningTokens: 0, units };
  const amountNanoUsd = quoteUnits(chatUnits(worst, dearest), dearest);
  return { promptTokens, completionTokens, ...(units && { units }), amountNanoUsd };
}

/** The least amount that a request is admitted for: its prompt, and one token per choice that generates any. */
export function minChatNano(payload: ChatJobPayload, limits: PricedLimits): NanoUsd {
  return quoteChat({ ...payload, maxTokens: Math.min(1, payload.maxTokens ?? 1) }, limits).amountNanoUsd;
}

/** Maximum number of tokens of one choice. */
function choiceBound(payload: ChatJobPayload, limits: ChatBounds): number {
  return Math.min(payload.maxTokens ?? limits.maxCompletionTokens, limits.contextLength);
}

/** Returns one flat price that no reachable tier, no cache hit and no cache write exceeds. */
function dearestPricing(promptTokens: number, pricing: Pricing | null): Pricing | null {
  if (pricing === null) return null;
  const { extended } = pricing;
  const tiers =
    extended !== undefined && promptTokens > extended.context_token_threshold ? [pricing, extended] : [pricing];
  return {
    input: dearest(tiers.flatMap(({ input, cache_input: cached, cache_write: written }) => [input, cached, written])),
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
export function clampChat(
  payload: ChatJobPayload,
  limits: PricedLimits,
  grantableNano: NanoUsd,
): ChatJobPayload | null {
  const affordable = (maxTokens: number): boolean =>
    quoteChat({ ...payload, maxTokens }, limits).amountNanoUsd <= grantableNano;
  if (payload.maxTokens === 0 || !affordable(1)) return null;
  let [max, tooMany] = [1, choiceBound(payload, limits) + 1];
  while (tooMany - max > 1) {
    const middle = Math.floor((max + tooMany) / 2);
    if (affordable(middle)) max = middle;
    else tooMany = middle;
  }
  return { ...payload, maxTokens: max };
}

/** A payload with the most it can use and cost, and the same with as much output as an amount pays for. */
export function affordableChat(payload: ChatJobPayload, limits: PricedLimits) {
  const quoted = (candidate: ChatJobPayload) => {
    const { amountNanoUsd: amountNano, ...bounds } = quoteChat(candidate, limits);
    return { payload: candidate, bounds, amountNano };
  };
  return {
    ...quoted(payload),
    shrink: (grantableNano: NanoUsd) => {
      const smaller = clampChat(payload, limits, grantableNano);
      return smaller === null ? null : quoted(smaller);
    },
  };
}

/**
 * Returns the usage by price. Cached prompt tokens are billed at `cache_input`, and those written for a part to cache at
 * `cache_write`, where the model has these prices; input beyond the threshold of the extended tier reprices the whole
 * request. Searches and pages have prices of their own.
 */
export function chatUnits(usage: JobUsage, pricing: Pricing | null): BillableUnit[] {
  const { promptTokens, cachedTokens, cacheWriteTokens = 0, completionTokens } = usage;
  const { extended } = pricing ?? {};
  const isExtended = extended !== undefined && promptTokens > extended.context_token_threshold;
  const [tier, path] = isExtended ? [extended, 'extended.'] : [pricing, ''];
  const cachedPrice = tier?.cache_input === undefined ? 'input' : 'cache_input';
  const writtenTokens = tier?.cache_write === undefined ? 0 : cacheWriteTokens;
  const tokens = [
    { sku: 'llm-input-mtoken', price: `${path}input`, count: promptTokens - cachedTokens - writtenTokens },
    { sku: 'llm-cache-input-mtoken', price: `${path}${cachedPrice}`, count: cachedTokens },
    { sku: 'llm-cache-write-mtoken', price: `${path}cache_write`, count: writtenTokens },
    { sku: 'llm-output-mtoken', price: `${path}output`, count: completionTokens },
  ];
  const billed = tokens.filter(({ sku, count }) => !sku.startsWith('llm-cache-') || count > 0);
  return [...billed.map((unit) => ({ ...unit, measure: 'million' as const })), ...webUnits(usage)];
}

/** Returns the `cost` of a response as the ledger will split it: reserved DIEM pay first, `usd` is the rest. */
export function chatCost(
  usage: JobUsage,
  pricing: Pricing | null,
  heldDiemNano: NanoUsd,
): { usd: number; diem: number } {
  const costNano = quoteUnits(chatUnits(usage, pricing), pricing);
  const diemNano = costNano < heldDiemNano ? costNano : heldDiemNano;
  return { usd: displayNanos(costNano - diemNano, 9), diem: displayNanos(diemNano, 9) };
}
