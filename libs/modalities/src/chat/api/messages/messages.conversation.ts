import { invalidField } from '#gateway';
import type { ChatMessage, ChatPart, ChatTextPart } from '../../contract/chat.message.js';
import type {
  MessagesAssistantBlock,
  MessagesCacheControl,
  MessagesDocumentBlock,
  MessagesImageBlock,
  MessagesResultBlock,
  MessagesTextBlock,
  MessagesThinkingBlock,
  MessagesToolResultBlock,
  MessagesToolUseBlock,
  MessagesUserBlock,
} from '../../contract/messages/messages.blocks.js';
import type { MessagesMessage } from '../../contract/messages/messages.request.js';
import type { FieldNames } from '../job/field-names.js';

/** Decrypts the signature of reasoning; null if it is not one of this account. */
export type OpenSignature = (signature: string) => string | null;

/** A part of a message, and its field in the request. */
interface NamedPart {
  part: ChatPart;
  name: string;
  /** Names of the fields of the part that differ. */
  fields?: Readonly<Record<string, string>>;
}

type Marked = { cache_control?: MessagesCacheControl | null };

function markOf({ cache_control: mark }: Marked): { cache_control?: { type: 'ephemeral'; ttl?: string } } {
  if (!mark) return {};
  return { cache_control: { type: mark.type, ...(mark.ttl ? { ttl: mark.ttl } : {}) } };
}

/** Builds the messages of a chat from those of the Messages API. */
export class MessagesConversation {
  readonly messages: ChatMessage[] = [];

  constructor(
    private readonly names: FieldNames,
    private readonly openSignature: OpenSignature,
  ) {}

  /** Adds a system prompt; `name` is its field. An empty one is none. */
  addSystem(content: string | MessagesTextBlock[], name: string): void {
    const parts = contentParts(content, name);
    if (parts.length === 0) return;
    const path = this.push({ role: 'system', content: partsOf(parts) as ChatTextPart[] }, { name, parts });
    this.names.set(`${path}.content`, name);
  }

  /** Adds a message; `name` is its field. Throws `INVALID_REQUEST` for what no chat can hold. */
  add(message: MessagesMessage, name: string): void {
    if (message.role === 'system') this.addSystem(message.content, `${name}.content`);
    else if (message.role === 'assistant') this.addReply(message.content, name);
    else this.addUser(message.content, name);
  }

  private push(message: ChatMessage, { name, parts = [] }: { name: string; parts?: NamedPart[] }): string {
    this.messages.push(message);
    const path = `messages[${this.messages.length - 1}]`;
    this.names.set(path, name);
    for (const [position, { name: field, fields = {} }] of parts.entries()) {
      const part = `${path}.content[${position}]`;
      this.names.set(part, field);
      for (const [member, itsName] of Object.entries(fields)) this.names.set(`${part}.${member}`, itsName);
    }
    return path;
  }

  /** Results of tools are messages of their own, in the order of the blocks. */
  private addUser(content: string | MessagesUserBlock[], name: string): void {
    if (typeof content === 'string') {
      this.push({ role: 'user', content }, { name });
      return;
    }
    let parts: NamedPart[] = [];
    const flush = (): void => {
      if (parts.length > 0) this.push({ role: 'user', content: partsOf(parts) }, { name, parts });
      parts = [];
    };
    // The parts of results that are not text follow the last of them.
    let media: NamedPart[] = [];
    const before = this.messages.length;
    for (const [index, block] of content.entries()) {
      const field = `${name}.content[${index}]`;
      if (block.type === 'tool_result') {
        flush();
        append(media, this.addResult(block, field));
        continue;
      }
      append(append(parts, media), blockParts(block, field));
      media = [];
    }
    append(parts, media);
    flush();
    // Empty texts are no parts.
    if (this.messages.length === before) this.push({ role: 'user', content: '' }, { name });
  }

  /** Adds the text of a result. Returns its other parts: messages of tools hold text. */
  private addResult(block: MessagesToolResultBlock, name: string): NamedPart[] {
    const { tool_use_id: id, content, is_error: failed } = block;
    const all = contentParts(content ?? '', `${name}.content`);
    const texts = all.filter(({ part }) => isText(part));
    const media = all.filter(({ part }) => !isText(part));
    if (texts.length === 0 && media.length > 0) texts.push(textPart('The result follows.', name));
    const marked = withMark(failed === true ? withError(texts, name) : texts, block);
    const path = this.push(
      { role: 'tool', tool_call_id: id, content: marked.length === 0 ? '' : (partsOf(marked) as ChatTextPart[]) },
      { name, parts: marked },
    );
    this.names.set(`${path}.tool_call_id`, `${name}.tool_use_id`);
    return media;
  }

