import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Currency, currencies } from '#common';

/** The filter of a usage history. */
export interface UsageFilter {
  currency: Currency | null;
  /** Inclusive, ms since the epoch. */
  startMs: number | null;
  /** Exclusive. */
  endMs: number | null;
  pageSize: number;
}

/** The last entry of a page. */
export interface UsagePosition {
  createdAtMs: number;
  entryId: bigint;
}

export interface UsageCursor {
  filter: UsageFilter;
  after: UsagePosition;
}

/** How long a cursor stays valid, in ms. */
export const cursorMs = 24 * 3_600_000;

const macBytes = 32;
const alphabet = /^[A-Za-z0-9_-]{1,512}$/;

type Packed = [expiresAtMs: number, createdAtMs: number, entryId: string, filter: (number | null)[]];

function macOf(key: Buffer, accountId: string, payload: Buffer): Buffer {
  return createHmac('sha256', key).update(accountId).update('\0').update(payload).digest();
}

/**
 * A position in an account's usage history as opaque text. Its signature covers the account: another account's cursor
 * is as invalid as an altered one.
 */
export function writeCursor(key: Buffer, accountId: string, { filter, after }: UsageCursor, nowMs: number): string {
  const { currency, startMs, endMs, pageSize } = filter;
  const currencyIndex = currency === null ? null : currencies.indexOf(currency);
  const packed: Packed = [
    nowMs + cursorMs,
    after.createdAtMs,
    String(after.entryId),
    [currencyIndex, startMs, endMs, pageSize],
  ];
  const payload = Buffer.from(JSON.stringify(packed));
  return Buffer.concat([macOf(key, accountId, payload), payload]).toString('base64url');
}

/** Returns null for a cursor that no key wrote, that belongs to another account, was altered, or is older than 24 h. */
export function readCursor(
  keys: readonly Buffer[],
  accountId: string,
  text: string,
  nowMs: number,
): UsageCursor | null {
  if (!alphabet.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  // Different text that decodes to the same bytes is still invalid.
  if (bytes.length <= macBytes || bytes.toString('base64url') !== text) return null;
  const payload = bytes.subarray(macBytes);
  const mac = bytes.subarray(0, macBytes);
  if (!keys.some((key) => timingSafeEqual(mac, macOf(key, accountId, payload)))) return null;
  const [expiresAtMs, createdAtMs, entryId, filter] = JSON.parse(payload.toString('utf8')) as Packed;
  if (expiresAtMs <= nowMs) return null;
  const [currencyIndex = null, startMs = null, endMs = null, pageSize] = filter;
  return {
    filter: {
      currency: currencyIndex === null ? null : (currencies[currencyIndex] ?? null),
      startMs,
      endMs,
      pageSize: pageSize ?? 0,
    },
    after: { createdAtMs, entryId: BigInt(entryId) },
  };
}
