-- The ledger: double entry, append only, integers of nano-USD (one DIEM is one USD). Every change of money is one call
-- of a function below, so that the row of a busy account is locked for one statement and not for a conversation.

-- CreateEnum: in the order they are spent.
CREATE TYPE "currency" AS ENUM ('DIEM', 'BUNDLED', 'USD');

-- CreateEnum
CREATE TYPE "house_account" AS ENUM ('revenue', 'promotions', 'top_ups', 'allowance');

-- CreateEnum
CREATE TYPE "ledger_kind" AS ENUM ('charge', 'top_up', 'grant', 'revoke', 'allowance', 'expiry');

-- CreateEnum
CREATE TYPE "hold_state" AS ENUM ('open', 'settled', 'released');

-- CreateEnum: EPOCH is the day in UTC.
CREATE TYPE "limit_period" AS ENUM ('EPOCH', 'MONTH', 'LIFETIME');

-- AlterTable
ALTER TABLE "accounts" ADD COLUMN "diem_stake_nano" BIGINT NOT NULL DEFAULT 0 CHECK ("diem_stake_nano" >= 0);

-- AlterTable: null is no limit, 0 forbids the currency. Bundled credits count as USD.
ALTER TABLE "api_keys"
  ADD COLUMN "limit_usd_nano" BIGINT CHECK ("limit_usd_nano" >= 0),
  ADD COLUMN "limit_diem_nano" BIGINT CHECK ("limit_diem_nano" >= 0),
  ADD COLUMN "limit_period" "limit_period" NOT NULL DEFAULT 'EPOCH';

-- CreateTable
CREATE TABLE "ledger_accounts" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY,
    "account_id" UUID,
    "house" "house_account",
    "currency" "currency" NOT NULL,

    CONSTRAINT "ledger_accounts_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "ledger_accounts_one_owner" CHECK (("account_id" IS NULL) <> ("house" IS NULL))
);

-- CreateTable
CREATE TABLE "ledger_transactions" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY,
    "kind" "ledger_kind" NOT NULL,
    "account_id" UUID NOT NULL,
    "api_key_id" UUID,
    "request_id" TEXT,
    "model_id" TEXT,
    "reference" TEXT,
    "note" TEXT NOT NULL DEFAULT '',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ledger_transactions_pkey" PRIMARY KEY ("id")
);

-- CreateTable: a customer's entry of a charge says what was sold; `units` are units of the price (millions of tokens).
CREATE TABLE "ledger_entries" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY,
    "transaction_id" BIGINT NOT NULL,
    "ledger_account_id" BIGINT NOT NULL,
    "currency" "currency" NOT NULL,
    "amount_nano" BIGINT NOT NULL CHECK ("amount_nano" <> 0),
    "sku" TEXT,
    "units" NUMERIC(24, 9),
    "unit_price_nano" BIGINT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ledger_entries_pkey" PRIMARY KEY ("id")
);

-- CreateTable: what the entries of a customer add up to, and how much of it open holds have reserved.
CREATE TABLE "balances" (
    "account_id" UUID NOT NULL,
    "diem_nano" BIGINT NOT NULL DEFAULT 0,
    "bundled_nano" BIGINT NOT NULL DEFAULT 0,
    "usd_nano" BIGINT NOT NULL DEFAULT 0,
    "diem_held_nano" BIGINT NOT NULL DEFAULT 0,
    "bundled_held_nano" BIGINT NOT NULL DEFAULT 0,
    "usd_held_nano" BIGINT NOT NULL DEFAULT 0,
    "diem_epoch" DATE NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
    "diem_allowance_nano" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "balances_pkey" PRIMARY KEY ("account_id"),
    CONSTRAINT "balances_cover_holds" CHECK ("diem_held_nano" >= 0 AND "diem_nano" >= "diem_held_nano"
      AND "bundled_held_nano" >= 0 AND "bundled_nano" >= "bundled_held_nano"
      AND "usd_held_nano" >= 0 AND "usd_nano" >= "usd_held_nano")
);