  private addReply(content: string | MessagesAssistantBlock[], name: string): void {
    const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
    const parts: NamedPart[] = [];
    const reasoning: string[] = [];
    const calls: { block: MessagesToolUseBlock; field: string }[] = [];
    for (const [index, block] of blocks.entries()) {
      const field = typeof content === 'string' ? `${name}.content` : `${name}.content[${index}]`;
      if (block.type === 'text') append(parts, blockParts(block, field));
      else if (block.type === 'thinking') reasoning.push(this.reasoningOf(block, field));
      else calls.push({ block, field });
    }
    const thought = reasoning.filter((text) => text !== '').join('\n');
    const path = this.push(
      {
        role: 'assistant',
        content: parts.length === 0 ? '' : (partsOf(parts) as ChatTextPart[]),
        ...(thought !== '' && { reasoning_content: thought }),
        ...(calls.length > 0 && { tool_calls: calls.map(({ block }) => toolCall(block)) }),
      },
      { name, parts },
    );
    const marked = calls.findLast(({ block }) => block.cache_control)?.block;
    if (marked !== undefined) markMessage(this.messages.at(-1), marked);
    for (const [position, { field }] of calls.entries()) {
      const call = `${path}.tool_calls[${position}]`;
      this.names.set(call, field);
      this.names.set(`${call}.function`, field);
      this.names.set(`${call}.function.arguments`, `${field}.input`);
    }
  }

  /** Reasoning that was sent without its text is in the signature. */
  private reasoningOf({ thinking, signature }: MessagesThinkingBlock, name: string): string {
    if (thinking !== '' || !signature) return thinking;
    const opened = this.openSignature(signature);
    if (opened !== null) return opened;
    const field = `${name}.signature`;
    const message = `${field} was not made by this service for this account, and there is no text of the reasoning.`;
    throw invalidField(message, field, 'invalid_signature');
  }
}

/** Unlike a call of `push` with all of them, it takes any number. */
function append(parts: NamedPart[], added: readonly NamedPart[]): NamedPart[] {
  for (const part of added) parts.push(part);
  return parts;
}

function toolCall({ id, name, input }: MessagesToolUseBlock) {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}

function isText({ type }: ChatPart): boolean {
  return type === 'text';
}

function partsOf(parts: readonly NamedPart[]): ChatPart[] {
  return parts.map(({ part }) => part);
}

function textPart(text: string, name: string): NamedPart {
  return { part: { type: 'text', text }, name };
}

/** The parts of a text, or of blocks. An empty text is no part. */
function contentParts(content: string | readonly MessagesResultBlock[], name: string): NamedPart[] {
  if (typeof content === 'string') return content === '' ? [] : [textPart(content, name)];
  return content.flatMap((block, index) => blockParts(block, `${name}[${index}]`));
}

/** The parts of a block. The last of them has its mark. */
function blockParts(block: MessagesResultBlock, name: string): NamedPart[] {
  if (block.type === 'text') {
    const { text } = block;
    return text === '' ? [] : [{ part: { type: 'text', text, ...markOf(block) }, name }];
  }
  return block.type === 'image' ? [imagePart(block, name)] : withMark(documentParts(block, name), block);
}

function withMark(parts: readonly NamedPart[], marked: Marked): NamedPart[] {
  const last = parts.at(-1);
  if (last === undefined || !marked.cache_control) return [...parts];
  return [...parts.slice(0, -1), { ...last, part: { ...last.part, ...markOf(marked) } }];
}

function imagePart(block: MessagesImageBlock, name: string): NamedPart {
  const { source } = block;
  const isUrl = source.type === 'url';
  const url = isUrl ? source.url : `data:${source.media_type};base64,${source.data}`;
  const field = `${name}.source.${isUrl ? 'url' : 'data'}`;
  return {
    part: { type: 'image_url', image_url: { url }, ...markOf(block) },
    name,
    fields: { image_url: `${name}.source`, 'image_url.url': field },
  };
}

function documentParts({ source, title, context }: MessagesDocumentBlock, name: string): NamedPart[] {
  const before = context ? [textPart(context, `${name}.context`)] : [];
  if (source.type === 'content') {
    const inner = contentParts(source.content, `${name}.source.content`);
    return [...(title ? [textPart(title, `${name}.title`)] : []), ...before, ...inner];
  }
  const isUrl = source.type === 'url';
  const bytes = source.type === 'text' ? Buffer.from(source.data).toString('base64') : isUrl ? '' : source.data;
  const data = isUrl ? source.url : `data:${source.media_type};base64,${bytes}`;
  const field = `${name}.source.${isUrl ? 'url' : 'data'}`;
  return [
    ...before,
    {
      part: { type: 'file', file: { file_data: data, ...(title ? { filename: title } : {}) } },
      name,
      fields: { file: `${name}.source`, 'file.file_data': field, 'file.filename': `${name}.title` },
    },
  ];
}

/** Says before the first text that the tool failed: chats have no field for that. */
function withError([first, ...rest]: readonly NamedPart[], name: string): NamedPart[] {
  if (first?.part.type !== 'text') return [textPart('Error: the tool failed.', name)];
  return [{ ...first, part: { ...first.part, text: `Error: ${first.part.text}` } }, ...rest];
}

/** Marks the end of a message, unless one of its parts has a mark of its own. */
export function markMessage(message: ChatMessage | undefined, marked: Marked): void {
  const content = message?.content ?? '';
  if (message === undefined || content.length === 0 || !marked.cache_control) return;
  const parts: ChatPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  if (parts.some((part) => part.cache_control !== undefined)) return;
  const last = parts.length - 1;
  const withLast = parts.map((part, index) => (index === last ? { ...part, ...markOf(marked) } : part));
  Object.assign(message, { content: withLast });
}
