import { type ErrorCode, errorEntry } from '#common';
import type { JobResult } from '#queue';
import type { SimDatabase } from './sim-database.js';
import { inputNano, outputNano, type SimRequest } from './sim-request.js';

/** What the database says of a story at its end. */
export interface ScenarioLedger {
  jobs: BookedJob[];
  accounts: BookedAccount[];
}

interface BookedJob {
  request_id: string;
  state: string;
  attempt: number;
  error_code: ErrorCode | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  payloads: number;
  /** Outcomes of other attempts than its own that have closed it. */
  foreign_outcomes: number;
  hold_state: string | null;
  hold_attempt: number | null;
  reserved: string | null;
  charges: number;
  charged: string;
}

interface BookedAccount {
  account_id: string;
  usd: string;
  held: string;
  diem_free: string;
  diem_allowance: string;
  limit_usd: string | null;
  spent_usd: string;
  /** Credit by another way than a charge, and how often each reference was posted. */
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
  /** True when the queue forgot everything once: then outcomes may be lost. */
  wasFlushed: boolean;
}

/** Everything that must be true at the end of a story, beside what `ledger verify` proves; resolves to what is not. */
export function auditScenario({ jobs, accounts }: ScenarioLedger, facts: ScenarioFacts): string[] {
  const problems: string[] = [];
  const rows = new Map(jobs.map((job) => [job.request_id, job]));
  for (const request of facts.requests) {
    const job = rows.get(request.id);
    const say = (text: string): void => void problems.push(`${request.id}: ${text}`);
    if (request.admission === 'refused' && job !== undefined) say('was refused and has a row');
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

function auditJob(job: BookedJob, request: SimRequest, facts: ScenarioFacts, say: (text: string) => void): void {
  const isOpen = job.state === 'queued' || job.state === 'running';
  if (isOpen) return say(`is still ${job.state}`);
  if (job.payloads > 0) say('is closed and keeps its payload');
  if (job.foreign_outcomes > 0) say(`was closed by the outcome of another attempt than ${job.attempt}`);
  if (job.hold_state === null) return say('has no hold');
  if (job.hold_state === 'open') say('is closed and keeps its hold');
  if (job.hold_attempt !== job.attempt) say(`has attempt ${job.attempt}, its hold ${job.hold_attempt}`);
  if (job.charges > 1) say(`was charged ${job.charges} times`);

  const reserved = BigInt(job.reserved ?? 0);
  const wanted = costOf(job);
  const due = wanted < reserved ? wanted : reserved;
  if (BigInt(job.charged) !== due) say(`was charged ${job.charged}, and used ${wanted} of ${reserved} reserved`);
  if (!isExplained(job, request))
    say(`is ${job.state}/${job.error_code}, which nobody has said of attempt ${job.attempt}`);

  // An api that dies between the lost answer of the database and its next try takes along that nobody wants the job. What
  // has no reader is then done and paid: it can be fetched by the id that its caller was told.
  const isForgotten = request.kind === 'async' && request.hasLostApi;
  if (request.admission === 'unavailable' && BigInt(job.charged) > 0n && !isForgotten)
    say('was not taken, and charged');
  const { answer } = request;
  if (answer === null || facts.wasFlushed) return;
  if ('usage' in answer) {
    if (job.state !== 'succeeded') say(`was answered whole, and is ${job.state}/${job.error_code}`);
    else if (answer.usage.completionTokens !== job.completion_tokens)
      say('was answered with other tokens than its row has');
  }
}

/** What the row itself says was used, when its end is one that is paid. */
function costOf({ error_code: code, prompt_tokens: prompt, completion_tokens: completion }: BookedJob): bigint {
  const isPaid = code === null || errorEntry(code).ledger === 'settle-delivered';
  if (!isPaid || prompt === null || completion === null) return 0n;
  return BigInt(prompt) * inputNano + BigInt(completion) * outputNano;
}

/** A row ends as an outcome of its attempt says, or as a sweep or the admission does when there is none. */
function isExplained(job: BookedJob, { reports }: SimRequest): boolean {
  const { state, error_code: code, completion_tokens: tokens, attempt } = job;
  if (tokens === null && (code === 'SERVICE_UNAVAILABLE' || code === 'DEVICE_LOST' || code === 'REQUEST_TIMEOUT'))
    return true;
  return reports.some((result) => saysSo(result, { state, code, tokens, attempt }));
}

function saysSo(
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

function auditAccount(account: BookedAccount, jobs: BookedJob[]): string[] {
  const problems: string[] = [];
  const say = (text: string): void => void problems.push(`account ${account.account_id}: ${text}`);
  if (BigInt(account.held) !== 0n) say(`still holds ${account.held}`);
  if (BigInt(account.usd) < 0n) say(`has ${account.usd}`);
  if (account.limit_usd !== null && BigInt(account.spent_usd) > BigInt(account.limit_usd)) {
    say(`its key has spent ${account.spent_usd} of ${account.limit_usd}`);
  }
  if (account.references.some((posted) => posted > 1)) say('was given one credit twice');
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