-- CreateTable: one per request, for as long as anybody asks what it cost.
CREATE TABLE "holds" (
    "request_id" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    "api_key_id" UUID NOT NULL,
    "model_id" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL DEFAULT 1,
    "state" "hold_state" NOT NULL DEFAULT 'open',
    "diem_nano" BIGINT NOT NULL CHECK ("diem_nano" >= 0),
    "bundled_nano" BIGINT NOT NULL CHECK ("bundled_nano" >= 0),
    "usd_nano" BIGINT NOT NULL CHECK ("usd_nano" >= 0),
    "charged_nano" BIGINT,
    "diem_epoch" DATE NOT NULL,
    "price_id" BIGINT,
    "price" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "holds_pkey" PRIMARY KEY ("request_id"),
    CONSTRAINT "holds_charge_within" CHECK ("charged_nano" BETWEEN 0 AND "diem_nano" + "bundled_nano" + "usd_nano"),
    CONSTRAINT "holds_charged_when_closed" CHECK (("state" = 'open') = ("charged_nano" IS NULL)),
    CONSTRAINT "holds_closed_when_closed" CHECK (("state" = 'open') = ("closed_at" IS NULL))
);

-- CreateTable: what a key has spent in the windows of limits, and what its open holds may still spend.
CREATE TABLE "key_spend" (
    "api_key_id" UUID NOT NULL,
    "day_start" DATE NOT NULL,
    "month_start" DATE NOT NULL,
    "day_usd_nano" BIGINT NOT NULL DEFAULT 0,
    "day_diem_nano" BIGINT NOT NULL DEFAULT 0,
    "month_usd_nano" BIGINT NOT NULL DEFAULT 0,
    "month_diem_nano" BIGINT NOT NULL DEFAULT 0,
    "lifetime_usd_nano" BIGINT NOT NULL DEFAULT 0,
    "lifetime_diem_nano" BIGINT NOT NULL DEFAULT 0,
    "held_usd_nano" BIGINT NOT NULL DEFAULT 0 CHECK ("held_usd_nano" >= 0),
    "held_diem_nano" BIGINT NOT NULL DEFAULT 0 CHECK ("held_diem_nano" >= 0),

    CONSTRAINT "key_spend_pkey" PRIMARY KEY ("api_key_id")
);

-- CreateTable: dated prices; the newest row that has begun is the price. `pricing` is null where a model is free.
CREATE TABLE "prices" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY,
    "model_id" TEXT NOT NULL,
    "model_type" TEXT NOT NULL,
    "pricing" JSONB,
    "effective_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "prices_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "ledger_accounts_account_id_currency_key" ON "ledger_accounts"("account_id", "currency");
CREATE UNIQUE INDEX "ledger_accounts_house_currency_key" ON "ledger_accounts"("house", "currency");
CREATE UNIQUE INDEX "ledger_accounts_id_currency_key" ON "ledger_accounts"("id", "currency");
CREATE UNIQUE INDEX "ledger_transactions_reference_key" ON "ledger_transactions"("reference");
CREATE INDEX "ledger_transactions_account_id_created_at_idx" ON "ledger_transactions"("account_id", "created_at");
CREATE INDEX "ledger_entries_transaction_id_idx" ON "ledger_entries"("transaction_id");
CREATE INDEX "ledger_entries_ledger_account_id_created_at_id_idx" ON "ledger_entries"("ledger_account_id", "created_at", "id");
CREATE INDEX "prices_model_id_effective_at_idx" ON "prices"("model_id", "effective_at");

-- A request is charged once, whatever the code does.
CREATE UNIQUE INDEX "ledger_transactions_one_charge" ON "ledger_transactions"("request_id") WHERE "kind" = 'charge';
CREATE INDEX "holds_open_idx" ON "holds"("account_id") WHERE "state" = 'open';

