-- Transactions of closed months can leave the ledger for a file. A closing transaction of each account stands for them, so
-- that every balance stays the sum of its entries.

-- CreateTable: one export. Transactions may be deleted while it has a hash and is not finished.
CREATE TABLE "ledger_archives" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY,
    -- Transactions before this time, without those that have a reference: references stay unique for ever.
    "before" TIMESTAMPTZ(3) NOT NULL,
    "file" TEXT NOT NULL,
    "sha256" TEXT NOT NULL CHECK ("sha256" ~ '^[0-9a-f]{64}$'),
    "transactions" BIGINT NOT NULL,
    "entries" BIGINT NOT NULL,
    -- Highest id in the file.
    "last_id" BIGINT NOT NULL,
    "deleted" BIGINT NOT NULL DEFAULT 0 CHECK ("deleted" <= "transactions"),
    "exported_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "ledger_archives_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "ledger_archives_finished_when_deleted" CHECK ("finished_at" IS NULL OR "deleted" = "transactions")
);

-- One at a time.
CREATE UNIQUE INDEX "ledger_archives_one_open" ON "ledger_archives"(("finished_at" IS NULL)) WHERE "finished_at" IS NULL;

-- CreateTable: the sum of the archived entries of a ledger account. Verification compares it with the closing entries.
CREATE TABLE "archived_sums" (
    "ledger_account_id" BIGINT NOT NULL,
    "amount_nano" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "archived_sums_pkey" PRIMARY KEY ("ledger_account_id")
);

-- CreateTable: the archived charges of a key, which its spend counts on.
CREATE TABLE "archived_key_charges" (
    "api_key_id" UUID NOT NULL,
    "charges" BIGINT NOT NULL DEFAULT 0,
    "usd_nano" BIGINT NOT NULL DEFAULT 0,
    "diem_nano" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "archived_key_charges_pkey" PRIMARY KEY ("api_key_id")
);

CREATE INDEX "ledger_transactions_closing_idx" ON "ledger_transactions"("account_id") WHERE "kind" = 'closing';

-- The ledger only appends; what an archive has in its file may be deleted by `ledger_archive_transactions`.
CREATE OR REPLACE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME IN ('ledger_transactions', 'ledger_entries') AND EXISTS (
    SELECT 1 FROM ledger_archives
     WHERE finished_at IS NULL AND id::text = current_setting('sluice.ledger_archive', true)
  ) THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION '% only appends: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;

-- Replaces transactions that are in the file of an open archive by closing transactions, one per account, which take in those
-- of earlier archives. Returns how many were deleted; those that are gone already count as zero. No balance changes, so
-- nothing of a running request is locked.
CREATE FUNCTION ledger_archive_transactions(p_archive bigint, p_ids bigint[]) RETURNS integer LANGUAGE plpgsql AS $$
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
