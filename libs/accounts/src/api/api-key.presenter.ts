import { formatNanos } from '#common';
import type { ApiKeyRecord } from '../api-key.js';
import type { CreatedKey, UsedKey } from '../keys/api-keys.service.js';
import type {
  ChangedKeyResponse,
  CreatedKeyResponse,
  KeyLimitsResponse,
  KeyPeriodUsageResponse,
  KeyResponse,
} from './api-key.response.js';
import { shownLimit } from './key-limits.field.js';

function limitsOf({ limitUsdNano, limitDiemNano }: ApiKeyRecord): KeyLimitsResponse {
  const diem = shownLimit(limitDiemNano);
  return { usd: shownLimit(limitUsdNano), diem, vcu: diem };
}

function settingsOf({ id, kind, limitPeriod, modelPrivacy, description, expiresAt }: ApiKeyRecord) {
  return { id, apiKeyType: kind, limitPeriod, modelPrivacy, description, expiresAt: expiresAt?.toISOString() ?? null };
}

export function presentCreatedKey({ key, record }: CreatedKey): CreatedKeyResponse {
  return { apiKey: key, ...settingsOf(record), consumptionLimit: limitsOf(record) };
}

export function presentChangedKey(record: ApiKeyRecord): ChangedKeyResponse {
  return {
    ...settingsOf(record),
    consumptionLimits: limitsOf(record),
    createdAt: record.createdAt.toISOString(),
    last6Chars: record.last6,
    lastUsedAt: record.lastUsedAt?.toISOString() ?? null,
  };
}

export function presentKey(used: UsedKey): KeyResponse {
  const { sevenDaysUsdNano, sevenDaysDiemNano } = used.usage;
  const diem = formatNanos(sevenDaysDiemNano);
  return {
    ...presentChangedKey(used.record),
    usage: { trailingSevenDays: { usd: formatNanos(sevenDaysUsdNano), vcu: diem, diem } },
    ...periodUsageOf(used),
  };
}

function periodUsageOf({ record, usage }: UsedKey): { currentPeriodUsage?: KeyPeriodUsageResponse } {
  if (record.limitUsdNano === null && record.limitDiemNano === null) return {};
  return {
    currentPeriodUsage: { usd: formatNanos(usage.periodUsdNano), diem: formatNanos(usage.periodDiemNano) },
  };
}
