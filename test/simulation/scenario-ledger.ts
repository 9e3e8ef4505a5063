import { type ErrorCode, errorEntry } from '#common';
import type { JobResult } from '#queue';
import type { SimDatabase } from './sim-database.js';
import { inputNano, outputNano, type SimRequest } from './sim-request.js';

/** Database state at the end of a scenario. */
export interface ScenarioLedger {
  jobs: LedgerJobState[];
  accounts: LedgerAccountState[];
}

interface LedgerJobState {
  request_id: string;
  state: string;
  attempt: number;
  error_code: ErrorCode | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  payloads: number;
  /** Job results of other attempts that closed it. */
  foreign_outcomes: number;
  hold_state: string | null;
  hold_attempt: number | null;
  reserved: string | null;
  charges: number;
  charged: string;
}

interface LedgerAccountState {
  account_id: string;
  usd: string;
  held: string;
  diem_free: string;
  diem_allowance: string;
  limit_usd: string | null;
  spent_usd: string;
  /** Credit other than charges, and how often each reference was posted. */
  given_usd: string;
  references: number[];
}

const statement = `
SELECT (SELECT COALESCE(json_agg(j), '[]') FROM (
  SELECT j.request_id, j.state, j.attempt, j.error_code, j.prompt_tokens, j.completion_tokens,
         (SELECT count(*) FROM job_payloads p WHERE p.request_id = j.request_id) AS payloads,
         (SELECT count(*) FROM outcomes o
           WHERE o.request_id = j.request_id AND o.applied AND o.attempt <> j.attempt) AS foreign_outcomes,
         h.state AS hold_state, h.attempt AS hold_attempt,
         (h.diem_nano + h.bundled_nano + h.usd_nano)::text AS reserved,
         (SELECT count(*) FROM ledger_transactions t WHERE t.request_id = j.request_id AND t.kind = 'charge') AS charges,
         COALESCE((SELECT -sum(e.amount_nano) FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.id
                    WHERE t.request_id = j.request_id AND e.amount_nano < 0), 0)::text AS charged
    FROM jobs j LEFT JOIN holds h ON h.request_id = j.request_id WHERE j.request_id = ANY ($2::text[])) j) AS jobs,
  (SELECT json_agg(a) FROM (
  SELECT b.account_id, b.usd_nano::text AS usd, (b.usd_held_nano + b.diem_held_nano)::text AS held,
         (b.diem_nano - b.diem_held_nano)::text AS diem_free, b.diem_allowance_nano::text AS diem_allowance,
         k.limit_usd_nano::text AS limit_usd, COALESCE(s.day_usd_nano, 0)::text AS spent_usd,
         COALESCE((SELECT sum(e.amount_nano) FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id
                     JOIN ledger_accounts l ON l.id = e.ledger_account_id AND l.account_id = b.account_id
                    WHERE l.currency = 'USD' AND t.kind <> 'charge'), 0)::text AS given_usd,
         (SELECT COALESCE(json_agg(posted), '[]') FROM (SELECT count(*) AS posted FROM ledger_transactions t
            WHERE t.account_id = b.account_id AND t.reference IS NOT NULL GROUP BY t.reference) r) AS "references"
    FROM balances b JOIN api_keys k ON k.account_id = b.account_id LEFT JOIN key_spend s ON s.api_key_id = k.id
   WHERE b.account_id = ANY ($1::uuid[])) a) AS accounts`;

export async function readScenarioLedger(
  database: SimDatabase,
  accountIds: readonly string[],
  requests: readonly SimRequest[],
): Promise<ScenarioLedger> {
  const [row] = await database.look<ScenarioLedger>(statement, [accountIds, requests.map(({ id }) => id)]);
  if (row === undefined) throw new Error('the database did not answer');
  return row;
}

export interface ScenarioFacts {
  requests: readonly SimRequest[];
  /** True when the queue has lost its data: job results may then be lost. */
  wasFlushed: boolean;
}

/** Checks all invariants at the end of a scenario besides those of `ledger verify`; resolves to the violations. */
export function auditScenario({ jobs, accounts }: ScenarioLedger, facts: ScenarioFacts): string[] {
  const problems: string[] = [];
  const rows = new Map(jobs.map((job) => [job.request_id, job]));
  for (const request of facts.requests) {
    const job = rows.get(request.id);
    const say = (text: string): void => void problems.push(`${request.id}: ${text}`);
    if (request.admission === 'refused' && job !== undefined) say('was rejected and has a row');
    if (request.admission === 'admitted' && job === undefined) say('was admitted and has no row');
    if (job !== undefined) auditJob(job, request, facts, say);
  }
  for (const account of accounts) {
    const charged = jobs.filter((job) =>
      facts.requests.some(({ id, accountId }) => id === job.request_id && accountId === account.account_id),
    );
    problems.push(...auditAccount(account, charged));
  }
  return problems;
}

