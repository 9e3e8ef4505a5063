/* Responses of `api/admin/v1`. Amounts are decimal strings in USD, times are ISO 8601 in UTC. */

export interface Page<Row> {
  data: Row[];
  nextCursor: string | null;
}

export interface OverviewResponse {
  since: string;
  /** One entry per minute: its time, its requests, and how many of them failed. */
  requests: { perMinute: [string | number, number, number][] };
  tokensPerSecond: number;
  spendToday: string;
  queue: { type: string; waiting: number; running: number; oldestMs: number | null }[];
  workers: { online: number; draining: number };
  models: { online: number; offline: number };
}

export interface UsageFigures {
  requests: number;
  failed: number;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  spend: string;
}

export interface UsageGroup extends UsageFigures {
  key: string;
  label: string;
}

export interface UsageResponse {
  currency: string;
  groups: UsageGroup[];
  total: UsageFigures;
}

export interface RequestRow {
  id: string;
  queueId: string | null;
  type: string;
  model: string;
  key: string | null;
  worker: string | null;
  state: string;
  status: number | null;
  errorCode: string | null;
  createdAt: string;
  queuedMs: number | null;
  firstTokenMs: number | null;
  totalMs: number | null;
  promptTokens: number | null;
  cachedTokens: number | null;
  completionTokens: number | null;
  spend: string | null;
}

/** Members that only the page of one request has. */
export interface RequestDetail extends RequestRow {
  attempts?: number | Record<string, unknown>[];
  reservation?: Record<string, unknown> | null;
  ledgerEntries?: Record<string, unknown>[];
}
