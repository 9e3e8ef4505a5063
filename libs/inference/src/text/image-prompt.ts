import { PlatformError } from '#common';
import type { ReasoningFormat } from '../contract/reasoning-format.js';
import type { ChatPrompt, ChatTemplateMessage } from '../contract/text-generation.js';
import type { ChatTemplate } from './chat-template.js';
import { buildPrompt, type BuiltPrompt } from './prompt-builder.js';

/** How an image stands in a prompt. */
export interface ImageLayout {
  /** Replaces the image's placeholder; contains `tokens` placeholders. */
  text: string;
  /** Positions that hold the image. */
  tokens: number;
  /** Rows and columns of `tokens`, for models whose rotary positions follow them. */
  grid?: { rows: number; columns: number };
}

/** The prompt of a conversation with images. */
export interface ImagePrompt {
  built: BuiltPrompt;
  /** Every placeholder token of the text in order: the image it begins, or null for one in a caller's text. */
  places: (ImageLayout | null)[];
}

export interface ImagePromptOptions {
  /** Text of the template for an image. */
  placeholder: string;
  /** Of the images of all messages, in order. */
  layouts: readonly ImageLayout[];
  /** The model's format; null if it is not known to reason, absent as its template says. */
  reasoning?: ReasoningFormat | null;
}

/**
 * Renders a conversation and replaces the template's placeholders by the layouts of its images. The placeholder's text
 * in a message stays text and claims no image. Throws `INVALID_REQUEST` if the template has no place for an image.
 */
export function buildImagePrompt(
  prompt: ChatPrompt,
  template: ChatTemplate | null,
  { placeholder, layouts, reasoning }: ImagePromptOptions,
): ImagePrompt {
  const mark = freeMark(prompt.messages);
  const messages = prompt.messages.map((message) => withMarks(message, placeholder, mark));
  const built = buildPrompt({ ...prompt, messages }, template, reasoning, { hasParts: true });
  const pieces = built.text.split(new RegExp(`(${escaped(placeholder)}|${mark})`));
  const places: (ImageLayout | null)[] = [];
  let next = 0;
  const texts = pieces.map((piece) => {
    if (piece !== placeholder && piece !== mark) return piece;
    const layout = piece === mark ? null : layouts[next++];
    if (layout === undefined) throw misplaced();
    places.push(layout);
    return layout?.text ?? placeholder;
  });
  if (next !== layouts.length) throw misplaced();
  return { built: { ...built, text: texts.join('') }, places };
}

/** Consecutive positions of one image; `offset` of its positions come before them. */
export interface ImageRun {
  start: number;
  length: number;
  offset: number;
}

/**
 * Finds the positions of each image in the tokens of an image prompt. Throws `INFERENCE_FAILED` if the tokenizer did not
 * keep the placeholders, which is a fault of the model's files.
 */
export function findImages(
  ids: Int32Array,
  places: readonly (ImageLayout | null)[],
  imageTokenId: number,
): ImageRun[][] {
  const positions: number[] = [];
  ids.forEach((id, position) => id === imageTokenId && positions.push(position));
  const expected = places.reduce((sum, layout) => sum + (layout?.tokens ?? 1), 0);
  if (positions.length !== expected) {
    throw new PlatformError('INFERENCE_FAILED', 'The tokenizer of this model does not keep image placeholders.');
  }
  let next = 0;
  const claimed = places.map((layout) => positions.slice(next, (next += layout?.tokens ?? 1)));
  return claimed.filter((_, index) => places[index] !== null).map(runsOf);
}

function runsOf(positions: readonly number[]): ImageRun[] {
  const runs: ImageRun[] = [];
  positions.forEach((position, offset) => {
    const last = runs.at(-1);
    if (last !== undefined && last.start + last.length === position) last.length++;
    else runs.push({ start: position, length: 1, offset });
  });
  return runs;
}

function withMarks(message: ChatTemplateMessage, placeholder: string, mark: string): ChatTemplateMessage {
  const { content, imagePositions = [] } = message;
  if (!content.includes(placeholder)) return message;
  const bounds = [0, ...imagePositions, content.length];
  const texts = bounds.slice(1).map((end, index) => content.slice(bounds[index], end).replaceAll(placeholder, mark));
  let length = 0;
  const moved = texts.slice(0, -1).map((text) => (length += text.length));
  return { ...message, content: texts.join(''), imagePositions: moved };
}

function escaped(text: string): string {
  return text.replaceAll(/[^\w\s]/g, (character) => `\\${character}`);
}

function misplaced(): PlatformError {
  return new PlatformError(
    'INVALID_REQUEST',
    'The chat template of this model has no place for these images.',
    'messages',
  );
}

/** A string of private-use characters that no message contains. */
function freeMark(messages: readonly ChatTemplateMessage[]): string {
  const all = JSON.stringify(messages);
  let mark = '\uE0F0\uE0F1';
  while (all.includes(mark)) mark += '\uE0F1';
  return mark;
}
