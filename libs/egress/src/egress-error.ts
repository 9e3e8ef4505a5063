import { PlatformError } from '#common';

/** The URL or its target cannot be used. `problem` follows the field's name, or "The URL". */
export function refusedUrl(problem: string, param: string | null, cause?: unknown): PlatformError {
  return new PlatformError('INVALID_REQUEST', `${param ?? 'The URL'} ${problem}.`, param, { cause });
}

export function remoteTooLarge(maxBytes: number, param: string | null): PlatformError {
  const message = `${param ?? 'The URL'} leads to more than ${maxBytes} bytes.`;
  return new PlatformError('PAYLOAD_TOO_LARGE', message, param);
}
