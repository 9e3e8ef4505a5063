import { isObject } from '#common/values';
import { invalidField } from '#gateway';
import type { ChatAssistantMessage, ChatMessage, ChatPart } from '../../contract/chat.message.js';
import type {
  ReasoningTexts,
  ResponsesCustomToolCallItem,
  ResponsesCustomToolCallOutputItem,
  ResponsesFunctionCallItem,
  ResponsesFunctionCallOutputItem,
  ResponsesItem,
  ResponsesMessageItem,
  ResponsesPart,
  ResponsesPlainMessageItem,
  ResponsesReasoningItem,
} from '../../contract/responses/responses.items.js';
import { customArguments } from '../job/custom-input.js';
import { FieldNames } from '../job/field-names.js';
import { chatToolName } from './tool-names.js';

/** Decrypts `encrypted_content`; null if it cannot. */
export type OpenReasoning = (content: string) => string | null;

interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

type AssistantTurn = ChatAssistantMessage & { tool_calls?: ToolCall[] };

/** Types of text parts, which every role may send. */
const textTypes: readonly unknown[] = ['input_text', 'output_text', 'text', 'refusal'];

/** Types of other parts in the results of tools. */
const mediaTypes: readonly unknown[] = ['input_image', 'input_file', 'input_audio'];

interface NamedPart {
  part: ResponsesPart;
  /** Its field in the request. */
  name: string;
}

function textOf(part: ResponsesPart | Record<string, unknown>): string {
  const { text, refusal } = part as { text?: string; refusal?: string };
  return text ?? refusal ?? '';
}

/**
 * Builds the messages of a chat from items. Reasoning, text and function calls that follow one another are one turn of
 * the assistant, as the model generated them.
 */
export class ConversationBuilder {
  readonly messages: ChatMessage[] = [];
  /** The turn of the assistant that the last items belong to. */
  private turn: AssistantTurn | null = null;
  /** Parts of the last results of tools that are not text. */
  private media: NamedPart[] = [];

  constructor(
    private names: FieldNames,
    private readonly openReasoning: OpenReasoning,
  ) {}

  /** Adds a text message; `name` is its field in the request. */
  addText(role: 'system' | 'user', text: string, name: string): void {
    const path = this.push({ role, content: text });
    this.names.set(path, name);
    this.names.set(`${path}.content`, name);
  }

  /** Adds an item; `name` is its field in the request. Throws `INVALID_REQUEST` for what no message can hold. */
  addItem(item: ResponsesItem, name: string): void {
    if (item.type === 'reasoning') this.addReasoning(item, name);
    else if (item.type === 'function_call') this.addCall(item, name);
    else if (item.type === 'custom_tool_call') this.addCustomCall(item, name);
    else if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output')
      this.addOutput(item, name);
    // The model saw what was found in its prompt, which the item does not hold.
    else if (item.type === 'web_search_call') return;
    else if (!('role' in item)) throw unknownReference(name);
    else if (item.role === 'assistant') this.addReply(item, name);
    else this.addMessage(item, item.role, name);
  }

  /** Adds the items of an earlier response; `name` is the field of the request that refers to them. */
  addHistory(items: readonly ResponsesItem[], name: string): void {
    const { names, messages } = this;
    const before = messages.length;
    // Their parts are no fields of this request.
    this.names = new FieldNames();
    for (const item of items) this.addItem(item, name);
    this.names = names;
    for (let position = before; position < messages.length; position++) {
      names.setWhole(`messages[${position}]`, name);
    }
  }

  /** Returns the messages of all items. */
  finish(): ChatMessage[] {
    this.addMedia();
    return this.messages;
  }

  private push(message: ChatMessage): string {
    // Results of one turn follow one another.
    if (message.role !== 'tool') this.addMedia();
    this.turn = null;
    this.messages.push(message);
    return `messages[${this.messages.length - 1}]`;
  }

