import { Prisma } from '#platform/prisma';

/**
 * Verifies the ledger in one statement: one snapshot, one scan of the entries, under any load. Counts what is broken;
 * see `VerifyReport`.
 */
export const verifyStatement = Prisma.sql`
  WITH sums AS MATERIALIZED (
    SELECT transaction_id, currency, ledger_account_id, sum(amount_nano) AS amount, count(*) AS entries
      FROM ledger_entries GROUP BY GROUPING SETS ((transaction_id, currency), (ledger_account_id))
  ), held AS MATERIALIZED (
    SELECT account_id, api_key_id, sum(diem_nano) AS diem, sum(bundled_nano) AS bundled, sum(usd_nano) AS usd,
           count(*) AS holds
      FROM holds WHERE state = 'open' GROUP BY account_id, api_key_id
  ), customer AS (
    SELECT a.account_id, COALESCE(sum(s.amount) FILTER (WHERE a.currency = 'DIEM'), 0) AS diem,
           COALESCE(sum(s.amount) FILTER (WHERE a.currency = 'BUNDLED'), 0) AS bundled,
           COALESCE(sum(s.amount) FILTER (WHERE a.currency = 'USD'), 0) AS usd
      FROM ledger_accounts a LEFT JOIN sums s ON s.ledger_account_id = a.id
     WHERE a.account_id IS NOT NULL GROUP BY a.account_id
  ), account_held AS (
    SELECT account_id, sum(diem) AS diem, sum(bundled) AS bundled, sum(usd) AS usd FROM held GROUP BY account_id
  ), charges AS MATERIALIZED (
    SELECT t.request_id, t.api_key_id, count(DISTINCT t.id) AS charges, sum(s.diem) AS diem, sum(s.usd) AS usd
      FROM ledger_transactions t
      JOIN (SELECT transaction_id, -sum(amount_nano) FILTER (WHERE currency = 'DIEM') AS diem,
                   -sum(amount_nano) FILTER (WHERE currency <> 'DIEM') AS usd
              FROM ledger_entries WHERE amount_nano < 0 GROUP BY transaction_id) s ON s.transaction_id = t.id
     WHERE t.kind = 'charge' GROUP BY t.request_id, t.api_key_id
  ), key_charges AS (
    SELECT api_key_id, COALESCE(sum(diem), 0) AS diem, COALESCE(sum(usd), 0) AS usd FROM charges GROUP BY api_key_id
  ), key_days AS (
    SELECT api_key_id, sum(diem_nano) AS diem, sum(usd_nano) AS usd FROM key_daily_spend GROUP BY api_key_id
  ), matched AS MATERIALIZED (
    SELECT h.request_id AS hold, h.state, h.charged_nano, c.request_id AS charge, c.api_key_id, c.charges,
           COALESCE(c.diem, 0) + COALESCE(c.usd, 0) AS posted
      FROM (SELECT * FROM holds WHERE state <> 'open') h FULL JOIN charges c ON c.request_id = h.request_id
  ), unmatched AS (
    SELECT api_key_id, sum(charges) AS charges, sum(posted) AS posted FROM matched WHERE hold IS NULL GROUP BY api_key_id
  ), closings AS (
    SELECT e.ledger_account_id, sum(e.amount_nano) AS amount
      FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.id
     WHERE t.kind = 'closing' GROUP BY e.ledger_account_id
  ), topped_up AS (
    SELECT split_part(t.reference, ':', 2) AS id, sum(e.amount_nano) AS posted
      FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.id
      JOIN ledger_accounts a ON a.id = e.ledger_account_id AND a.account_id IS NOT NULL
     WHERE t.reference LIKE 'x402-top-up:%' GROUP BY 1
  ), key_held AS (
    SELECT api_key_id, sum(diem) AS diem, sum(bundled + usd) AS usd FROM held GROUP BY api_key_id
  )
  SELECT jsonb_build_object(
    'figures', jsonb_build_object(
      'accounts', (SELECT count(*) FROM balances),
      'transactions', (SELECT count(*) FROM ledger_transactions),
      'entries', (SELECT COALESCE(sum(entries), 0) FROM sums WHERE ledger_account_id IS NOT NULL),
      'openReservations', (SELECT COALESCE(sum(holds), 0) FROM held),
      'archivedTransactions', (SELECT COALESCE(sum(deleted), 0) FROM ledger_archives),
      'chargedNano', ((SELECT COALESCE(sum(diem), 0) + COALESCE(sum(usd), 0) FROM key_charges)
        + (SELECT COALESCE(sum(usd_nano + diem_nano), 0) FROM archived_key_charges))::text,
      'heldNano', (SELECT COALESCE(sum(diem + bundled + usd), 0) FROM held)::text
    ),
    'breaks', jsonb_build_object(
      'unbalancedTransactions',
        (SELECT count(DISTINCT transaction_id) FROM sums WHERE transaction_id IS NOT NULL AND amount <> 0),
      'totalNano', (SELECT COALESCE(sum(amount), 0) FROM sums WHERE ledger_account_id IS NOT NULL)::text,
      'negativeBalances', (SELECT count(*) FROM balances
        WHERE LEAST(diem_nano - diem_held_nano, bundled_nano - bundled_held_nano, usd_nano - usd_held_nano,
                    diem_held_nano, bundled_held_nano, usd_held_nano) < 0),
      'wrongBalances', (SELECT count(*) FROM balances b
        LEFT JOIN customer c ON c.account_id = b.account_id LEFT JOIN account_held h ON h.account_id = b.account_id
        WHERE (b.diem_nano, b.bundled_nano, b.usd_nano) IS DISTINCT FROM (c.diem, c.bundled, c.usd)
           OR (b.diem_held_nano, b.bundled_held_nano, b.usd_held_nano)
              IS DISTINCT FROM (COALESCE(h.diem, 0), COALESCE(h.bundled, 0), COALESCE(h.usd, 0))),
      'openReservationsWithoutOpenJob', (SELECT count(*) FROM holds h WHERE h.state = 'open' AND NOT EXISTS
        (SELECT 1 FROM jobs j WHERE j.request_id = h.request_id AND j.state IN ('queued', 'running'))),
      'openJobsWithoutOpenReservation', (SELECT count(*) FROM jobs j WHERE j.state IN ('queued', 'running') AND NOT EXISTS
        (SELECT 1 FROM holds h WHERE h.request_id = j.request_id AND h.state = 'open')),
      'jobsChargedTwice', (SELECT count(*) FROM (SELECT request_id FROM charges
        GROUP BY request_id HAVING sum(charges) > 1) twice),
      'wrongCharges', (SELECT count(*) FROM matched
        WHERE hold IS NOT NULL AND ((state = 'released' AND charge IS NOT NULL) OR charged_nano <> posted)),
      -- Reservations are deleted some time after their jobs; charges outlive them.
      'wrongRetiredCharges', (SELECT count(*) FROM unmatched u
        FULL JOIN retired_holds r ON r.api_key_id = u.api_key_id
        WHERE (COALESCE(u.charges, 0), COALESCE(u.posted, 0))
              IS DISTINCT FROM (COALESCE(r.charges, 0)::numeric, COALESCE(r.charged_nano, 0)::numeric)),
      'wrongClosings', (SELECT count(*) FROM closings c
        FULL JOIN archived_sums a ON a.ledger_account_id = c.ledger_account_id
        WHERE COALESCE(c.amount, 0) <> COALESCE(a.amount_nano, 0)),
      -- A settled payment without its credit, a credit without its payment, or one of another amount.
      'wrongTopUps', (SELECT count(*) FROM top_ups u FULL JOIN topped_up t ON t.id = u.id::text
        WHERE u.id IS NULL OR u.posted_nano <> COALESCE(t.posted, 0)
           OR (u.state = 'settled' AND u.posted_nano <> u.amount_nano)),
      'wrongKeySpend', (SELECT count(*) FROM key_spend s
        FULL JOIN key_charges c ON c.api_key_id = s.api_key_id FULL JOIN key_held h ON h.api_key_id = s.api_key_id
        LEFT JOIN key_days d ON d.api_key_id = s.api_key_id
        LEFT JOIN archived_key_charges a ON a.api_key_id = s.api_key_id
        WHERE (COALESCE(s.lifetime_usd_nano, 0), COALESCE(s.lifetime_diem_nano, 0))
              IS DISTINCT FROM (COALESCE(c.usd, 0) + COALESCE(a.usd_nano, 0), COALESCE(c.diem, 0) + COALESCE(a.diem_nano, 0))
           OR (COALESCE(s.lifetime_usd_nano, 0), COALESCE(s.lifetime_diem_nano, 0))
              IS DISTINCT FROM (COALESCE(d.usd, 0), COALESCE(d.diem, 0))
           OR (COALESCE(s.held_usd_nano, 0), COALESCE(s.held_diem_nano, 0))
              IS DISTINCT FROM (COALESCE(h.usd, 0), COALESCE(h.diem, 0)))
    )
  ) AS report`;
