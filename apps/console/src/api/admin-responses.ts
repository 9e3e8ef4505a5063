/* Responses of `api/admin/v1`. Amounts are decimal strings in USD, times are ISO 8601 in UTC. */

export interface Page<Row> {
  data: Row[];
  nextCursor: string | null;
}

export interface OverviewResponse {
  /** The owner of the figures. */
  scope: 'key' | 'account' | 'installation';
  since: string;
  /** The last hour. */
  minutes: { at: string; requests: number; errors: number }[];
  tokensPerSecond: number;
  spendToday: string;
  queue: { type: string; waiting: number; running: number; oldestMs: number | null }[];
  /** Null for callers that are no operators. */
  workers: { online: number; draining: number } | null;
  models: { online: number; offline: number };
}

export interface UsageFigures {
  requests: number;
  failed: number;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  spend: string;
  /** The part of `spend` that was paid in DIEM. */
  diem: string;
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
  key: { id: string; description: string; last6: string };
  state: string;
  status: number | null;
  errorCode: string | null;
  attempt: number;
  createdAt: string;
  finishedAt: string | null;
  /** Pools and id; null while the request is open. */
  worker: string | null;
  queuedMs: number;
  /** Counted from the admission. */
  firstTokenMs: number | null;
  /** On the worker. */
  executionMs: number | null;
  totalMs: number;
  promptTokens: number | null;
  cachedTokens: number | null;
  completionTokens: number | null;
  /** Null while the request is open. */
  spend: string | null;
}

export interface RequestDetail extends RequestRow {
  stream: boolean;
  enqueuedAt: string;
  startedAt: string | null;
  deadlineAt: string;
  progressPercent: number | null;
  attempts: { attempt: number; status: string; applied: boolean; processedAt: string }[];
  reservation: { state: string; reserved: string; charged: string | null } | null;
  entries: { sku: string; currency: string; amount: string; createdAt: string }[];
}
