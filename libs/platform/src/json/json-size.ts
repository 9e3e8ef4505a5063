import { PlatformError } from '#common';

/** What one JSON body may hold. Time and memory of a parsed body depend on these counts, not on its bytes. */
export const jsonLimits = {
  /** Strings, numbers, literals, objects and arrays. */
  values: 200_000,
  /** Members of all objects: each different name costs far more than a value. */
  members: 50_000,
  /** Objects and arrays. */
  containers: 100_000,
} as const;

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openArray = 0x5b;
const backslash = 0x5c;
const openObject = 0x7b;

function tooMany(limit: number, what: string): PlatformError {
  return new PlatformError(
    'PAYLOAD_TOO_LARGE',
    `The body holds more than ${limit.toLocaleString('en-US')} ${what}, the limit of a JSON body.`,
  );
}

/**
 * Counts values, members and containers in one pass over the bytes, before anything is built from them. Counts malformed
 * bodies too high or too low by a few, which the parser then rejects. Throws `PAYLOAD_TOO_LARGE`.
 */
export function checkJsonSize(bytes: Uint8Array): void {
  let values = 1;
  let members = 0;
  let containers = 0;
  let insideString = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === quote) insideString = !insideString;
    else if (insideString) {
      if (byte === backslash) index += 1;
    } else if (byte === comma) {
      values += 1;
      if (values > jsonLimits.values) throw tooMany(jsonLimits.values, 'values');
    } else if (byte === colon) {
      members += 1;
      if (members > jsonLimits.members) throw tooMany(jsonLimits.members, 'members of objects');
    } else if (byte === openObject || byte === openArray) {
      containers += 1;
      values += 1;
      if (containers > jsonLimits.containers) throw tooMany(jsonLimits.containers, 'objects and arrays');
    }
  }
}
