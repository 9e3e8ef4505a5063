-- What a charge costs the database. Its entries are written by one statement, and checked once for that statement
-- instead of once (and three look-ups) for each of them.

-- Entries and what they name cannot be changed or deleted; ledger accounts now neither, so that what an entry names when
-- it is written stays there.
CREATE TRIGGER "ledger_accounts_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_accounts"
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- Every statement that writes entries writes whole transactions: they sum to zero in each currency, and name a transaction
-- and a ledger account of their currency. The look-ups take no lock on what they find: with foreign keys, all charges at
-- once locked the row of the house's revenue.
CREATE FUNCTION ledger_check_entries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  broken record;
BEGIN
  SELECT e.transaction_id, sum(e.amount_nano) AS total INTO broken
    FROM written e
   GROUP BY e.transaction_id, e.currency
  HAVING sum(e.amount_nano) <> 0
      OR (SELECT t.id FROM ledger_transactions t WHERE t.id = e.transaction_id) IS NULL
      OR bool_or((SELECT a.currency FROM ledger_accounts a WHERE a.id = e.ledger_account_id) IS DISTINCT FROM e.currency)
   LIMIT 1;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF broken.total <> 0 THEN
    RAISE EXCEPTION 'the entries of ledger transaction % do not sum to zero', broken.transaction_id
      USING ERRCODE = 'check_violation';
  END IF;
  RAISE EXCEPTION 'an entry of ledger transaction % names what is not there', broken.transaction_id
    USING ERRCODE = 'foreign_key_violation';
END $$;

CREATE TRIGGER "ledger_entries_whole_transactions" AFTER INSERT ON "ledger_entries"
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION ledger_check_entries();

DROP TRIGGER "ledger_entries_sum_to_zero" ON "ledger_entries";
DROP FUNCTION ledger_check_sum();
ALTER TABLE "ledger_entries"
  DROP CONSTRAINT "ledger_entries_transaction_id_fkey",
  DROP CONSTRAINT "ledger_entries_ledger_account_id_currency_fkey";

-- Closes a hold: charges `p_lines` ([{sku, units, unitPriceNano, amountNano}]), never more than was reserved, and gives
-- the rest back. Idempotent by request id; another attempt than the hold's changes nothing.
CREATE OR REPLACE FUNCTION ledger_close(p_request text, p_attempt integer, p_state hold_state, p_lines jsonb,
  OUT outcome text, OUT charged_nano bigint) LANGUAGE plpgsql AS $$
DECLARE
  hold holds;
  balance balances;
  today date;
  this_month date;
  line record;
  posted bigint;
  line_left bigint;
  part bigint;
  -- In the order in which they are spent.
  names currency[] := '{DIEM,BUNDLED,USD}';
  held bigint[];
  unspent bigint[];
  charged bigint[];
  -- The entries, in their order; those without a sku are the house's.
  currencies currency[] := '{}';
  amounts bigint[] := '{}';
  skus text[] := '{}';
  shares numeric[] := '{}';
  unit_prices bigint[] := '{}';
