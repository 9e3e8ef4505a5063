import type { Platform } from '#test/platform';

/** One request as recorded in the database. */
export interface JobLedger {
  requestId: string;
  state: string;
  errorCode: string | null;
  attempt: number;
  promptTokens: number | null;
  completionTokens: number | null;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  reservationState: 'open' | 'settled' | 'released' | null;
  /** Number of charges in the ledger, and their sum. */
  charges: number;
  chargedNano: bigint;
}

const statement = `
  SELECT j.request_id AS "requestId", j.state::text AS state, j.error_code AS "errorCode", j.attempt,
         j.prompt_tokens AS "promptTokens", j.completion_tokens AS "completionTokens", j.created_at AS "createdAt",
         j.started_at AS "startedAt", j.finished_at AS "finishedAt", h.state::text AS "reservationState",
         (SELECT count(*)::int FROM ledger_transactions t WHERE t.request_id = j.request_id AND t.kind = 'charge') AS charges,
         COALESCE((SELECT -sum(e.amount_nano) FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.id
                    WHERE t.request_id = j.request_id AND e.amount_nano < 0), 0)::text AS charged
    FROM jobs j LEFT JOIN holds h ON h.request_id = j.request_id`;

type Row = Omit<JobLedger, 'chargedNano'> & { charged: string };

function toLedger({ charged, ...row }: Row): JobLedger {
  return { ...row, chargedNano: BigInt(charged) };
}

/** All requests, in order of admission. */
export async function readLedger(platform: Platform): Promise<JobLedger[]> {
  return (await platform.query<Row>(`${statement} ORDER BY j.created_at`)).map(toLedger);
}

/** The given requests; throws if one is missing. */
export async function ledgerOf(platform: Platform, requestIds: string[]): Promise<JobLedger[]> {
  const rows = await platform.query<Row>(`${statement} WHERE j.request_id = ANY ($1)`, [requestIds]);
  const byId = new Map(rows.map((row) => [row.requestId, toLedger(row)]));
  return requestIds.map((requestId) => {
    const ledgerState = byId.get(requestId);
    if (ledgerState === undefined) throw new Error(`there is no row of ${requestId}`);
    return ledgerState;
  });
}

/** Price of a chat with the tiny models: 0.1 USD per million input tokens, 0.2 per million output tokens. */
export function chatCostNano({ promptTokens, completionTokens }: JobLedger): bigint {
  return BigInt((promptTokens ?? 0) * 100 + (completionTokens ?? 0) * 200);
}
