import { PlatformError } from '#common';
import { errorText } from '#common/values';

/** Error for an invalid downloaded file. `file` is its name in the input folder, never a path. */
export function invalidFile(file: string, reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The file ${file} cannot be converted: ${reason}.`, file);
}

const maxQuoted = 80;

/** Returns a name of the file's content for a message: short, on one line. */
export function quoted(name: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what must not be printed
  const printable = name.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
  return printable.length <= maxQuoted ? printable : `${printable.slice(0, maxQuoted)}…`;
}

/** What the JSON parser says of a file, as part of a sentence. */
export function jsonFault(error: unknown): string {
  return `it is not JSON: ${quoted(errorText(error))}`;
}
