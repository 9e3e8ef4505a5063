import { displayNanos, type NanoUsd, nanosOf } from '#common';
import { CheckedField } from '#platform/http';
import { type KeySettings, largestLimit, maxLimitNano, storedLimit } from '../api-key.js';

function limitProblem(value: unknown): string | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number';
  if (value < 0) return 'must not be less than 0';
  if (value > largestLimit) return `must not be greater than ${largestLimit}`;
  // Rounding 0.0000000001 would turn it into a limit that forbids everything.
  return displayNanos(nanosOf(value), 9) === value ? null : 'must have at most 9 decimals';
}

function LimitField(description: string, deprecated?: boolean): PropertyDecorator {
  const schema = { type: 'number', minimum: 0, maximum: largestLimit };
  return CheckedField({ name: 'isLimit', description, deprecated, nullable: true, schema, check: limitProblem });
}

/** `consumptionLimit` of a request. */
export class ConsumptionLimit {
  @LimitField('USD, bundled credits included; null: no limit, 0: none may be spent.')
  usd?: number | null;

  @LimitField('DIEM; null: no limit, 0: none may be spent.')
  diem?: number | null;

  @LimitField('Older name of `diem`, which wins over it.', true)
  vcu?: number | null;
}

/** Returns what the object changes; omitted members keep their values. */
export function limitChanges({ usd, diem, vcu }: ConsumptionLimit): Partial<KeySettings> {
  const changes: Partial<KeySettings> = {};
  const diemLimit = diem === undefined ? vcu : diem;
  if (usd !== undefined) changes.limitUsdNano = stored(usd);
  if (diemLimit !== undefined) changes.limitDiemNano = stored(diemLimit);
  return changes;
}

function stored(amount: number | null): NanoUsd | null {
  return amount === null ? null : storedLimit(nanosOf(amount));
}

/** Returns a limit as responses show it: the number that was given. */
export function shownLimit(nanos: NanoUsd | null): number | null {
  if (nanos === null) return null;
  return nanos === maxLimitNano ? largestLimit : displayNanos(nanos, 9);
}