-- AddForeignKey
ALTER TABLE "ledger_accounts" ADD CONSTRAINT "ledger_accounts_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "ledger_transactions" ADD CONSTRAINT "ledger_transactions_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "ledger_entries" ADD CONSTRAINT "ledger_entries_transaction_id_fkey" FOREIGN KEY ("transaction_id") REFERENCES "ledger_transactions"("id") ON DELETE RESTRICT ON UPDATE RESTRICT;
ALTER TABLE "ledger_entries" ADD CONSTRAINT "ledger_entries_ledger_account_id_currency_fkey" FOREIGN KEY ("ledger_account_id", "currency") REFERENCES "ledger_accounts"("id", "currency") ON DELETE RESTRICT ON UPDATE RESTRICT;
ALTER TABLE "balances" ADD CONSTRAINT "balances_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "key_spend" ADD CONSTRAINT "key_spend_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Entries of a transaction sum to zero in each currency, when it commits.
CREATE FUNCTION ledger_check_sum() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM ledger_entries WHERE transaction_id = NEW.transaction_id
              GROUP BY currency HAVING sum(amount_nano) <> 0) THEN
    RAISE EXCEPTION 'the entries of ledger transaction % do not sum to zero', NEW.transaction_id
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER "ledger_entries_sum_to_zero" AFTER INSERT ON "ledger_entries"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_check_sum();

-- The ledger only appends.
CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% only appends: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER "ledger_entries_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_entries"
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER "ledger_transactions_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_transactions"
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- Every account has its three ledger accounts and its balance from the start.
CREATE FUNCTION ledger_open_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ledger_accounts (account_id, currency) SELECT NEW.id, unnest(enum_range(NULL::currency));
  INSERT INTO balances (account_id) VALUES (NEW.id);
  RETURN NULL;
END $$;

CREATE TRIGGER "accounts_open_ledger" AFTER INSERT ON "accounts"
  FOR EACH ROW EXECUTE FUNCTION ledger_open_account();

INSERT INTO ledger_accounts (house, currency)
SELECT house, currency FROM unnest(enum_range(NULL::house_account)) house, unnest(enum_range(NULL::currency)) currency;
INSERT INTO ledger_accounts (account_id, currency)
SELECT id, currency FROM accounts, unnest(enum_range(NULL::currency)) currency;
INSERT INTO balances (account_id) SELECT id FROM accounts;

-- A manifest's price becomes a dated row when the registry takes it; the rows before it stay.
CREATE FUNCTION prices_follow_manifest() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  pricing_now jsonb := NULLIF(NEW.manifest -> 'pricing', 'null'::jsonb);
BEGIN
  IF NOT EXISTS (SELECT 1 FROM (SELECT pricing FROM prices WHERE model_id = NEW.id AND effective_at <= now()
                                 ORDER BY effective_at DESC, id DESC LIMIT 1) newest
                  WHERE newest.pricing IS NOT DISTINCT FROM pricing_now) THEN
    INSERT INTO prices (model_id, model_type, pricing) VALUES (NEW.id, NEW.type, pricing_now);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "models_price" AFTER INSERT OR UPDATE OF "manifest" ON "models"
  FOR EACH ROW EXECUTE FUNCTION prices_follow_manifest();

INSERT INTO prices (model_id, model_type, pricing)
SELECT id, type, NULLIF(manifest -> 'pricing', 'null'::jsonb) FROM models;

-- A new attempt of a job fences the outcomes of all earlier ones off its money as well.
CREATE FUNCTION holds_follow_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE holds SET attempt = NEW.attempt WHERE request_id = NEW.request_id AND state = 'open';
  RETURN NULL;
END $$;

CREATE TRIGGER "jobs_fence_holds" AFTER UPDATE OF "attempt" ON "jobs"
  FOR EACH ROW WHEN (OLD.attempt IS DISTINCT FROM NEW.attempt) EXECUTE FUNCTION holds_follow_attempt();

CREATE FUNCTION ledger_today() RETURNS date LANGUAGE sql STABLE AS $$ SELECT (now() AT TIME ZONE 'UTC')::date $$;