BEGIN
  SELECT * INTO hold FROM holds WHERE request_id = p_request;
  IF NOT FOUND THEN
    outcome := 'missing';
    RETURN;
  END IF;
  -- The account is locked before the hold, here as in `ledger_reserve`, so that the two never wait for each other.
  balance := ledger_lock(hold.account_id);
  -- Who began before midnight and waited for somebody of the new day must not lead the account back.
  today := GREATEST(ledger_today(), balance.diem_epoch);
  this_month := date_trunc('month', today)::date;
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
  held := ARRAY[hold.diem_nano, hold.bundled_nano, hold.usd_nano];
  unspent := held;
  IF p_state = 'settled' THEN
    FOR line IN SELECT * FROM jsonb_to_recordset(p_lines)
                  AS given(sku text, units numeric, "unitPriceNano" bigint, "amountNano" bigint) LOOP
      line_left := LEAST(line."amountNano", unspent[1] + unspent[2] + unspent[3]);
      IF line_left < 0 THEN
        RAISE EXCEPTION 'a charge cannot be negative' USING ERRCODE = 'check_violation';
      END IF;
      -- A line that two currencies pay is two entries that share its units.
      FOR place IN 1..3 LOOP
        part := LEAST(line_left, unspent[place]);
        CONTINUE WHEN part = 0;
        unspent[place] := unspent[place] - part;
        line_left := line_left - part;
        currencies := array_append(currencies, names[place]);
        amounts := array_append(amounts, -part);
        skus := array_append(skus, line.sku);
        shares := array_append(shares, line.units * part / line."amountNano");
        unit_prices := array_append(unit_prices, line."unitPriceNano");
      END LOOP;
    END LOOP;
  END IF;
  charged := ARRAY[held[1] - unspent[1], held[2] - unspent[2], held[3] - unspent[3]];
  charged_nano := charged[1] + charged[2] + charged[3];
  IF charged_nano > 0 THEN
    FOR place IN 1..3 LOOP
      CONTINUE WHEN charged[place] = 0;
      currencies := array_append(currencies, names[place]);
      amounts := array_append(amounts, charged[place]);
    END LOOP;
    INSERT INTO ledger_transactions (kind, account_id, api_key_id, request_id, model_id)
    VALUES ('charge', hold.account_id, hold.api_key_id, p_request, hold.model_id) RETURNING id INTO posted;
    -- Beyond the end of the shorter lists are nulls: these entries are the house's. Not `unnest` of the lists, whose length
    -- PostgreSQL would look at, and plan anew for each charge.
    INSERT INTO ledger_entries (transaction_id, ledger_account_id, currency, amount_nano, sku, units, unit_price_nano)
    SELECT posted,
           CASE WHEN skus[place] IS NULL
             THEN (SELECT a.id FROM ledger_accounts a WHERE a.house = 'revenue' AND a.currency = currencies[place])
             ELSE (SELECT a.id FROM ledger_accounts a
                    WHERE a.account_id = hold.account_id AND a.currency = currencies[place])
           END,
           currencies[place], amounts[place], skus[place], shares[place], unit_prices[place]
      FROM generate_subscripts(currencies, 1) AS place;
  END IF;
  UPDATE balances SET diem_nano = diem_nano - charged[1], diem_held_nano = diem_held_nano - hold.diem_nano,
         bundled_nano = bundled_nano - charged[2], bundled_held_nano = bundled_held_nano - hold.bundled_nano,
         usd_nano = usd_nano - charged[3], usd_held_nano = usd_held_nano - hold.usd_nano
   WHERE account_id = hold.account_id;
  -- DIEM of a day that is over does not come back.
  IF unspent[1] > 0 AND hold.diem_epoch < balance.diem_epoch THEN
    PERFORM ledger_post('expiry', hold.account_id, 'allowance', 'DIEM', -unspent[1], NULL,
                        'the allowance of ' || hold.diem_epoch || ' has ended');
  END IF;
  IF hold.diem_nano + hold.bundled_nano + hold.usd_nano > 0 THEN
    UPDATE key_spend SET
      held_usd_nano = held_usd_nano - hold.bundled_nano - hold.usd_nano,
      held_diem_nano = held_diem_nano - hold.diem_nano,
      day_usd_nano = CASE WHEN day_start = today THEN day_usd_nano ELSE 0 END + charged[2] + charged[3],
      day_diem_nano = CASE WHEN day_start = today THEN day_diem_nano ELSE 0 END + charged[1],
      month_usd_nano = CASE WHEN month_start = this_month THEN month_usd_nano ELSE 0 END + charged[2] + charged[3],
      month_diem_nano = CASE WHEN month_start = this_month THEN month_diem_nano ELSE 0 END + charged[1],
      lifetime_usd_nano = lifetime_usd_nano + charged[2] + charged[3],
      lifetime_diem_nano = lifetime_diem_nano + charged[1],
      day_start = today, month_start = this_month
    WHERE api_key_id = hold.api_key_id;
  END IF;
  UPDATE holds SET state = p_state, charged_nano = ledger_close.charged_nano, closed_at = now()
   WHERE request_id = p_request;
  outcome := p_state::text;
END $$;

DROP FUNCTION ledger_charge(bigint, uuid, currency, bigint, text, numeric, bigint, bigint);

-- Rows that every request changes twice find room for their next version on their own page.
ALTER TABLE "balances" SET (fillfactor = 50);
ALTER TABLE "key_spend" SET (fillfactor = 50);
ALTER TABLE "key_daily_spend" SET (fillfactor = 50);

-- Nothing reads by these: history and analytics of an account go by its entries.
DROP INDEX "ledger_transactions_account_id_created_at_idx";
DROP INDEX "jobs_account_id_created_at_idx";

-- Charges have no reference.
DROP INDEX "ledger_transactions_reference_key";
CREATE UNIQUE INDEX "ledger_transactions_reference_key" ON "ledger_transactions"("reference") WHERE "reference" IS NOT NULL;
