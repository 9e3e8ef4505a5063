-- Sums of charges and requests per quarter of an hour, so that a year of usage is read from thousands of rows. Ops folds
-- what is older than some minutes into them; what is younger is read from the ledger and the jobs themselves. Days of
-- every time zone begin at a quarter of an hour in UTC.

-- Finds the entries of some hours without a look at the whole ledger; entries are appended in the order of their time.
CREATE INDEX "ledger_entries_created_at_idx" ON "ledger_entries" USING brin ("created_at") WITH (autosummarize = on);

-- CreateTable: charged amounts. They stay when the ledger is archived.
CREATE TABLE "usage_charges" (
    "id" BIGSERIAL NOT NULL,
    "account_id" UUID NOT NULL,
    "slot" TIMESTAMPTZ(3) NOT NULL,
    "model_id" TEXT,
    "api_key_id" UUID,
    "modality" TEXT NOT NULL,
    "sku" TEXT NOT NULL,
    "is_diem" BOOLEAN NOT NULL,
    "amount_nano" BIGINT NOT NULL,
    "units" DECIMAL(38,9) NOT NULL,

    CONSTRAINT "usage_charges_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "usage_charges_account_id_slot_idx" ON "usage_charges"("account_id", "slot");
CREATE INDEX "usage_charges_slot_idx" ON "usage_charges" USING brin ("slot");

-- CreateTable: requests that ended. They stay when the jobs are deleted.
CREATE TABLE "usage_requests" (
    "id" BIGSERIAL NOT NULL,
    "account_id" UUID NOT NULL,
    "slot" TIMESTAMPTZ(3) NOT NULL,
    "model_id" TEXT NOT NULL,
    "api_key_id" UUID NOT NULL,
    "modality" TEXT NOT NULL,
    "requests" BIGINT NOT NULL,
    "failed" BIGINT NOT NULL,
    "prompt_tokens" BIGINT NOT NULL,
    "cached_tokens" BIGINT NOT NULL,
    "completion_tokens" BIGINT NOT NULL,

    CONSTRAINT "usage_requests_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "usage_requests_account_id_slot_idx" ON "usage_requests"("account_id", "slot");
CREATE INDEX "usage_requests_slot_idx" ON "usage_requests" USING brin ("slot");

-- CreateTable: a single row. Everything before `through` is folded.
CREATE TABLE "usage_folded" (
    "id" BOOLEAN NOT NULL DEFAULT true CHECK ("id"),
    "through" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "usage_folded_pkey" PRIMARY KEY ("id")
);
INSERT INTO "usage_folded" ("through") VALUES ('-infinity');

-- What an account (null: every customer) was charged from `p_from` until before `p_to`, both at quarters of an hour. The
-- one source of usage for billing and for the console.
CREATE FUNCTION usage_charge_lines(p_account uuid, p_from timestamptz, p_to timestamptz)
  RETURNS TABLE (occurred_at timestamptz, model_id text, api_key_id uuid, modality text, sku text, is_diem boolean,
                 amount_nano bigint, units numeric)
  LANGUAGE sql STABLE AS $$
  SELECT u.slot, u.model_id, u.api_key_id, u.modality, u.sku, u.is_diem, u.amount_nano, u.units::numeric
    FROM usage_charges u WHERE (p_account IS NULL OR u.account_id = p_account) AND u.slot >= p_from AND u.slot < p_to
  UNION ALL
  SELECT e.created_at, t.model_id, t.api_key_id, COALESCE(j.modality, ''), e.sku, e.currency = 'DIEM', -e.amount_nano,
         e.units::numeric
    FROM ledger_accounts a
    JOIN ledger_entries e ON e.ledger_account_id = a.id
    JOIN ledger_transactions t ON t.id = e.transaction_id
    LEFT JOIN jobs j ON j.request_id = t.request_id
   WHERE (a.account_id = p_account OR (p_account IS NULL AND a.account_id IS NOT NULL)) AND e.sku IS NOT NULL AND e.created_at < p_to
     AND e.created_at >= GREATEST(p_from, (SELECT f.through FROM usage_folded f))
$$;

-- The requests of an account (null: of every account) that ended in that time. A request counts if it succeeded or was charged for what it had
-- delivered; only the tokens of such requests count.
CREATE FUNCTION usage_request_lines(p_account uuid, p_from timestamptz, p_to timestamptz)
  RETURNS TABLE (occurred_at timestamptz, model_id text, api_key_id uuid, modality text, requests bigint, failed bigint,
                 prompt_tokens bigint, cached_tokens bigint, completion_tokens bigint)
  LANGUAGE sql STABLE AS $$
  SELECT u.slot, u.model_id, u.api_key_id, u.modality, u.requests, u.failed, u.prompt_tokens, u.cached_tokens,
         u.completion_tokens
    FROM usage_requests u WHERE (p_account IS NULL OR u.account_id = p_account) AND u.slot >= p_from AND u.slot < p_to
  UNION ALL
  SELECT j.finished_at, j.model_id, j.api_key_id, j.modality,
         CASE WHEN j.state = 'succeeded' OR h.charged_nano > 0 THEN 1 ELSE 0 END::bigint,
         CASE WHEN j.state = 'succeeded' OR h.charged_nano > 0 THEN 0 ELSE 1 END::bigint,
         CASE WHEN j.state = 'succeeded' OR h.charged_nano > 0 THEN COALESCE(j.prompt_tokens, 0) ELSE 0 END::bigint,
         CASE WHEN j.state = 'succeeded' OR h.charged_nano > 0 THEN COALESCE(j.cached_tokens, 0) ELSE 0 END::bigint,
         CASE WHEN j.state = 'succeeded' OR h.charged_nano > 0 THEN COALESCE(j.completion_tokens, 0) ELSE 0 END::bigint
    FROM jobs j LEFT JOIN holds h ON h.request_id = j.request_id
   WHERE (p_account IS NULL OR j.account_id = p_account) AND j.finished_at < p_to
     AND j.finished_at >= GREATEST(p_from, (SELECT f.through FROM usage_folded f))
$$;

-- Folds up to `p_span` of what is older than `p_lag`, which must be longer than any transaction that closes a job takes.
-- Returns true when there is more. Replicas exclude one another.
CREATE FUNCTION usage_fold(p_lag interval, p_span interval) RETURNS boolean LANGUAGE plpgsql AS $$
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
  UPDATE usage_folded SET through = until;
  -- Three years are more than any view shows.
  DELETE FROM usage_charges WHERE slot < now() - interval '3 years';
  DELETE FROM usage_requests WHERE slot < now() - interval '3 years';
  RETURN until < latest;
END $$;
