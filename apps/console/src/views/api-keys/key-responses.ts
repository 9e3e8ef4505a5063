/* Responses of `api/v1/api_keys`. */

export interface ApiKey {
  id: string;
  apiKeyType: 'INFERENCE' | 'ADMIN';
  description: string;
  last6Chars: string;
  limitPeriod: string;
  modelPrivacy: string;
  consumptionLimits: { usd: number | null; diem: number | null };
  createdAt: string | null;
  expiresAt: string | null;
  lastUsedAt: string | null;
  usage?: { trailingSevenDays: { usd: string; diem: string } };
  /** Only keys with limits have it. */
  currentPeriodUsage?: { usd: string; diem: string };
}

export interface CreatedKey {
  data: { id: string; apiKey: string; description: string };
}
