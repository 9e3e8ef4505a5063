-- Rate limits: what operators have set instead of the table of limits, what was refused, and, where there is no Redis,
-- the windows themselves.

-- CreateTable: limits of an account, of a key, or (neither) of the whole installation, per minute. `target` is a model
-- class, `model:<id>`, or `*`. Null leaves a limit as it is.
CREATE TABLE "rate_limit_overrides" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY,
    "account_id" UUID,
    "api_key_id" UUID,
    "target" TEXT NOT NULL,
    "requests_per_minute" BIGINT CHECK ("requests_per_minute" BETWEEN 0 AND 1000000000),
    "tokens_per_minute" BIGINT CHECK ("tokens_per_minute" BETWEEN 0 AND 1000000000000),
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "rate_limit_overrides_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "rate_limit_overrides_one_subject" CHECK ("account_id" IS NULL OR "api_key_id" IS NULL),
    CONSTRAINT "rate_limit_overrides_says_something" CHECK ("requests_per_minute" IS NOT NULL OR "tokens_per_minute" IS NOT NULL)
);

-- CreateTable: refusals that callers may read, the last 50 of an account. `model_id` is empty where no model is meant.
CREATE TABLE "rate_limit_log" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY,
    "account_id" UUID NOT NULL,
    "api_key_id" UUID NOT NULL,
    "model_id" TEXT NOT NULL,
    "tier" TEXT NOT NULL,
    "type" TEXT NOT NULL CHECK ("type" IN ('RPD', 'RPM', 'TPM', 'FAILED_REQUESTS', 'UNSUPPORTED_FEATURE_REQUESTS')),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "rate_limit_log_pkey" PRIMARY KEY ("id")
);

-- CreateTable: one sliding window each: requests and tokens per slot of time. Unlogged: after a crash of the server all
-- windows begin anew, and a request costs no flush of the log to disk.
CREATE UNLOGGED TABLE "rate_limit_windows" (
    "key" TEXT NOT NULL,
    "slots" BIGINT[] NOT NULL DEFAULT '{}',
    "requests" BIGINT[] NOT NULL DEFAULT '{}',
    "tokens" BIGINT[] NOT NULL DEFAULT '{}',
    "blocked_until" TIMESTAMPTZ(3),
    "touched_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "rate_limit_windows_pkey" PRIMARY KEY ("key")
) WITH (fillfactor = 50);

-- AlterTable: the tokens that were reserved at admission, and in which slot, so that whoever closes the job can put
-- them right. Null where no token limit holds.
ALTER TABLE "jobs" ADD COLUMN "limit_slot" BIGINT, ADD COLUMN "limit_tokens" BIGINT;

-- CreateIndex
CREATE UNIQUE INDEX "rate_limit_overrides_account_key" ON "rate_limit_overrides"("account_id", "target") WHERE "account_id" IS NOT NULL;
CREATE UNIQUE INDEX "rate_limit_overrides_api_key_key" ON "rate_limit_overrides"("api_key_id", "target") WHERE "api_key_id" IS NOT NULL;
CREATE UNIQUE INDEX "rate_limit_overrides_global_key" ON "rate_limit_overrides"("target") WHERE "account_id" IS NULL AND "api_key_id" IS NULL;
CREATE INDEX "rate_limit_log_account_id_id_idx" ON "rate_limit_log"("account_id", "id");

-- AddForeignKey
ALTER TABLE "rate_limit_overrides" ADD CONSTRAINT "rate_limit_overrides_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "rate_limit_overrides" ADD CONSTRAINT "rate_limit_overrides_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "rate_limit_log" ADD CONSTRAINT "rate_limit_log_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The row of a window, locked; made where there is none.
CREATE FUNCTION rate_limit_lock(p_key text) RETURNS rate_limit_windows LANGUAGE plpgsql AS $$
DECLARE
  found_row rate_limit_windows;
