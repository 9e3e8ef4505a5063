-- Sums of usage with fewer dimensions, so that a year of many requests is read from few rows: per quarter of an hour and
-- account for reports by day, since days of every time zone begin at a quarter, and per day in UTC, model, key and modality
-- for the other reports, whose first and last hours are read as before. `usage_fold` writes all of them in one transaction.

-- CreateTable
CREATE TABLE "usage_slots" (
    "id" BIGSERIAL NOT NULL,
    "account_id" UUID NOT NULL,
    "slot" TIMESTAMPTZ(3) NOT NULL,
    "requests" BIGINT NOT NULL,
    "failed" BIGINT NOT NULL,
    "prompt_tokens" BIGINT NOT NULL,
    "cached_tokens" BIGINT NOT NULL,
    "completion_tokens" BIGINT NOT NULL,
    "amount_nano" BIGINT NOT NULL,
    "diem_nano" BIGINT NOT NULL,

    CONSTRAINT "usage_slots_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "usage_slots_account_id_slot_idx" ON "usage_slots"("account_id", "slot");
CREATE INDEX "usage_slots_slot_idx" ON "usage_slots" USING brin ("slot");

-- CreateTable
CREATE TABLE "usage_days" (
    "id" BIGSERIAL NOT NULL,
    "account_id" UUID NOT NULL,
    "slot" TIMESTAMPTZ(3) NOT NULL,
    "model_id" TEXT,
    "api_key_id" UUID,
    "modality" TEXT NOT NULL,
    "requests" BIGINT NOT NULL,
    "failed" BIGINT NOT NULL,
    "prompt_tokens" BIGINT NOT NULL,
    "cached_tokens" BIGINT NOT NULL,
    "completion_tokens" BIGINT NOT NULL,
    "amount_nano" BIGINT NOT NULL,
    "diem_nano" BIGINT NOT NULL,

    CONSTRAINT "usage_days_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "usage_days_account_id_slot_idx" ON "usage_days"("account_id", "slot");
CREATE INDEX "usage_days_slot_idx" ON "usage_days" USING brin ("slot");

-- Charges and requests of an account (null: every account) from `p_from` until before `p_to`, both at quarters of an hour.
CREATE FUNCTION usage_figures(p_account uuid, p_from timestamptz, p_to timestamptz)
  RETURNS TABLE (occurred_at timestamptz, model_id text, api_key_id uuid, modality text, requests bigint, failed bigint,
                 prompt_tokens bigint, cached_tokens bigint, completion_tokens bigint, amount_nano bigint, diem_nano bigint)
  LANGUAGE sql STABLE AS $$
  SELECT c.occurred_at, c.model_id, c.api_key_id, c.modality, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint,
         c.amount_nano, CASE WHEN c.is_diem THEN c.amount_nano ELSE 0 END
    FROM usage_charge_lines(p_account, p_from, p_to) c
  UNION ALL
  SELECT r.occurred_at, r.model_id, r.api_key_id, r.modality, r.requests, r.failed, r.prompt_tokens, r.cached_tokens,
         r.completion_tokens, 0::bigint, 0::bigint
    FROM usage_request_lines(p_account, p_from, p_to) r
$$;

-- The same sums without model, key and modality.
CREATE FUNCTION usage_slot_figures(p_account uuid, p_from timestamptz, p_to timestamptz)
  RETURNS TABLE (occurred_at timestamptz, requests bigint, failed bigint, prompt_tokens bigint, cached_tokens bigint,
                 completion_tokens bigint, amount_nano bigint, diem_nano bigint)
  LANGUAGE sql STABLE AS $$
  SELECT u.slot, u.requests, u.failed, u.prompt_tokens, u.cached_tokens, u.completion_tokens, u.amount_nano, u.diem_nano
    FROM usage_slots u WHERE (p_account IS NULL OR u.account_id = p_account) AND u.slot >= p_from AND u.slot < p_to
  UNION ALL
  SELECT f.occurred_at, f.requests, f.failed, f.prompt_tokens, f.cached_tokens, f.completion_tokens, f.amount_nano,
         f.diem_nano
    FROM usage_figures(p_account, GREATEST(p_from, (SELECT d.through FROM usage_folded d)), p_to) f
$$;

-- The same sums for reports that do not need the time: whole days in UTC from their sums, and the quarters around them.
CREATE FUNCTION usage_day_figures(p_account uuid, p_from timestamptz, p_to timestamptz)
  RETURNS TABLE (model_id text, api_key_id uuid, modality text, requests bigint, failed bigint, prompt_tokens bigint,
                 cached_tokens bigint, completion_tokens bigint, amount_nano bigint, diem_nano bigint)
  LANGUAGE plpgsql STABLE AS $$
DECLARE
  -- The first and the last midnight in UTC within the range and what is folded; equal where no whole day is. Hours, since a
  -- day has 23 of them where the zone of the database changes its clocks.
  first_day timestamptz := date_trunc('day', p_from + interval '24 hours' - interval '1 ms', 'UTC');
  end_day timestamptz := date_trunc('day', LEAST(p_to, (SELECT f.through FROM usage_folded f)), 'UTC');
BEGIN
  first_day := LEAST(first_day, p_to);
  end_day := GREATEST(first_day, end_day);
  IF p_account IS NULL THEN
    RETURN QUERY SELECT u.model_id, u.api_key_id, u.modality, u.requests, u.failed, u.prompt_tokens, u.cached_tokens,
                        u.completion_tokens, u.amount_nano, u.diem_nano
      FROM usage_days u WHERE u.slot >= first_day AND u.slot < end_day;
  ELSE
    RETURN QUERY SELECT u.model_id, u.api_key_id, u.modality, u.requests, u.failed, u.prompt_tokens, u.cached_tokens,
                        u.completion_tokens, u.amount_nano, u.diem_nano
      FROM usage_days u WHERE u.account_id = p_account AND u.slot >= first_day AND u.slot < end_day;
  END IF;
  RETURN QUERY SELECT f.model_id, f.api_key_id, f.modality, f.requests, f.failed, f.prompt_tokens, f.cached_tokens,
                      f.completion_tokens, f.amount_nano, f.diem_nano
    FROM usage_figures(p_account, p_from, first_day) f;
  RETURN QUERY SELECT f.model_id, f.api_key_id, f.modality, f.requests, f.failed, f.prompt_tokens, f.cached_tokens,
                      f.completion_tokens, f.amount_nano, f.diem_nano
    FROM usage_figures(p_account, end_day, p_to) f;
END $$;

-- Adds what is folded from `p_since` until before `p_until` to the sums with fewer dimensions. A day is added once, when
-- its last quarter is folded.
CREATE FUNCTION usage_sum_up(p_since timestamptz, p_until timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  since_day timestamptz := date_trunc('day', p_since, 'UTC');
  until_day timestamptz := date_trunc('day', p_until, 'UTC');
BEGIN
  INSERT INTO usage_slots (account_id, slot, requests, failed, prompt_tokens, cached_tokens, completion_tokens, amount_nano,
                           diem_nano)
  SELECT account_id, slot, sum(requests), sum(failed), sum(prompt), sum(cached), sum(completion), sum(amount), sum(diem)
    FROM (SELECT account_id, slot, 0 AS requests, 0 AS failed, 0 AS prompt, 0 AS cached, 0 AS completion,
                 amount_nano AS amount, CASE WHEN is_diem THEN amount_nano ELSE 0 END AS diem
            FROM usage_charges WHERE slot >= p_since AND slot < p_until
          UNION ALL
          SELECT account_id, slot, requests, failed, prompt_tokens, cached_tokens, completion_tokens, 0, 0
            FROM usage_requests WHERE slot >= p_since AND slot < p_until) folded
   GROUP BY account_id, slot ORDER BY slot, account_id;
  IF since_day < until_day THEN
    INSERT INTO usage_days (account_id, slot, model_id, api_key_id, modality, requests, failed, prompt_tokens,
                            cached_tokens, completion_tokens, amount_nano, diem_nano)
    SELECT account_id, day, model_id, api_key_id, modality, sum(requests), sum(failed), sum(prompt), sum(cached),
           sum(completion), sum(amount), sum(diem)
      FROM (SELECT account_id, date_trunc('day', slot, 'UTC') AS day, model_id, api_key_id, modality, 0 AS requests,
                   0 AS failed, 0 AS prompt, 0 AS cached, 0 AS completion, amount_nano AS amount,
                   CASE WHEN is_diem THEN amount_nano ELSE 0 END AS diem
              FROM usage_charges WHERE slot >= since_day AND slot < until_day
            UNION ALL
            SELECT account_id, date_trunc('day', slot, 'UTC'), model_id, api_key_id, modality, requests, failed,
                   prompt_tokens, cached_tokens, completion_tokens, 0, 0
              FROM usage_requests WHERE slot >= since_day AND slot < until_day) folded
     GROUP BY account_id, day, model_id, api_key_id, modality ORDER BY day, account_id;
  END IF;
END $$;

-- As before, and adds to the sums with fewer dimensions. Processes of the previous version call it too.
CREATE OR REPLACE FUNCTION usage_fold(p_lag interval, p_span interval) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  quarter CONSTANT interval := interval '15 minutes';
  origin CONSTANT timestamptz := '2000-01-01T00:00:00Z';
  latest timestamptz := date_bin(quarter, now() - p_lag, origin);
  since timestamptz;
  until timestamptz;
BEGIN
  SELECT f.through INTO since FROM usage_folded f FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF since = '-infinity' THEN
    since := LEAST(
      latest,
      (SELECT date_bin(quarter, e.created_at, origin) FROM ledger_entries e ORDER BY e.id LIMIT 1),
      (SELECT date_bin(quarter, j.finished_at, origin) FROM jobs j WHERE j.finished_at IS NOT NULL
        ORDER BY j.finished_at LIMIT 1));
  END IF;
  until := LEAST(latest, since + p_span);
  IF until <= since THEN
    RETURN false;
  END IF;
  INSERT INTO usage_charges (account_id, slot, model_id, api_key_id, modality, sku, is_diem, amount_nano, units)
  SELECT t.account_id, date_bin(quarter, e.created_at, origin), t.model_id, t.api_key_id, COALESCE(j.modality, ''), e.sku,
         e.currency = 'DIEM', -sum(e.amount_nano), COALESCE(sum(e.units), 0)
    FROM ledger_entries e
    JOIN ledger_transactions t ON t.id = e.transaction_id
    LEFT JOIN jobs j ON j.request_id = t.request_id
   WHERE e.sku IS NOT NULL AND e.created_at >= since AND e.created_at < until
   GROUP BY 1, 2, 3, 4, 5, 6, 7;
  INSERT INTO usage_requests (account_id, slot, model_id, api_key_id, modality, requests, failed, prompt_tokens,
                              cached_tokens, completion_tokens)
  SELECT c.account_id, c.slot, c.model_id, c.api_key_id, c.modality, count(*) FILTER (WHERE c.counts),
         count(*) FILTER (WHERE NOT c.counts), COALESCE(sum(c.prompt_tokens) FILTER (WHERE c.counts), 0),
         COALESCE(sum(c.cached_tokens) FILTER (WHERE c.counts), 0),
         COALESCE(sum(c.completion_tokens) FILTER (WHERE c.counts), 0)
    FROM (SELECT j.*, date_bin(quarter, j.finished_at, origin) AS slot,
                 j.state = 'succeeded' OR COALESCE(h.charged_nano, 0) > 0 AS counts
            FROM jobs j LEFT JOIN holds h ON h.request_id = j.request_id
           WHERE j.finished_at >= since AND j.finished_at < until) c
   GROUP BY 1, 2, 3, 4, 5;
  PERFORM usage_sum_up(since, until);
  UPDATE usage_folded SET through = until;
  -- Three years are more than any view shows.
  DELETE FROM usage_charges WHERE slot < now() - interval '3 years';
  DELETE FROM usage_requests WHERE slot < now() - interval '3 years';
  DELETE FROM usage_slots WHERE slot < now() - interval '3 years';
  DELETE FROM usage_days WHERE slot < now() - interval '3 years';
  RETURN until < latest;
END $$;

-- What was folded before. A fold that runs meanwhile ends first, and the next one waits for this migration.
SELECT through FROM usage_folded FOR UPDATE;
SELECT usage_sum_up('-infinity', through) FROM usage_folded;