-- What a stake gives per day; below 0.1 nothing.
CREATE FUNCTION ledger_allowance(stake bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN stake >= 100000000 THEN stake ELSE 0 END $$;

-- Moves money between a house account and a customer (positive: to the customer) in a transaction of its own kind.
CREATE FUNCTION ledger_post(p_kind ledger_kind, p_account uuid, p_house house_account, p_currency currency,
                            p_amount bigint, p_reference text, p_note text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  posted bigint;
BEGIN
  INSERT INTO ledger_transactions (kind, account_id, reference, note)
  VALUES (p_kind, p_account, p_reference, p_note) RETURNING id INTO posted;
  INSERT INTO ledger_entries (transaction_id, ledger_account_id, currency, amount_nano)
  SELECT posted, id, currency, CASE WHEN house IS NULL THEN p_amount ELSE -p_amount END
    FROM ledger_accounts WHERE currency = p_currency AND (account_id = p_account OR house = p_house);
  UPDATE balances SET
    diem_nano = diem_nano + CASE p_currency WHEN 'DIEM' THEN p_amount ELSE 0 END,
    bundled_nano = bundled_nano + CASE p_currency WHEN 'BUNDLED' THEN p_amount ELSE 0 END,
    usd_nano = usd_nano + CASE p_currency WHEN 'USD' THEN p_amount ELSE 0 END
  WHERE account_id = p_account;
  RETURN posted;
END $$;

-- Locks an account's balance and brings its DIEM to today: what is left of another day expires, today's allowance
-- comes in. What open holds have reserved stays theirs.
CREATE FUNCTION ledger_lock(p_account uuid) RETURNS balances LANGUAGE plpgsql AS $$
DECLARE
  balance balances;
  today date := ledger_today();
  allowance bigint;
BEGIN
  SELECT * INTO balance FROM balances WHERE account_id = p_account FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no account %', p_account USING ERRCODE = 'foreign_key_violation';
  END IF;
  IF balance.diem_epoch >= today THEN
    RETURN balance;
  END IF;
  SELECT ledger_allowance(diem_stake_nano) INTO allowance FROM accounts WHERE id = p_account;
  IF balance.diem_nano > balance.diem_held_nano THEN
    PERFORM ledger_post('expiry', p_account, 'allowance', 'DIEM', balance.diem_held_nano - balance.diem_nano, NULL,
                        'the allowance of ' || balance.diem_epoch || ' has ended');
  END IF;
  IF allowance > 0 THEN
    PERFORM ledger_post('allowance', p_account, 'allowance', 'DIEM', allowance, NULL, 'allowance of ' || today);
  END IF;
  UPDATE balances SET diem_epoch = today, diem_allowance_nano = allowance WHERE account_id = p_account
  RETURNING * INTO balance;
  RETURN balance;
END $$;

-- Reserves `p_amount` for a request, or says why not and how much it could be. Idempotent by request id. The caller's
-- transaction holds the account until it commits: this is the last thing to do in it.
CREATE FUNCTION ledger_reserve(p_request text, p_account uuid, p_key uuid, p_model text, p_amount bigint,
                               p_price_id bigint, p_price jsonb,
  OUT outcome text, OUT grantable_nano bigint, OUT diem_before_nano bigint, OUT usd_before_nano bigint)
LANGUAGE plpgsql AS $$
DECLARE
  balance balances := ledger_lock(p_account);
  today date := ledger_today();
  this_month date := date_trunc('month', today)::date;
  diem_free bigint := balance.diem_nano - balance.diem_held_nano;
  bundled_free bigint := balance.bundled_nano - balance.bundled_held_nano;
  usd_free bigint := balance.usd_nano - balance.usd_held_nano;
  diem_room bigint;
  usd_room bigint;
  diem_part bigint;
  bundled_part bigint;
  usd_part bigint;
BEGIN
  IF p_amount < 0 THEN
    RAISE EXCEPTION 'a reservation cannot be negative' USING ERRCODE = 'check_violation';
  END IF;
  diem_before_nano := diem_free;
  usd_before_nano := bundled_free + usd_free;
  SELECT diem_nano + bundled_nano + usd_nano INTO grantable_nano FROM holds WHERE request_id = p_request;
  IF FOUND THEN
    outcome := 'repeated';
    RETURN;
  END IF;

  -- What limits of the key leave; null where it has none. Open holds count in every window.
  SELECT CASE WHEN k.limit_usd_nano IS NOT NULL THEN GREATEST(0, k.limit_usd_nano - COALESCE(s.held_usd_nano, 0)
           - CASE k.limit_period WHEN 'LIFETIME' THEN COALESCE(s.lifetime_usd_nano, 0)
               WHEN 'MONTH' THEN CASE WHEN s.month_start = this_month THEN s.month_usd_nano ELSE 0 END
               ELSE CASE WHEN s.day_start = today THEN s.day_usd_nano ELSE 0 END END) END,
         CASE WHEN k.limit_diem_nano IS NOT NULL THEN GREATEST(0, k.limit_diem_nano - COALESCE(s.held_diem_nano, 0)
           - CASE k.limit_period WHEN 'LIFETIME' THEN COALESCE(s.lifetime_diem_nano, 0)
               WHEN 'MONTH' THEN CASE WHEN s.month_start = this_month THEN s.month_diem_nano ELSE 0 END
               ELSE CASE WHEN s.day_start = today THEN s.day_diem_nano ELSE 0 END END) END
    INTO usd_room, diem_room
    FROM api_keys k LEFT JOIN key_spend s ON s.api_key_id = k.id WHERE k.id = p_key;

  IF diem_room < diem_free THEN
    grantable_nano := diem_room;
    outcome := 'key_diem_limit';
  ELSIF usd_room < bundled_free + usd_free THEN
    grantable_nano := diem_free + usd_room;
    outcome := 'key_usd_limit';
  ELSE
    grantable_nano := diem_free + bundled_free + usd_free;
    outcome := 'insufficient_balance';
  END IF;
  IF grantable_nano < p_amount THEN
    RETURN;
  END IF;

  diem_part := LEAST(p_amount, diem_free);
  bundled_part := LEAST(p_amount - diem_part, bundled_free);
  usd_part := p_amount - diem_part - bundled_part;
  INSERT INTO holds (request_id, account_id, api_key_id, model_id, diem_nano, bundled_nano, usd_nano, diem_epoch,
                     price_id, price)
  VALUES (p_request, p_account, p_key, p_model, diem_part, bundled_part, usd_part, balance.diem_epoch, p_price_id,
          p_price);
  IF p_amount > 0 THEN
    UPDATE balances SET diem_held_nano = diem_held_nano + diem_part,
           bundled_held_nano = bundled_held_nano + bundled_part, usd_held_nano = usd_held_nano + usd_part
     WHERE account_id = p_account;
    INSERT INTO key_spend AS spend (api_key_id, day_start, month_start, held_usd_nano, held_diem_nano)
    VALUES (p_key, today, this_month, bundled_part + usd_part, diem_part)
    ON CONFLICT (api_key_id) DO UPDATE SET held_usd_nano = spend.held_usd_nano + excluded.held_usd_nano,
           held_diem_nano = spend.held_diem_nano + excluded.held_diem_nano;
  END IF;
  outcome := 'reserved';
  grantable_nano := p_amount;
END $$;

-- Closes a hold: charges `p_lines` ([{sku, units, unitPriceNano, amountNano}]), never more than was reserved, and gives
-- the rest back. Idempotent by request id; another attempt than the hold's changes nothing.
CREATE FUNCTION ledger_close(p_request text, p_attempt integer, p_state hold_state, p_lines jsonb,
  OUT outcome text, OUT charged_nano bigint) LANGUAGE plpgsql AS $$
DECLARE
  hold holds;
  balance balances;
  today date := ledger_today();
  this_month date := date_trunc('month', today)::date;
  line record;
  posted bigint;
  line_left bigint;
  part bigint;
  diem_left bigint;
  bundled_left bigint;
  usd_left bigint;
  diem_charged bigint;
  usd_charged bigint;
BEGIN
  SELECT * INTO hold FROM holds WHERE request_id = p_request;
  IF NOT FOUND THEN
    outcome := 'missing';
    RETURN;
  END IF;
  -- The account is locked before the hold, here as in `ledger_reserve`, so that the two never wait for each other.
  balance := ledger_lock(hold.account_id);
  SELECT * INTO hold FROM holds WHERE request_id = p_request FOR UPDATE;
  IF hold.state <> 'open' THEN
    outcome := 'repeated';
    charged_nano := hold.charged_nano;
    RETURN;
  END IF;
  IF hold.attempt <> p_attempt THEN
    outcome := 'fenced';
    RETURN;
  END IF;
  diem_left := hold.diem_nano;
  bundled_left := hold.bundled_nano;
  usd_left := hold.usd_nano;
  IF p_state = 'settled' THEN
    FOR line IN SELECT * FROM jsonb_to_recordset(p_lines)
                  AS given(sku text, units numeric, "unitPriceNano" bigint, "amountNano" bigint) LOOP
      line_left := LEAST(line."amountNano", diem_left + bundled_left + usd_left);
      IF line_left < 0 THEN
        RAISE EXCEPTION 'a charge cannot be negative' USING ERRCODE = 'check_violation';
      END IF;
      IF line_left > 0 AND posted IS NULL THEN
        INSERT INTO ledger_transactions (kind, account_id, api_key_id, request_id, model_id)
        VALUES ('charge', hold.account_id, hold.api_key_id, p_request, hold.model_id) RETURNING id INTO posted;
      END IF;
      part := LEAST(line_left, diem_left);
      diem_left := diem_left - part;
      line_left := line_left - part;
      PERFORM ledger_charge(posted, hold.account_id, 'DIEM', part, line.sku, line.units, line."unitPriceNano",
                            line."amountNano");
      part := LEAST(line_left, bundled_left);
      bundled_left := bundled_left - part;
      line_left := line_left - part;
      PERFORM ledger_charge(posted, hold.account_id, 'BUNDLED', part, line.sku, line.units, line."unitPriceNano",
                            line."amountNano");
      usd_left := usd_left - line_left;
      PERFORM ledger_charge(posted, hold.account_id, 'USD', line_left, line.sku, line.units, line."unitPriceNano",
                            line."amountNano");
    END LOOP;
  END IF;
  diem_charged := hold.diem_nano - diem_left;
  usd_charged := hold.bundled_nano - bundled_left + hold.usd_nano - usd_left;
  charged_nano := diem_charged + usd_charged;
  IF charged_nano > 0 THEN
    INSERT INTO ledger_entries (transaction_id, ledger_account_id, currency, amount_nano)
    SELECT posted, house.id, house.currency, taken.amount
      FROM (VALUES ('DIEM'::currency, diem_charged), ('BUNDLED', hold.bundled_nano - bundled_left),
                   ('USD', hold.usd_nano - usd_left)) AS taken(currency, amount)
      JOIN ledger_accounts house ON house.house = 'revenue' AND house.currency = taken.currency
     WHERE taken.amount > 0;
  END IF;
  UPDATE balances SET diem_nano = diem_nano - diem_charged, diem_held_nano = diem_held_nano - hold.diem_nano,
         bundled_nano = bundled_nano - hold.bundled_nano + bundled_left,
         bundled_held_nano = bundled_held_nano - hold.bundled_nano,
         usd_nano = usd_nano - hold.usd_nano + usd_left, usd_held_nano = usd_held_nano - hold.usd_nano
   WHERE account_id = hold.account_id;
  -- DIEM of a day that is over does not come back.
  IF diem_left > 0 AND hold.diem_epoch < balance.diem_epoch THEN
    PERFORM ledger_post('expiry', hold.account_id, 'allowance', 'DIEM', -diem_left, NULL,
                        'the allowance of ' || hold.diem_epoch || ' has ended');
  END IF;
  IF hold.diem_nano + hold.bundled_nano + hold.usd_nano > 0 THEN
    UPDATE key_spend SET
      held_usd_nano = held_usd_nano - hold.bundled_nano - hold.usd_nano,
      held_diem_nano = held_diem_nano - hold.diem_nano,
      day_usd_nano = CASE WHEN day_start = today THEN day_usd_nano ELSE 0 END + usd_charged,
      day_diem_nano = CASE WHEN day_start = today THEN day_diem_nano ELSE 0 END + diem_charged,
      month_usd_nano = CASE WHEN month_start = this_month THEN month_usd_nano ELSE 0 END + usd_charged,
      month_diem_nano = CASE WHEN month_start = this_month THEN month_diem_nano ELSE 0 END + diem_charged,
      lifetime_usd_nano = lifetime_usd_nano + usd_charged,
      lifetime_diem_nano = lifetime_diem_nano + diem_charged,
      day_start = today, month_start = this_month
    WHERE api_key_id = hold.api_key_id;
  END IF;
  UPDATE holds SET state = p_state, charged_nano = ledger_close.charged_nano, closed_at = now()
   WHERE request_id = p_request;
  outcome := p_state::text;
END $$;

-- One customer's entry of a charge; a line that two currencies pay shares its units between them.
CREATE FUNCTION ledger_charge(p_transaction bigint, p_account uuid, p_currency currency, p_part bigint, p_sku text,
                              p_units numeric, p_unit_price bigint, p_amount bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_part > 0 THEN
    INSERT INTO ledger_entries (transaction_id, ledger_account_id, currency, amount_nano, sku, units, unit_price_nano)
    SELECT p_transaction, id, currency, -p_part, p_sku, p_units * p_part / p_amount, p_unit_price
      FROM ledger_accounts WHERE account_id = p_account AND currency = p_currency;
  END IF;
END $$;

-- Credit in (`top_up` for money, `grant` for a gift), or back out (`revoke`, at most what is free). Idempotent by
-- reference: a repeated one changes nothing and answers the first amount.
CREATE FUNCTION ledger_credit(p_kind ledger_kind, p_account uuid, p_currency currency, p_amount bigint,
                              p_reference text, p_note text,
  OUT outcome text, OUT transaction_id bigint, OUT amount_nano bigint) LANGUAGE plpgsql AS $$
DECLARE
  balance balances := ledger_lock(p_account);
  free bigint;
BEGIN
  IF p_amount <= 0 OR p_kind NOT IN ('top_up', 'grant', 'revoke') THEN
    RAISE EXCEPTION 'a credit must be positive, and a top-up, a grant or a revoke' USING ERRCODE = 'check_violation';
  END IF;
  SELECT t.id, e.amount_nano INTO transaction_id, amount_nano
    FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.id
    JOIN ledger_accounts a ON a.id = e.ledger_account_id AND a.account_id IS NOT NULL
   WHERE t.reference = p_reference;
  IF FOUND THEN
    outcome := 'repeated';
    RETURN;
  END IF;
  free := CASE p_currency WHEN 'DIEM' THEN balance.diem_nano - balance.diem_held_nano
            WHEN 'BUNDLED' THEN balance.bundled_nano - balance.bundled_held_nano
            ELSE balance.usd_nano - balance.usd_held_nano END;
  amount_nano := CASE WHEN p_kind = 'revoke' THEN -p_amount ELSE p_amount END;
  IF free + amount_nano < 0 THEN
    outcome := 'insufficient_balance';
    amount_nano := free;
    RETURN;
  END IF;
  transaction_id := ledger_post(p_kind, p_account,
    CASE WHEN p_kind = 'top_up' THEN 'top_ups'::house_account ELSE 'promotions' END,
    p_currency, amount_nano, p_reference, p_note);
  outcome := 'posted';
END $$;

-- Sets an account's stake. More stake adds to today's allowance at once, less takes of what is left of it.
CREATE FUNCTION ledger_set_stake(p_account uuid, p_stake bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  balance balances := ledger_lock(p_account);
  allowance bigint := ledger_allowance(p_stake);
  change bigint := GREATEST(allowance - balance.diem_allowance_nano, balance.diem_held_nano - balance.diem_nano);
BEGIN
  UPDATE accounts SET diem_stake_nano = p_stake WHERE id = p_account;
  IF change <> 0 THEN
    PERFORM ledger_post(CASE WHEN change > 0 THEN 'allowance'::ledger_kind ELSE 'expiry' END, p_account, 'allowance',
                        'DIEM', change, NULL, 'the stake was set');
  END IF;
  UPDATE balances SET diem_allowance_nano = allowance WHERE account_id = p_account;
  RETURN allowance;
END $$;