BEGIN
  LOOP
    SELECT * INTO found_row FROM rate_limit_windows WHERE key = p_key FOR UPDATE;
    IF FOUND THEN RETURN found_row; END IF;
    INSERT INTO rate_limit_windows (key) VALUES (p_key) ON CONFLICT DO NOTHING;
  END LOOP;
END $$;

CREATE FUNCTION rate_limit_now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- A window without what has left it. Slots ahead of the clock stay, because a clock that was set back forgives
-- nothing, but not those so far ahead that they would stay for longer than a window.
CREATE FUNCTION rate_limit_live(p_window rate_limit_windows, p_slot bigint, p_span bigint) RETURNS rate_limit_windows
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  SELECT COALESCE(array_agg(s ORDER BY s), '{}'), COALESCE(array_agg(r ORDER BY s), '{}'), COALESCE(array_agg(t ORDER BY s), '{}')
    INTO p_window.slots, p_window.requests, p_window.tokens
    FROM unnest(p_window.slots, p_window.requests, p_window.tokens) AS entry(s, r, t) WHERE abs(p_slot - s) <= p_span;
  RETURN p_window;
END $$;

-- The first slot with whose leaving `p_excess` of `p_counts` is gone; null when all of it is not enough.
CREATE FUNCTION rate_limit_relief(p_slots bigint[], p_counts bigint[], p_excess bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  gone bigint := 0;
BEGIN
  FOR i IN 1 .. cardinality(p_slots) LOOP
    gone := gone + p_counts[i];
    IF gone >= p_excess AND p_counts[i] > 0 THEN RETURN p_slots[i]; END IF;
  END LOOP;
  RETURN NULL;
END $$;

-- Takes one request and its tokens from all windows or, when one of them has no room, from none, by the clock after
-- their rows are locked. A blocked guard takes nothing. Callers name windows in one order of kinds, so that no two of
-- them wait for each other. A slot counts until `window` has passed since its end: never too much in any `window`.
CREATE FUNCTION rate_limit_take(p_guard text, p_keys text[], p_requests bigint[], p_tokens bigint[], p_cost bigint,
                                p_window_ms bigint, p_slot_ms bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  span bigint := p_window_ms / p_slot_ms;
  windows rate_limit_windows[];
  w rate_limit_windows;
  states jsonb := '[]';
  granted boolean := true;
  blocked timestamptz;
  now_ms bigint;
  slot bigint;
  place int;
  used bigint;
  used_tokens bigint;
  wait bigint;
  wait_tokens bigint;
  lacking text;
BEGIN
  SELECT blocked_until INTO blocked FROM rate_limit_windows WHERE key = p_guard AND blocked_until > clock_timestamp();
  IF blocked IS NOT NULL THEN
    now_ms := rate_limit_now_ms();
    RETURN jsonb_build_object('granted', false, 'nowMs', now_ms, 'slot', 0, 'states', '[]'::jsonb,
      'blockedMs', ceil(extract(epoch FROM blocked) * 1000)::bigint - now_ms);
  END IF;
  FOR i IN 1 .. cardinality(p_keys) LOOP
    windows[i] := rate_limit_lock(p_keys[i]);
  END LOOP;
  now_ms := rate_limit_now_ms();
  slot := now_ms / p_slot_ms;
  FOR i IN 1 .. cardinality(p_keys) LOOP
    windows[i] := rate_limit_live(windows[i], slot, span);
    w := windows[i];
    SELECT COALESCE(sum(r), 0), COALESCE(sum(t), 0) INTO used, used_tokens FROM unnest(w.requests, w.tokens) AS entry(r, t);
    wait := 0;
    wait_tokens := 0;
    IF used + 1 > p_requests[i] THEN
      wait := GREATEST(1, (COALESCE(rate_limit_relief(w.slots, w.requests, used + 1 - p_requests[i]), slot) + span + 1) * p_slot_ms - now_ms);
    END IF;
    IF used_tokens + p_cost > p_tokens[i] THEN
      wait_tokens := GREATEST(1, (COALESCE(rate_limit_relief(w.slots, w.tokens, used_tokens + p_cost - p_tokens[i]), slot) + span + 1) * p_slot_ms - now_ms);
    END IF;
    lacking := CASE WHEN wait = 0 AND wait_tokens = 0 THEN NULL WHEN wait >= wait_tokens THEN 'requests' ELSE 'tokens' END;
    granted := granted AND lacking IS NULL;
    states := states || jsonb_build_object('requests', used, 'tokens', used_tokens, 'lacking', lacking,
      'waitMs', GREATEST(wait, wait_tokens),
      'requestsResetMs', GREATEST(0, (rate_limit_relief(w.slots, w.requests, 1) + span + 1) * p_slot_ms - now_ms),
      'tokensResetMs', GREATEST(0, (rate_limit_relief(w.slots, w.tokens, 1) + span + 1) * p_slot_ms - now_ms));
  END LOOP;
  IF granted THEN
    FOR i IN 1 .. cardinality(p_keys) LOOP
      w := windows[i];
      place := COALESCE(array_position(w.slots, slot), cardinality(w.slots) + 1);
      w.slots[place] := slot;
      w.requests[place] := COALESCE(w.requests[place], 0) + 1;
      w.tokens[place] := COALESCE(w.tokens[place], 0) + p_cost;
      UPDATE rate_limit_windows SET slots = w.slots, requests = w.requests, tokens = w.tokens, touched_at = clock_timestamp()
       WHERE key = w.key;
    END LOOP;
  END IF;
  RETURN jsonb_build_object('granted', granted, 'nowMs', now_ms, 'slot', slot, 'states', states, 'blockedMs', 0);
END $$;

-- Changes the tokens that were reserved in a slot; windows that it has left stay as they are.
CREATE FUNCTION rate_limit_correct(p_keys text[], p_slot bigint, p_change bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. cardinality(p_keys) LOOP
    UPDATE rate_limit_windows
       SET tokens[array_position(slots, p_slot)] = GREATEST(0, tokens[array_position(slots, p_slot)] + p_change)
     WHERE key = p_keys[i] AND array_position(slots, p_slot) IS NOT NULL;
  END LOOP;
END $$;

-- Counts a failure. The one beyond `p_most` in a window blocks the guard for `p_block_ms` and is the only one that
-- says so; what fails while the block lasts is not counted.
CREATE FUNCTION rate_limit_fail(p_guard text, p_most bigint, p_window_ms bigint, p_slot_ms bigint, p_block_ms bigint)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  w rate_limit_windows := rate_limit_lock(p_guard);
  now_ms bigint := rate_limit_now_ms();
  slot bigint := now_ms / p_slot_ms;
  left_ms bigint := ceil(extract(epoch FROM w.blocked_until) * 1000)::bigint - now_ms;
  place int;
  total bigint;
BEGIN
  IF left_ms > 0 THEN RETURN jsonb_build_object('began', false, 'blockedMs', left_ms, 'nowMs', now_ms); END IF;
  w := rate_limit_live(w, slot, p_window_ms / p_slot_ms);
  place := COALESCE(array_position(w.slots, slot), cardinality(w.slots) + 1);
  w.slots[place] := slot;
  w.requests[place] := COALESCE(w.requests[place], 0) + 1;
  w.tokens[place] := 0;
  SELECT sum(r) INTO total FROM unnest(w.requests) AS entry(r);
  IF total > p_most THEN
    UPDATE rate_limit_windows SET slots = '{}', requests = '{}', tokens = '{}', touched_at = clock_timestamp(),
           blocked_until = to_timestamp((now_ms + p_block_ms) / 1000.0) WHERE key = p_guard;
    RETURN jsonb_build_object('began', true, 'blockedMs', p_block_ms, 'nowMs', now_ms);
  END IF;
  UPDATE rate_limit_windows SET slots = w.slots, requests = w.requests, tokens = w.tokens, blocked_until = NULL,
         touched_at = clock_timestamp() WHERE key = p_guard;
  RETURN jsonb_build_object('began', false, 'blockedMs', 0, 'nowMs', now_ms);
END $$;
