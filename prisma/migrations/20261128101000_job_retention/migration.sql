-- Closed jobs, their results and their reservations leave the tables some time after they ended. The ledger keeps what
-- they were charged.

-- Found by age. A job enters when it is closed, always at the end of the index.
CREATE INDEX "jobs_finished_at_idx" ON "jobs"("finished_at") WHERE "finished_at" IS NOT NULL;

-- CreateTable: the deleted reservations of a key that were charged, as verification compares them with the charges that
-- have none.
CREATE TABLE "retired_holds" (
    "api_key_id" UUID NOT NULL,
    "charges" BIGINT NOT NULL DEFAULT 0 CHECK ("charges" >= 0),
    "charged_nano" BIGINT NOT NULL DEFAULT 0 CHECK ("charged_nano" >= 0),

    CONSTRAINT "retired_holds_pkey" PRIMARY KEY ("api_key_id")
);

-- AlterEnum: what the archived transactions of an account add up to.
ALTER TYPE "ledger_kind" ADD VALUE 'closing';

-- Deletes closed reservations; open ones stay.
CREATE FUNCTION ledger_retire_holds(p_requests text[]) RETURNS void LANGUAGE sql AS $$
  WITH retired AS (
    DELETE FROM holds WHERE request_id = ANY (p_requests) AND state <> 'open' RETURNING api_key_id, charged_nano
  )
  INSERT INTO retired_holds AS known (api_key_id, charges, charged_nano)
  SELECT api_key_id, count(*), sum(charged_nano) FROM retired WHERE charged_nano > 0
   GROUP BY api_key_id ORDER BY api_key_id
  ON CONFLICT (api_key_id) DO UPDATE
     SET charges = known.charges + excluded.charges, charged_nano = known.charged_nano + excluded.charged_nano
$$;

-- Deletes up to `p_rows` jobs that ended at least `p_age` ago, the oldest first, with everything that belongs to them.
-- Asynchronous jobs stay for at least `p_media_age`: until then their callers may fetch a result. A closed job with an open
-- reservation stays: `sluice ledger verify` reports it.
CREATE FUNCTION jobs_delete_closed(p_age interval, p_media_age interval, p_rows integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  doomed text[];
BEGIN
  SELECT array_agg(request_id) INTO doomed FROM (
    SELECT j.request_id FROM jobs j
     WHERE j.finished_at < now() - p_age AND j.state NOT IN ('queued', 'running')
       AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.request_id = j.request_id AND h.state = 'open')
       AND (j.finished_at < now() - p_media_age
            OR NOT EXISTS (SELECT 1 FROM media_jobs m WHERE m.request_id = j.request_id))
     ORDER BY j.finished_at LIMIT p_rows FOR UPDATE OF j SKIP LOCKED
  ) oldest;
  PERFORM ledger_retire_holds(doomed);
  DELETE FROM jobs WHERE request_id = ANY (doomed);
  RETURN COALESCE(array_length(doomed, 1), 0);
END $$;

-- Adds up to `p_rows` days of key spend, all longer ago than `p_days`, to one row per key, which has the day -infinity.
-- Returns how many days were added.
CREATE FUNCTION key_days_fold(p_days integer, p_rows integer) RETURNS integer LANGUAGE sql AS $$
  WITH old AS (
    DELETE FROM key_daily_spend d USING (
      SELECT api_key_id, day FROM key_daily_spend WHERE day < ledger_today() - p_days AND day > '-infinity'
       ORDER BY api_key_id, day LIMIT p_rows FOR UPDATE SKIP LOCKED
    ) chosen WHERE d.api_key_id = chosen.api_key_id AND d.day = chosen.day
    RETURNING d.api_key_id, d.usd_nano, d.diem_nano
  ), sums AS (
    SELECT api_key_id, sum(usd_nano) AS usd, sum(diem_nano) AS diem FROM old GROUP BY api_key_id ORDER BY api_key_id
  ), folded AS (
    INSERT INTO key_daily_spend AS known (api_key_id, day, usd_nano, diem_nano)
    SELECT api_key_id, '-infinity', usd, diem FROM sums
    ON CONFLICT (api_key_id, day) DO UPDATE
       SET usd_nano = known.usd_nano + excluded.usd_nano, diem_nano = known.diem_nano + excluded.diem_nano
  )
  SELECT count(*)::int FROM old
$$;
