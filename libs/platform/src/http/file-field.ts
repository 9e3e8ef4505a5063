import { UploadedFile } from './form-body.js';
import { CheckedField } from './request-fields.js';

interface FileFieldOptions {
  description: string;
  required?: boolean;
  /** True when the field may also be a string: base64, a data URL, or a URL. Default: false, files only. */
  orText?: boolean;
  /** True when the reader of an empty file rejects it with its own code. Default: false, rejected here. */
  mayBeEmpty?: boolean;
}

const asFile = { type: 'string', format: 'binary' };

/** A file of a form, or a string where the route allows it; the value is `UploadedFile | string`. */
export function FileField({ orText = false, mayBeEmpty = false, ...options }: FileFieldOptions): PropertyDecorator {
  return CheckedField({
    ...options,
    name: 'isFile',
    schema: orText ? { anyOf: [asFile, { type: 'string' }] } : asFile,
    check: (value) => problemOf(value, { orText, mayBeEmpty }),
  });
}

/** A repeated field of files (or strings); the value is `(UploadedFile | string)[]`. */
export function FileListField({
  orText = false,
  mayBeEmpty = false,
  minItems = 0,
  maxItems,
  ...options
}: FileFieldOptions & { minItems?: number; maxItems: number }): PropertyDecorator {
  const items = orText ? { anyOf: [asFile, { type: 'string' }] } : asFile;
  return CheckedField({
    ...options,
    // Named so that a single file of a form becomes a list of one.
    name: 'isArray',
    schema: { type: 'array', items, minItems, maxItems },
    check: (value) => {
      if (!Array.isArray(value)) return 'must be an array';
      if (value.length < minItems) return `must contain at least ${minItems} elements`;
      if (value.length > maxItems) return `must contain no more than ${maxItems} elements`;
      return value.map((item) => problemOf(item, { orText, mayBeEmpty })).find((problem) => problem !== null) ?? null;
    },
  });
}

function problemOf(value: unknown, { orText, mayBeEmpty }: { orText: boolean; mayBeEmpty: boolean }): string | null {
  if (value instanceof UploadedFile) return value.bytes.length === 0 && !mayBeEmpty ? 'is empty' : null;
  if (!orText) return 'must be a file part of a form';
  if (typeof value !== 'string') return 'must be a file or a string';
  return value === '' && !mayBeEmpty ? 'is empty' : null;
}
