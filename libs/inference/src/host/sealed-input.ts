import { PlatformError } from '#common';
import {
  fieldsOf,
  FieldOpener,
  isSealedContent,
  openContent,
  SealingError,
  type SealingProblem,
  sealingProblems,
  type SharedSecret,
} from '#tee/sealing';
import type { ChatTemplateMessage, TextGenerationRequest } from '../contract/text-generation.js';

/** Opening takes so long before other work of the host has a turn, in ms. */
const sliceMs = 10;

/** Roles whose contents must be sealed. */
const sealedRoles: readonly string[] = ['system', 'user'];

interface OpeningOptions {
  sharedSecret: SharedSecret;
  /** Whether a field that was opened may be used. */
  admits(field: string): boolean;
}

/**
 * Returns the request with its texts in clear. Rejects with `INVALID_REQUEST` in the documented words for a field that
 * cannot be opened. A field takes a few ms, so the batch goes on meanwhile.
 */
export async function openSealedRequest(
  request: TextGenerationRequest,
  { sharedSecret, admits }: OpeningOptions,
): Promise<TextGenerationRequest> {
  const { prompt, stop } = request;
  if (!('messages' in prompt)) throw sealingError('not-hex');
  const { messages } = prompt;
  for (const { role, content } of messages) {
    if (sealedRoles.includes(role) && !isSealedContent(content)) throw sealingError('not-hex');
  }
  const contents = [...messages.flatMap(({ content, reasoning_content: echo = '' }) => [content, echo]), ...stop];
  const texts = await openFields(contents, new FieldOpener(sharedSecret));
  if (![...texts.keys()].every(admits)) throw sealingError('not-opened');
  const open = (field: string): string => texts.get(field) ?? '';
  const opened = (text: string): string => (isSealedContent(text) ? openContent(text, open).text : text);
  return {
    ...request,
    prompt: { ...prompt, messages: messages.map((message) => openMessage(message, open, opened)) },
    stop: stop.map(opened),
  };
}

function openMessage(
  message: ChatTemplateMessage,
  open: (field: string) => string,
  opened: (text: string) => string,
): ChatTemplateMessage {
  const { content, reasoning_content: echo, cacheMark } = message;
  const isSealed = isSealedContent(content);
  const { text, mark } = isSealed ? openContent(content, open, cacheMark) : { text: content, mark: cacheMark };
  return {
    ...message,
    content: text,
    ...(mark !== undefined && { cacheMark: mark }),
    ...(echo !== undefined && { reasoning_content: opened(echo) }),
  };
}

async function openFields(contents: readonly string[], opener: FieldOpener): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  let sliceBegan = performance.now();
  for (const field of contents.flatMap(fieldsOf)) {
    try {
      texts.set(field, opener.open(field));
    } catch (error) {
      throw error instanceof SealingError ? sealingError(error.problem) : error;
    }
    if (performance.now() - sliceBegan < sliceMs) continue;
    await new Promise<void>((resolve) => setImmediate(resolve));
    sliceBegan = performance.now();
  }
  return texts;
}

const advice: Partial<Record<SealingProblem, string>> = {
  'not-opened':
    ': it was changed, came from another client before, or was sealed for a key that the model host no longer has. Fetch the attestation again, and seal for its key.',
};

/** The refusal of a sealed request, in the words that clients know. */
export function sealingError(problem: SealingProblem, param = 'messages'): PlatformError {
  return new PlatformError('INVALID_REQUEST', `${sealingProblems[problem]}${advice[problem] ?? '.'}`, param);
}
