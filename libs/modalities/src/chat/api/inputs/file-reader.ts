import { Injectable } from '@nestjs/common';
import { contextOverflow } from '#common';
import { DocumentExtractor } from '#documents';
import { Egress } from '#egress';
import { decodeInline, isDataUrl } from '#media';
import { callerOf } from '#platform/http';
import type { ChatFile, ChatFilePart, ChatPart } from '../../contract/chat.message.js';
import { chatModel } from '../job/chat.model.js';
import { maxPromptBytes } from '../job/prompt-length.js';
import { withoutFrame } from '../job/prompt-frames.js';
import type { PartContext, PartReader } from './part-reader.js';

const maxFileBytes = 25 * 1024 * 1024;
const fetchTimeoutMs = 30_000;
const maxNameLength = 200;

interface LoadedFile {
  bytes: Buffer;
  filename: string;
  contentType: string;
}

/** Reads files as text: inline ones, and those of public URLs. */
@Injectable()
export class FilePartReader implements PartReader {
  readonly type = 'file';
  readonly maxParts = 10;

  constructor(
    private readonly documents: DocumentExtractor,
    private readonly egress: Egress,
  ) {}

  /**
   * Returns the text between marks with the file's name. Rejects with what is wrong with the file, and with
   * `TOO_MANY_TOKENS` if its text alone is longer than the model's context.
   */
  async read(part: ChatPart, { param, opened }: PartContext): Promise<string> {
    opened.requireServed();
    const { contextLength } = chatModel(opened.resolved, { systemPrompt: null });
    const { disconnected, request } = opened.http;
    const field = `${param}.file.file_data`;
    const owner = callerOf(request).accountId;
    const source = { owner, param: field, signal: disconnected };
    const file = await this.load((part as ChatFilePart).file, source);
    const { text, isTruncated } = await this.documents.extract({
      ...file,
      owner,
      param: field,
      maxCharacters: maxPromptBytes(contextLength),
      signal: disconnected,
    });
    if (isTruncated) throw contextOverflow(contextLength, { counted: `more than ${contextLength}` });
    return marked(file.filename, text);
  }

  private async load(
    { file_data: data, filename = '' }: ChatFile,
    { owner, param, signal }: { owner: string; param: string; signal: AbortSignal },
  ): Promise<LoadedFile> {
    const limits = { maxBytes: maxFileBytes, param };
    if (isDataUrl(data) || !/^[a-z][a-z0-9+.-]*:\/\//i.test(data)) return { ...decodeInline(data, limits), filename };
    const { url, bytes, contentType } = await this.egress.read({
      url: data,
      owner,
      ...limits,
      timeoutMs: fetchTimeoutMs,
      signal,
    });
    return { bytes, contentType, filename: filename === '' ? nameInUrl(url) : filename };
  }
}

function nameInUrl(url: string): string {
  const name = new URL(url).pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Marks where the text of a file begins and ends. Neither its name nor its text can contain the marks. */
function marked(filename: string, text: string): string {
  const name = filename
    .replaceAll(/[\p{Cc}"<>]/gu, ' ')
    .trim()
    .slice(0, maxNameLength);
  const opening = name === '' ? '<file>' : `<file name="${name}">`;
  return `${opening}\n${withoutFrame(text, 'file')}\n</file>`;
}
