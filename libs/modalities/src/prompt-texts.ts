import type { AudioJobPayload } from '#modalities/audio/contract';
import type { ChatJobPayload } from '#modalities/chat/contract';
import type { EmbeddingJobPayload } from '#modalities/embedding/contract';
import type { ImageJobPayload } from '#modalities/image/contract';
import type { RerankJobPayload } from '#modalities/rerank/contract';
import type { SpeechJobPayload } from '#modalities/speech/contract';
import type { TranscriptionJobPayload } from '#modalities/transcription/contract';
import type { VideoJobPayload } from '#modalities/video/contract';

/** A text of a request that a model gets, and the field that it comes from. */
export interface PromptText {
  param: string;
  /** Null for token ids and for sealed texts. */
  text: string | null;
}

const named = (param: string, ...texts: (string | null | undefined)[]): PromptText[] =>
  texts.map((text) => ({ param, text: text ?? '' }));

/** Every text of a payload that a client may have written, by slice. */
export const promptTextsOf = {
  audio: ({ text }: AudioJobPayload) => named('prompt', text),
  chat: ({ messages, tools = [], prompts = [], sealing }: ChatJobPayload) => [
    ...(sealing === undefined ? [] : [{ param: 'messages', text: null }]),
    ...prompts.map(({ param, text, tokenIds }) => ({ param, text: tokenIds === undefined ? (text ?? '') : null })),
    ...named('messages', ...messages.flatMap(({ content, reasoningContent }) => [content, reasoningContent])),
    ...named('messages', ...messages.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => call.arguments))),
    ...named('tools', ...tools.flatMap(({ description, parameters }) => [description, JSON.stringify(parameters)])),
  ],
  embedding: ({ texts, tokenIds }: EmbeddingJobPayload) => [
    ...named('input', ...texts),
    ...(tokenIds === undefined ? [] : [{ param: 'input', text: null }]),
  ],
  image: ({ prompt, negativePrompt }: ImageJobPayload) => [
    ...named('prompt', prompt),
    ...named('negative_prompt', negativePrompt),
  ],
  rerank: ({ query, documents }: RerankJobPayload) => [...named('query', query), ...named('documents', ...documents)],
  speech: ({ text }: SpeechJobPayload) => named('input', text),
  transcription: ({ prompt }: TranscriptionJobPayload) => named('prompt', prompt),
  video: ({ words }: VideoJobPayload) => [
    ...named('prompt', words?.prompt),
    ...named('negative_prompt', words?.negativePrompt),
  ],
} satisfies Record<string, (payload: never) => PromptText[]>;
