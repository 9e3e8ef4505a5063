import type { FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { invalidField, type ModelRequest } from '#gateway';
import type { TeeHosts } from '#gateway/tee';
import { fieldsOf, isSealedField, readPublicKey, type SealingProblem, sealingProblems } from '#tee/sealing';
import type { ChatJobSealing } from '../../contract/chat.job.js';
import type { ChatAssistantMessage, ChatMessage } from '../../contract/chat.message.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';

/* End-to-end encrypted requests as the api sees them: keys in headers, and texts that it cannot read. */

const clientKeyHeader = 'x-service-tee-client-pub-key';
const hostKeyHeader = 'x-service-tee-model-pub-key';
const algorithmHeader = 'x-service-tee-signing-algo';

/** A key is agreed on for each field, which takes a model host a few ms. */
const maxFields = 1_000;

function problemAt(problem: SealingProblem, param: string, detail: string): PlatformError {
  return invalidField(`${sealingProblems[problem]}: ${detail}`, param);
}

function unsupported(what: string, param: string): PlatformError {
  return invalidField(`E2EE does not support ${what}.`, param, 'unsupported');
}

/** Whether a request asks for encryption by its headers. */
function namesKeys({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers[clientKeyHeader] !== undefined || headers[hostKeyHeader] !== undefined;
}

/** Rejects encrypted requests on routes that have no encrypted form: the ciphertext would be used, and charged, as the prompt. */
export function refuseSealed(request: Pick<FastifyRequest, 'headers'>): void {
  if (namesKeys(request)) throw unsupported('this route; use POST /chat/completions', clientKeyHeader);
}

/** Where an encrypted request goes. */
export interface SealedRoute {
  keys: ChatJobSealing;
  /** The worker whose host has the key. */
  processId: string;
}

/**
 * Returns the keys of an encrypted request, whose every text was checked to be sealed; null for a request in clear, and
 * with `enable_e2ee: false`. Throws `INVALID_REQUEST` in the documented words, also for a key that no live model host has.
 */
export function sealingOf(
  request: Pick<FastifyRequest, 'headers'>,
  body: ChatCompletionRequest,
  {
    parameters,
    opened,
    hosts,
  }: { parameters: ChatEffectiveParameters; opened: ModelRequest; hosts: Pick<TeeHosts, 'of'> },
): SealedRoute | null {
  if (!namesKeys(request) || !parameters.enable_e2ee) return null;
  const keys = readKeys(request);
  checkSealed(body, parameters);
  opened.requireServed();
  const host = hosts.of(opened.manifest.id).find(({ publicKey }) => publicKey === keys.hostPublicKey);
  if (host !== undefined) return { keys, processId: host.processId };
  const detail = `no host of the model ${opened.manifest.id} has this key. Fetch the attestation again, and seal for its key.`;
  throw problemAt('not-opened', hostKeyHeader, detail);
}

function readKeys({ headers }: Pick<FastifyRequest, 'headers'>): ChatJobSealing {
  const algorithm = headers[algorithmHeader] ?? 'ecdsa';
  if (algorithm !== 'ecdsa') throw invalidField(`${algorithmHeader} must be ecdsa.`, algorithmHeader);
  return {
    clientPublicKey: readKey(headers[clientKeyHeader], clientKeyHeader),
    hostPublicKey: readKey(headers[hostKeyHeader], hostKeyHeader),
  };
}

function readKey(value: string | string[] | undefined, header: string): string {
  if (typeof value === 'string' && readPublicKey(value) !== null) return value.toLowerCase();
  const detail = `${header} must be an uncompressed secp256k1 key, 130 hex characters that begin with 04.`;
  throw problemAt('invalid-key', header, detail);
}

function checkSealed(body: ChatCompletionRequest, parameters: ChatEffectiveParameters): void {
  if (body.stream !== true) throw problemAt('not-streamed', 'stream', 'stream must be true.');
  checkFeatures(body, parameters);
  for (const [position, message] of body.messages.entries()) checkMessage(message, `messages[${position}]`);
  const fields = body.messages.reduce((sum, message) => sum + fieldCount(message), 0);
  if (fields > maxFields) {
    throw invalidField(
      `A request may have ${maxFields} encrypted fields; this one has ${fields}.`,
      'messages',
      'too_big',
    );
  }
}

/** Everything that reads or writes texts outside of the model host. */
function checkFeatures(body: ChatCompletionRequest, parameters: ChatEffectiveParameters): void {
  const place = 'service_parameters';
  if (parameters.character_slug !== undefined) throw unsupported('characters', `${place}.character_slug`);
  if (parameters.enable_web_search !== 'off') throw unsupported('web search', `${place}.enable_web_search`);
  if (parameters.enable_web_scraping) throw unsupported('web scraping', `${place}.enable_web_scraping`);
  if (parameters.enable_x_search) throw unsupported('web search', `${place}.enable_x_search`);
  if ((body.tools?.length ?? 0) > 0) throw unsupported('tools', 'tools');
  const { functions } = body as { functions?: unknown };
  if ((functions ?? null) !== null) throw unsupported('tools', 'functions');
  if ((body.response_format?.type ?? 'text') !== 'text') throw unsupported('structured output', 'response_format');
  if ((body.response_schema ?? null) !== null) throw unsupported('structured output', 'response_schema');
  if (body.logprobs === true) throw unsupported('log-probabilities, which name the tokens', 'logprobs');
}

function checkMessage(message: ChatMessage, place: string): void {
  const { role } = message;
  if (role === 'tool' || role === 'function')
    throw unsupported(`tools, and messages of the role ${role}`, `${place}.role`);
  const content = message.content ?? '';
  const parts = typeof content === 'string' ? [{ at: `${place}.content`, text: content }] : textParts(content, place);
  for (const { text, at } of parts) {
    if (role === 'assistant' && !isSealedField(text)) continue;
    checkField(text, at);
  }
  if (role === 'assistant') checkAnswer(message, place);
}

function textParts(content: Exclude<ChatMessage['content'], string | null | undefined>, place: string) {
  return content.map((part, index) => {
    const at = `${place}.content[${index}]`;
    if (part.type === 'text') return { at: `${at}.text`, text: part.text };
    throw unsupported('images, audio, videos and files', at);
  });
}

function checkField(text: string, param: string): void {
  if (!isSealedField(text)) {
    const detail = `${param} must be encrypted, at least 186 hex characters that begin with 04.`;
    throw problemAt('not-hex', param, detail);
  }
  if (readPublicKey(text.slice(0, 130)) === null) {
    throw problemAt('not-opened', param, `the key at the beginning of ${param} is not on the curve.`);
  }
}

function checkAnswer(message: ChatAssistantMessage & { function_call?: unknown }, place: string): void {
  if ((message.tool_calls?.length ?? 0) > 0) throw unsupported('tools', `${place}.tool_calls`);
  if ((message.function_call ?? null) !== null) throw unsupported('tools', `${place}.function_call`);
}

function fieldCount({ content }: ChatMessage): number {
  if (typeof content === 'string') return fieldsOf(content).length;
  return content?.length ?? 0;
}
