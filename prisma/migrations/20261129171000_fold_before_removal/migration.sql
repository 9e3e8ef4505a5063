-- Reports read usage from sums where `usage_fold` has been, and from jobs and ledger entries behind it. Neither may leave its
-- table before it is in the sums: after an upgrade, or while ops is stopped, there may be months to fold.

-- As before, and only jobs that are folded.
CREATE OR REPLACE FUNCTION jobs_delete_closed(p_age interval, p_media_age interval, p_rows integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  doomed text[];
BEGIN
  SELECT array_agg(request_id) INTO doomed FROM (
    SELECT j.request_id FROM jobs j
     WHERE j.finished_at < LEAST(now() - p_age, (SELECT f.through FROM usage_folded f)) AND j.state NOT IN ('queued', 'running')
       AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.request_id = j.request_id AND h.state = 'open')
       AND (j.finished_at < now() - p_media_age
            OR NOT EXISTS (SELECT 1 FROM media_jobs m WHERE m.request_id = j.request_id))
     ORDER BY j.finished_at LIMIT p_rows FOR UPDATE OF j SKIP LOCKED
  ) oldest;
  PERFORM ledger_retire_holds(doomed);
  DELETE FROM jobs WHERE request_id = ANY (doomed);
  RETURN COALESCE(array_length(doomed, 1), 0);
END $$;

-- As before, and only once everything before the month of the archive is folded.
CREATE OR REPLACE FUNCTION ledger_archive_transactions(p_archive bigint, p_ids bigint[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  archive ledger_archives;
  present bigint[];
  replaced bigint[];
  closed uuid;
  posted bigint;
BEGIN
  SELECT * INTO archive FROM ledger_archives WHERE id = p_archive AND finished_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no open archive %', p_archive USING ERRCODE = 'foreign_key_violation';
  END IF;
  IF archive.before > (SELECT f.through FROM usage_folded f) THEN
    RAISE EXCEPTION 'usage before % is not summed up yet', archive.before
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  IF EXISTS (SELECT 1 FROM ledger_transactions t WHERE t.id = ANY (p_ids)
              AND (t.created_at >= archive.before OR t.id > archive.last_id OR t.reference IS NOT NULL
                   OR t.kind = 'closing')) THEN
    RAISE EXCEPTION 'archive % does not hold these transactions', p_archive USING ERRCODE = 'check_violation';
  END IF;
  SELECT COALESCE(array_agg(id), '{}') INTO present FROM ledger_transactions WHERE id = ANY (p_ids);

  INSERT INTO archived_sums AS known (ledger_account_id, amount_nano)
  SELECT ledger_account_id, sum(amount_nano) FROM ledger_entries WHERE transaction_id = ANY (present)
   GROUP BY ledger_account_id ORDER BY ledger_account_id
  ON CONFLICT (ledger_account_id) DO UPDATE SET amount_nano = known.amount_nano + excluded.amount_nano;

  -- The reservations of these charges go, too; those that went before are not compared with anything any more.
  PERFORM ledger_retire_holds(ARRAY(SELECT request_id FROM ledger_transactions WHERE id = ANY (present) AND kind = 'charge'));
  WITH charges AS (
    SELECT t.api_key_id, count(DISTINCT t.id) AS charges,
           COALESCE(-sum(e.amount_nano) FILTER (WHERE e.currency <> 'DIEM'), 0) AS usd,
           COALESCE(-sum(e.amount_nano) FILTER (WHERE e.currency = 'DIEM'), 0) AS diem
      FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.id AND e.amount_nano < 0
     WHERE t.id = ANY (present) AND t.kind = 'charge' GROUP BY t.api_key_id
  ), retired AS (
    UPDATE retired_holds r SET charges = r.charges - c.charges, charged_nano = r.charged_nano - c.usd - c.diem
      FROM charges c WHERE c.api_key_id = r.api_key_id
  )
  INSERT INTO archived_key_charges AS known (api_key_id, charges, usd_nano, diem_nano)
  SELECT api_key_id, charges, usd, diem FROM charges ORDER BY api_key_id
  ON CONFLICT (api_key_id) DO UPDATE SET charges = known.charges + excluded.charges,
     usd_nano = known.usd_nano + excluded.usd_nano, diem_nano = known.diem_nano + excluded.diem_nano;

  PERFORM set_config('sluice.ledger_archive', p_archive::text, true);
  FOR closed IN SELECT DISTINCT account_id FROM ledger_transactions WHERE id = ANY (present) ORDER BY account_id LOOP
    replaced := ARRAY(SELECT id FROM ledger_transactions WHERE account_id = closed AND kind = 'closing'
                      UNION ALL SELECT id FROM ledger_transactions WHERE id = ANY (present) AND account_id = closed);
    INSERT INTO ledger_transactions (kind, account_id, note)
    VALUES ('closing', closed, 'transactions in the archive before ' || (archive.before AT TIME ZONE 'UTC')::date)
    RETURNING id INTO posted;
    INSERT INTO ledger_entries (transaction_id, ledger_account_id, currency, amount_nano)
    SELECT posted, ledger_account_id, currency, sum(amount_nano) FROM ledger_entries WHERE transaction_id = ANY (replaced)
     GROUP BY ledger_account_id, currency HAVING sum(amount_nano) <> 0;
    IF NOT FOUND THEN
      replaced := replaced || posted;
    END IF;
    DELETE FROM ledger_entries WHERE transaction_id = ANY (replaced);
    DELETE FROM ledger_transactions WHERE id = ANY (replaced);
  END LOOP;
  PERFORM set_config('sluice.ledger_archive', '', true);
  UPDATE ledger_archives SET deleted = deleted + cardinality(present) WHERE id = p_archive;
  RETURN cardinality(present);
END $$;
