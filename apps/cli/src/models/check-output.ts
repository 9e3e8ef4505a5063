import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PlatformError } from '#common';

/** Writes the output of a check and returns its absolute path. Throws `INVALID_REQUEST` if it cannot be written. */
export async function writeCheckOutput(path: string, content: Buffer): Promise<string> {
  const whole = resolve(path);
  await writeFile(whole, content).catch((cause: unknown) => {
    const message = `${whole} could not be written: ${(cause as Error).message}`;
    throw new PlatformError('INVALID_REQUEST', message, null, { cause });
  });
  return whole;
}
