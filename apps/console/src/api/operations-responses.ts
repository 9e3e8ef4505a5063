/* Responses of `api/admin/v1` about the installation, its money and its health. */

import type { Page } from './admin-responses.js';

export interface QueueRow {
  type: string;
  model: string;
  pools: string[];
  waiting: number;
  running: number;
  oldestMs: number | null;
  retries: number;
  claimingWorkers: number;
}

export interface WorkerModel {
  id: string;
  state: string;
  /** Why it is not served; null while it is. */
  reason: string | null;
  memory: Record<string, number>;
  slots: number;
  running: number;
}

export interface WorkerRow {
  id: string;
  state: 'active' | 'drained';
  pools: string[];
  host: string | null;
  pod: string | null;
  version: string | null;
  since: string;
  slots: number;
  running: number;
  devices: { name: string; totalBytes: number; usedBytes: number }[];
  models: WorkerModel[];
}

export interface ModelRow {
  id: string;
  name: string;
  type: string;
  family: string;
  state: 'online' | 'loading' | 'offline' | 'disabled';
  reason: string | null;
  internal: boolean;
  sizeBytes: number | null;
  placements: { pool: string; pinned: boolean; replicas: number | null }[];
  workers: string[];
  prices: Record<string, unknown> | null;
}

export interface BillingResponse {
  balances: { usd: string; bundled: string; diem: string | null; diemAllowance: string | null };
  reserved: string;
  entries: Page<BillingEntry>;
  topUps: TopUpRow[];
}

export interface TopUpRow {
  id: string;
  at: string;
  state: string;
  network: string;
  amount: string;
  credited: string;
  transaction: string | null;
  message: string | null;
}

export interface BillingEntry {
  id: string;
  at: string;
  kind: string;
  currency: string;
  amount: string;
  sku: string | null;
  requestId: string | null;
  note: string | null;
}

export interface HealthResponse {
  version: string;
  dependencies: { name: string; ok: boolean; detail: string | null }[];
  ledger: { verifiedAt: string; tookMs: number; ok: boolean; findings: { check: string; count: number }[] } | null;
  alerts: AlertsResponse;
}

export interface AlertsResponse {
  data: AlertRow[];
  /** Names of all alerts that an api judges. */
  judged: string[];
  /** Names of judged alerts whose figures could not be read. */
  unknown: string[];
}

export interface AlertRow {
  name: string;
  severity: 'critical' | 'warning';
  state: 'pending' | 'firing';
  summary: string;
  since: string;
  forSeconds: number;
  runbook: string;
  runbookUrl: string | null;
}
