/**
 * The tables that a backup holds. A new table is added here, or to `omittedTables` with a reason;
 * `test/architecture/backup.spec.ts` compares both with the schema.
 */
export const backedUpTables: readonly string[] = [
  ...['accounts', 'api_keys', 'wallets', 'wallet_nonces', 'spent_web3_tokens', 'top_ups', 'sent_transactions'],
  ...['models', 'model_aliases', 'model_placements', 'placement_revision', 'model_installations', 'prices'],
  ...['jobs', 'job_payloads', 'outcomes', 'media_jobs', 'download_links', 'idempotency_keys'],
  ...['ledger_accounts', 'ledger_transactions', 'ledger_entries', 'ledger_verification', 'balances', 'holds'],
  ...['retired_holds', 'ledger_archives', 'archived_sums', 'archived_key_charges', 'key_spend', 'key_daily_spend'],
  ...['usage_charges', 'usage_requests', 'usage_slots', 'usage_filtered_slots', 'usage_days', 'usage_folded'],
  ...['rate_limit_overrides', 'rate_limit_log', 'cloned_voices', 'response_states', 'exchange_signatures'],
  ...['characters', 'character_reviews', 'character_documents', 'character_passages', 'bundled_characters'],
  'key_fingerprints',
];

/** Tables that a restored installation fills by itself, and why they stay empty. */
export const omittedTables: Readonly<Record<string, string>> = {
  console_links: 'links that sign in are valid for minutes',
  console_sessions: 'a restored copy accepts no sign-in that ended meanwhile; operators sign in again',
  model_installers: 'processes that run',
  rate_limit_leases: 'requests that are open at the moment',
  rate_limit_windows: 'counts of the last minutes',
  search_results: 'a cache of web searches',
  worker_holdings: 'workers that run',
};

/** The history of migrations, which the restore writes by migrating. */
export const historyTable = '_prisma_migrations';