function auditJob(job: LedgerJobState, request: SimRequest, facts: ScenarioFacts, say: (text: string) => void): void {
  const isOpen = job.state === 'queued' || job.state === 'running';
  if (isOpen) return say(`is still ${job.state}`);
  if (job.payloads > 0) say('is closed and keeps its payload');
  if (job.foreign_outcomes > 0) say(`was closed by the result of another attempt than ${job.attempt}`);
  if (job.hold_state === null) return say('has no reservation');
  if (job.hold_state === 'open') say('is closed and keeps its reservation');
  if (job.hold_attempt !== job.attempt) say(`has attempt ${job.attempt}, its reservation ${job.hold_attempt}`);
  if (job.charges > 1) say(`was charged ${job.charges} times`);

  const reserved = BigInt(job.reserved ?? 0);
  const wanted = costOf(job);
  const due = wanted < reserved ? wanted : reserved;
  if (BigInt(job.charged) !== due) say(`was charged ${job.charged}, and used ${wanted} of ${reserved} reserved`);
  if (!isExplained(job, request))
    say(`is ${job.state}/${job.error_code}, which nobody has reported for attempt ${job.attempt}`);

  // An API replica that dies between the lost reply of the database and its retry cannot abandon the job. A job without
  // a reader then runs and is charged; its result can be fetched by the id that the client received.
  const isForgotten = request.kind === 'async' && request.hasLostApi;
  if (request.admission === 'unavailable' && BigInt(job.charged) > 0n && !isForgotten)
    say('was not started, and charged');
  const { answer } = request;
  if (answer === null || facts.wasFlushed) return;
  if ('usage' in answer) {
    if (job.state !== 'succeeded') say(`was completed for the client, and is ${job.state}/${job.error_code}`);
    else if (answer.usage.completionTokens !== job.completion_tokens) say('returned other tokens than its row has');
  }
}

/** Usage recorded in the row, if its end is charged. */
function costOf({ error_code: code, prompt_tokens: prompt, completion_tokens: completion }: LedgerJobState): bigint {
  const isPaid = code === null || errorEntry(code).ledger === 'settle-delivered';
  if (!isPaid || prompt === null || completion === null) return 0n;
  return BigInt(prompt) * inputNano + BigInt(completion) * outputNano;
}

/** A row ends with the result of its attempt or, if there is none, as a sweep or the admission decides. */
function isExplained(job: LedgerJobState, { reports }: SimRequest): boolean {
  const { state, error_code: code, completion_tokens: tokens, attempt } = job;
  if (tokens === null && (code === 'SERVICE_UNAVAILABLE' || code === 'DEVICE_LOST' || code === 'REQUEST_TIMEOUT'))
    return true;
  return reports.some((result) => isReportedBy(result, { state, code, tokens, attempt }));
}

function isReportedBy(
  result: JobResult,
  row: { state: string; code: string | null; tokens: number | null; attempt: number },
): boolean {
  const isExpired = result.status === 'failed' && result.error?.code === 'REQUEST_TIMEOUT';
  return (
    result.attempt === row.attempt &&
    (isExpired ? 'expired' : result.status) === row.state &&
    (result.status === 'succeeded' ? null : (result.error?.code ?? null)) === row.code &&
    (result.usage?.completionTokens ?? null) === row.tokens
  );
}

function auditAccount(account: LedgerAccountState, jobs: LedgerJobState[]): string[] {
  const problems: string[] = [];
  const say = (text: string): void => void problems.push(`account ${account.account_id}: ${text}`);
  if (BigInt(account.held) !== 0n) say(`still has ${account.held} reserved`);
  if (BigInt(account.usd) < 0n) say(`has ${account.usd}`);
  if (account.limit_usd !== null && BigInt(account.spent_usd) > BigInt(account.limit_usd)) {
    say(`its key has spent ${account.spent_usd} of ${account.limit_usd}`);
  }
  if (account.references.some((posted) => posted > 1)) say('received one credit twice');
  // A stake pays first, in DIEM; without one, every charge is in USD.
  if (BigInt(account.diem_allowance) > 0n) {
    if (BigInt(account.diem_free) > BigInt(account.diem_allowance))
      say(`has ${account.diem_free} DIEM of ${account.diem_allowance}`);
    return problems;
  }
  const charged = jobs.reduce((sum, job) => sum + BigInt(job.charged), 0n);
  const expected = BigInt(account.given_usd) - charged;
  if (BigInt(account.usd) !== expected) say(`has ${account.usd}, and should have ${expected}`);
  return problems;
}
