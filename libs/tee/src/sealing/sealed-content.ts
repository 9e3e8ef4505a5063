import { isSealedField, textBytesOf } from './sealed-field.js';
import { SealingError } from './sealing-error.js';

/*
 * The content of a message: one sealed field, or several with line breaks between them, as joined parts and joined
 * messages have them. The line breaks belong to the text.
 */

/** Whether each line is a sealed field, and there is one at least; empty lines may stand between. */
export function isSealedContent(content: string): boolean {
  let hasField = false;
  for (const line of content.split('\n')) {
    if (line === '') continue;
    if (!isSealedField(line)) return false;
    hasField = true;
  }
  return hasField;
}

/** Bytes of UTF-8 that a content opens to; of a content that is not sealed, its own. */
export function contentBytes(content: string): number {
  if (!isSealedContent(content)) return Buffer.byteLength(content);
  const lines = content.split('\n');
  return lines.reduce((sum, line) => sum + (line === '' ? 0 : textBytesOf(line)), lines.length - 1);
}

/** The sealed fields of a content; none for a content that is not sealed. */
export function fieldsOf(content: string): string[] {
  return isSealedContent(content) ? content.split('\n').filter((line) => line !== '') : [];
}

/** A text and the place of a mark in it, in UTF-16 units. */
export interface OpenedContent {
  text: string;
  /** Absent: there was none. */
  mark?: number;
}

/**
 * Opens a content field by field; `mark` is a place between two fields. Throws a `SealingError` for a content of another
 * form, and as `open` does.
 */
export function openContent(content: string, open: (field: string) => string, mark?: number): OpenedContent {
  if (!isSealedContent(content)) throw new SealingError('not-hex');
  let [text, end, openedMark] = ['', 0, undefined as number | undefined];
  for (const [index, line] of content.split('\n').entries()) {
    if (index > 0) text += '\n';
    if (line !== '') text += open(line);
    end += line.length + (index > 0 ? 1 : 0);
    if (mark !== undefined && end <= mark) openedMark = text.length;
  }
  return { text, ...(mark !== undefined && { mark: openedMark ?? 0 }) };
}
