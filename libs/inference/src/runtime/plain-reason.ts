import { errorText } from '#common/values';

/** Explains common failures of the runtime; otherwise returns the first line of the runtime's error without local paths. */
export function plainReason(error: unknown): string {
  const message = errorText(error);
  if (/failed to load shared library/i.test(message)) return 'its libraries are not installed';
  if (/RequestAdapter|adapter_result/.test(message)) return 'no device was found';
  const firstLine = message.split('\n', 1)[0] ?? '';
  return firstLine.replace(/(?:\/[\w.@+-]+){2,}\/?/g, '…').slice(0, 200);
}
