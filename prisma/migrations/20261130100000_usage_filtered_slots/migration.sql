-- Sums per quarter of an hour for reports by day of one model, of one key, or of one model and one key. Such a report reads
-- the rows of its model or key only, in the order of an index that has their figures.

-- CreateTable. Without `api_key_id` a row is the sum of a model, else of a key and model.
CREATE TABLE "usage_filtered_slots" (
    "id" BIGSERIAL NOT NULL,
    "account_id" UUID NOT NULL,
    "slot" TIMESTAMPTZ(3) NOT NULL,
    "model_id" TEXT,
    "api_key_id" UUID,
    "requests" BIGINT NOT NULL,
    "failed" BIGINT NOT NULL,
    "prompt_tokens" BIGINT NOT NULL,
    "cached_tokens" BIGINT NOT NULL,
    "completion_tokens" BIGINT NOT NULL,
    "amount_nano" BIGINT NOT NULL,
    "diem_nano" BIGINT NOT NULL,

    CONSTRAINT "usage_filtered_slots_pkey" PRIMARY KEY ("id")
);
-- A key is of one account, so only the sums of models are found by account.
CREATE INDEX "usage_filtered_slots_api_key_id_model_id_slot_idx" ON "usage_filtered_slots"("api_key_id", "model_id", "slot")
  INCLUDE ("account_id", "requests", "failed", "prompt_tokens", "cached_tokens", "completion_tokens", "amount_nano", "diem_nano")
  WHERE "api_key_id" IS NOT NULL;
CREATE INDEX "usage_filtered_slots_model_id_account_id_slot_idx" ON "usage_filtered_slots"("model_id", "account_id", "slot")
  INCLUDE ("api_key_id", "requests", "failed", "prompt_tokens", "cached_tokens", "completion_tokens", "amount_nano", "diem_nano")
  WHERE "api_key_id" IS NULL;
CREATE INDEX "usage_filtered_slots_slot_idx" ON "usage_filtered_slots" USING brin ("slot");

-- Charges and requests of an account (null: of every account) and of a key, a model, or both (null: of all), from `p_from`
-- until before `p_to`, both at quarters of an hour. Without key and model, `usage_slot_figures` has them.
CREATE FUNCTION usage_filtered_figures(p_account uuid, p_key uuid, p_model text, p_from timestamptz, p_to timestamptz)
  RETURNS TABLE (occurred_at timestamptz, requests bigint, failed bigint, prompt_tokens bigint, cached_tokens bigint,
                 completion_tokens bigint, amount_nano bigint, diem_nano bigint)
  LANGUAGE sql STABLE AS $$
  SELECT u.slot, u.requests, u.failed, u.prompt_tokens, u.cached_tokens, u.completion_tokens, u.amount_nano, u.diem_nano
    FROM usage_filtered_slots u
   WHERE CASE WHEN p_key IS NULL THEN u.api_key_id IS NULL ELSE u.api_key_id = p_key END
     AND (p_model IS NULL OR u.model_id = p_model)
     AND (p_account IS NULL OR u.account_id = p_account) AND u.slot >= p_from AND u.slot < p_to
  UNION ALL
  SELECT f.occurred_at, f.requests, f.failed, f.prompt_tokens, f.cached_tokens, f.completion_tokens, f.amount_nano,
         f.diem_nano
    FROM usage_figures(p_account, GREATEST(p_from, (SELECT d.through FROM usage_folded d)), p_to) f
   WHERE (p_key IS NULL OR f.api_key_id = p_key) AND (p_model IS NULL OR f.model_id = p_model)
$$;

-- Adds what is folded from `p_since` until before `p_until` to the sums of models and keys.
CREATE FUNCTION usage_sum_up_filtered(p_since timestamptz, p_until timestamptz) RETURNS void LANGUAGE sql AS $$
  INSERT INTO usage_filtered_slots (account_id, slot, model_id, api_key_id, requests, failed, prompt_tokens, cached_tokens,
                                    completion_tokens, amount_nano, diem_nano)
  SELECT account_id, slot, model_id, api_key_id, sum(requests), sum(failed), sum(prompt), sum(cached), sum(completion),
         sum(amount), sum(diem)
    FROM (SELECT account_id, slot, model_id, api_key_id, 0 AS requests, 0 AS failed, 0 AS prompt, 0 AS cached,
                 0 AS completion, amount_nano AS amount, CASE WHEN is_diem THEN amount_nano ELSE 0 END AS diem
            FROM usage_charges WHERE slot >= p_since AND slot < p_until
          UNION ALL
          SELECT account_id, slot, model_id, api_key_id, requests, failed, prompt_tokens, cached_tokens,
                 completion_tokens, 0, 0
            FROM usage_requests WHERE slot >= p_since AND slot < p_until) folded
   GROUP BY account_id, slot, model_id, GROUPING SETS ((), (api_key_id))
  -- A charge without model or key is in no report of one.
  HAVING CASE WHEN grouping(api_key_id) = 1 THEN model_id IS NOT NULL ELSE api_key_id IS NOT NULL END
   ORDER BY slot, account_id
$$;

-- As before, and the sums of models and keys. `usage_fold` calls it, also in processes of the previous version.
CREATE OR REPLACE FUNCTION usage_sum_up(p_since timestamptz, p_until timestamptz) RETURNS void LANGUAGE plpgsql AS $$
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
  PERFORM usage_sum_up_filtered(p_since, p_until);
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
  -- Three years, as of the other sums (`usage_fold`).
  DELETE FROM usage_filtered_slots WHERE slot < now() - interval '3 years';
END $$;

-- What was folded before. A fold that runs meanwhile ends first, and the next one waits for this migration.
SELECT through FROM usage_folded FOR UPDATE;
SELECT usage_sum_up_filtered('-infinity', through) FROM usage_folded;