  private addMessage(
    { content }: ResponsesMessageItem | ResponsesPlainMessageItem,
    role: 'user' | 'system' | 'developer',
    name: string,
  ): void {
    const isText = typeof content === 'string' || content.every(({ type }) => textTypes.includes(type));
    const path = this.push({ role, content: isText || role !== 'user' ? joinedTexts(content, name) : '' });
    this.names.set(path, name);
    if (isText || role !== 'user') return;
    const kept = content.map((part, index) => ({ part, index })).filter(({ part }) => !isEmptyText(part));
    const parts = kept.map(({ part, index }, position) =>
      this.translatePart(part, { path: `${path}.content[${position}]`, name: `${name}.content[${index}]` }),
    );
    this.messages[this.messages.length - 1] = { role: 'user', content: parts };
  }

  private translatePart(part: ResponsesPart, { path, name }: { path: string; name: string }): ChatPart {
    this.names.set(path, name);
    if (part.type === 'input_image' || part.type === 'image_url') {
      const url = typeof part.image_url === 'string' ? part.image_url : part.image_url.url;
      this.names.set(`${path}.image_url.url`, `${name}.image_url`);
      return { type: 'image_url', image_url: { url } };
    }
    if (part.type === 'input_file') {
      const { file_data: data, file_url: fileUrl, filename } = part;
      const source = data ?? fileUrl;
      if (source === undefined || source === null) {
        throw invalidField(`${name} must have a file_data or a file_url.`, `${name}.file_data`, 'required');
      }
      this.names.set(`${path}.file`, name);
      this.names.set(`${path}.file.file_data`, `${name}.${data ? 'file_data' : 'file_url'}`);
      return { type: 'file', file: { file_data: source, ...(filename ? { filename } : {}) } };
    }
    const isText = part.type === 'input_text' || part.type === 'output_text' || part.type === 'refusal';
    return isText ? { type: 'text', text: textOf(part) } : part;
  }

  /** The turn that the next item of the assistant belongs to, and its path. */
  private turnFor(fits: (turn: AssistantTurn) => boolean, name: string): { turn: AssistantTurn; path: string } {
    const { turn: last } = this;
    if (last !== null && fits(last)) return { turn: last, path: `messages[${this.messages.length - 1}]` };
    const turn: AssistantTurn = { role: 'assistant', content: null };
    const path = this.push(turn);
    this.names.set(path, name);
    this.turn = turn;
    return { turn, path };
  }

  private addReasoning(item: ResponsesReasoningItem, name: string): void {
    const text = this.reasoningOf(item, name);
    if (text === '') return;
    const { turn, path } = this.turnFor(() => false, name);
    this.names.set(`${path}.reasoning_content`, name);
    Object.assign(turn, { reasoning_content: text, content: '' });
  }

  private reasoningOf(item: ResponsesReasoningItem, name: string): string {
    const { content, encrypted_content: sealed, summary } = item;
    const text = joined(content);
    if (text !== '' || !sealed) return text === '' ? joined(summary) : text;
    const opened = this.openReasoning(sealed);
    if (opened !== null) return opened;
    const field = `${name}.encrypted_content`;
    throw invalidField(
      `${field} was not encrypted by this service for this account.`,
      field,
      'invalid_encrypted_content',
    );
  }

  private addReply({ content }: ResponsesMessageItem | ResponsesPlainMessageItem, name: string): void {
    const isOpen = ({ content: text, tool_calls: calls }: AssistantTurn) => !text && calls === undefined;
    const { turn, path } = this.turnFor(isOpen, name);
    this.names.set(`${path}.content`, `${name}.content`);
    turn.content = joinedTexts(content, name);
  }

  /** Adds images and files from the results of tools as a message of the user: messages of tools hold text. */
  private addMedia(): void {
    const { media } = this;
    if (media.length === 0) return;
    this.media = [];
    const path = this.push({ role: 'user', content: [] });
    this.names.set(path, media[0]?.name.replace(/\[\d+\]$/, '') ?? path);
    const content = media.map(({ part, name }, position) =>
      this.translatePart(part, { path: `${path}.content[${position}]`, name }),
    );
    this.messages[this.messages.length - 1] = { role: 'user', content };
  }

