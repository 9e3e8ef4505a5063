import { UploadedFile } from './form-body.js';
import { CheckedField } from './wire-fields.js';

interface FileFieldOptions {
  description: string;
  required?: boolean;
  /** True where the field may also be a text: base64, a data URL, or a URL. Default false: a real file. */
  orText?: boolean;
  /** True where an empty one is left to whoever reads it, who has a code of its own for that. Default false: refused here. */
  mayBeEmpty?: boolean;
}

const asFile = { type: 'string', format: 'binary' };

/** A file of a form, or where the route allows it a text in its place; the value is `UploadedFile | string`. */
export function FileField({ orText = false, mayBeEmpty = false, ...options }: FileFieldOptions): PropertyDecorator {
  return CheckedField({
    ...options,
    name: 'isFile',
    schema: orText ? { anyOf: [asFile, { type: 'string' }] } : asFile,
    check: (value) => problemOf(value, { orText, mayBeEmpty }),
  });
}

/** A repeated field of files (or texts); the value is `(UploadedFile | string)[]`. */
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
    // So named that a form's single file becomes a list of one.
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