  private addCustomCall({ input, ...call }: ResponsesCustomToolCallItem, name: string): void {
    this.addCall({ ...call, type: 'function_call', arguments: customArguments(input) }, name);
  }

  private addCall({ call_id: id, arguments: text, ...called }: ResponsesFunctionCallItem, name: string): void {
    const functionName = chatToolName(called);
    const { turn, path } = this.turnFor(() => true, name);
    const calls = (turn.tool_calls ??= []);
    const call = `${path}.tool_calls[${calls.length}]`;
    calls.push({ id, type: 'function', function: { name: functionName, arguments: text } });
    if (calls.length === 1) this.names.set(`${path}.tool_calls`, name);
    this.names.set(call, name);
    this.names.set(`${call}.id`, `${name}.call_id`);
    this.names.set(`${call}.function`, name);
  }

  private addOutput(
    { call_id: id, output }: ResponsesFunctionCallOutputItem | ResponsesCustomToolCallOutputItem,
    name: string,
  ): void {
    const { text, media } = readOutput(output, `${name}.output`);
    const path = this.push({ role: 'tool', tool_call_id: id, content: text });
    this.media.push(...media);
    this.names.set(path, name);
    this.names.set(`${path}.role`, `${name}.type`);
    this.names.set(`${path}.content`, `${name}.output`);
    this.names.set(`${path}.tool_call_id`, `${name}.call_id`);
  }
}

function joined(texts: ReasoningTexts | null | undefined): string {
  if (typeof texts === 'string') return texts;
  return (texts ?? []).map((part) => (typeof part === 'string' ? part : part.text)).join('\n');
}

function isEmptyText(part: ResponsesPart): boolean {
  return textTypes.includes(part.type) && textOf(part) === '';
}

/** Text of a message that may only hold text. Throws `INVALID_REQUEST` for another part. */
function joinedTexts(content: string | ResponsesPart[], name: string): string {
  if (typeof content === 'string') return content;
  for (const [index, { type }] of content.entries()) {
    if (textTypes.includes(type)) continue;
    const field = `${name}.content[${index}].type`;
    throw invalidField(`${field} must be one of: input_text, output_text.`, field, 'invalid_enum_value');
  }
  return content
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n');
}

/** The result of a tool: its text and its other parts. JSON that is no list of parts is written as JSON. */
function readOutput(output: unknown, name: string): { text: string; media: NamedPart[] } {
  if (typeof output === 'string') return { text: output, media: [] };
  const isParts = Array.isArray(output) && output.length > 0 && output.every((part) => isPart(part));
  if (!isParts) return { text: output === null ? '' : JSON.stringify(output), media: [] };
  const parts = (output as ResponsesPart[]).map((part, index) => ({ part, name: `${name}[${index}]` }));
  const media = parts.filter(({ part }) => !textTypes.includes(part.type));
  for (const { part, name: field } of media) {
    if (part.type !== 'input_image' || typeof part.image_url === 'string') continue;
    throw invalidField(`${field}.image_url must be a URL.`, `${field}.image_url`);
  }
  const texts = parts.filter(({ part }) => textTypes.includes(part.type)).map(({ part }) => textOf(part));
  return { text: texts.length === 0 ? 'The result follows.' : texts.join('\n'), media };
}

function isPart(part: unknown): boolean {
  if (!isObject(part)) return false;
  return textTypes.includes(part.type) ? typeof textOf(part) === 'string' : mediaTypes.includes(part.type);
}

function unknownReference(name: string) {
  const message = `${name} refers to an item that is not kept here. Send the item itself; clients do so with store: false.`;
  return invalidField(message, `${name}.id`, 'item_not_found');
}
