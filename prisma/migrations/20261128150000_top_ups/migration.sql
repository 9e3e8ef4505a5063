-- Top-ups: payments of wallets on a chain, and the credits that they become. Only the functions below post credits, in the
-- transaction that changes the state.

CREATE TYPE "top_up_state" AS ENUM ('authorized', 'pending', 'settled', 'expired', 'failed');

-- CreateTable
CREATE TABLE "top_ups" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "network" TEXT NOT NULL,
    -- Null after its account was erased.
    "payer" TEXT,
    -- SHA-256 of network, payer and nonce: what can be paid once. It stays when the payer is erased.
    "payment_key" BYTEA NOT NULL,
    -- SHA-256 of the payload with its signature.
    "payload_hash" BYTEA NOT NULL,
    -- The client's payment identifier, and the SHA-256 of what it was used for: everything but nonce and signature.
    "identifier" TEXT,
    "fingerprint" BYTEA NOT NULL,
    "state" "top_up_state" NOT NULL DEFAULT 'authorized',
    "amount_nano" BIGINT NOT NULL CHECK ("amount_nano" > 0),
    -- What the ledger holds of it. Less than the amount in a state other than settled: a reversal that was not covered.
    "posted_nano" BIGINT NOT NULL DEFAULT 0,
    "postings" INTEGER NOT NULL DEFAULT 0,
    -- What is signed; null when nothing is left to do.
    "payment" JSONB,
    "account_id" UUID,
    "transaction" TEXT,
    -- Free USD of the account right after the credit.
    "balance_nano" BIGINT,
    "reason" TEXT,
    "message" TEXT,
    -- The response, as the first request got it.
    "answer" BYTEA,
    -- Calls of settle that began, and when the last of them began and ended.
    "settles" INTEGER NOT NULL DEFAULT 0,
    "settle_began_at" TIMESTAMPTZ(3),
    "settle_ended_at" TIMESTAMPTZ(3),
    -- The authorization cannot be used after this time of the chain.
    "valid_until" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "ended_at" TIMESTAMPTZ(3),
    -- When ops looks at it again; null: never.
    "next_look_at" TIMESTAMPTZ(3) DEFAULT clock_timestamp(),
    "looks" INTEGER NOT NULL DEFAULT 0,
    "lease_id" UUID,
    "leased_until" TIMESTAMPTZ(3),

    CONSTRAINT "top_ups_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "top_ups_posted" CHECK ("posted_nano" BETWEEN 0 AND "amount_nano"),
    CONSTRAINT "top_ups_settled_is_posted" CHECK ("state" <> 'settled' OR "posted_nano" = "amount_nano"),
    CONSTRAINT "top_ups_sent_has_account" CHECK ("state" NOT IN ('pending', 'settled') OR "account_id" IS NOT NULL)
);

CREATE UNIQUE INDEX "top_ups_payment_key_key" ON "top_ups"("payment_key");
CREATE UNIQUE INDEX "top_ups_payer_identifier_key" ON "top_ups"("payer", "identifier") WHERE "identifier" IS NOT NULL;
CREATE INDEX "top_ups_next_look_at_idx" ON "top_ups"("next_look_at") WHERE "next_look_at" IS NOT NULL;
CREATE INDEX "top_ups_account_id_idx" ON "top_ups"("account_id") WHERE "account_id" IS NOT NULL;
CREATE INDEX "top_ups_created_at_idx" ON "top_ups"("created_at");
ALTER TABLE "top_ups" ADD CONSTRAINT "top_ups_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id")
    ON DELETE RESTRICT ON UPDATE CASCADE;

-- Credits a top-up whose transfer is on the chain. Whatever its state was before, it is credited once: the row is locked,
-- and each posting has a reference of its own. Lock order: the top-up, then the account's balance.
CREATE FUNCTION top_up_settle(p_id uuid, p_transaction text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  top_up top_ups;
  credited record;
BEGIN
  SELECT * INTO top_up FROM top_ups WHERE id = p_id FOR UPDATE;
  IF NOT FOUND THEN
    RETURN 'missing';
  END IF;
  IF top_up.state = 'settled' THEN
    RETURN 'repeated';
  END IF;
  IF top_up.amount_nano > top_up.posted_nano THEN
    SELECT * INTO credited FROM ledger_credit('top_up', top_up.account_id, 'USD', top_up.amount_nano - top_up.posted_nano,
      'x402-top-up:' || p_id || ':' || top_up.postings + 1, 'top-up on ' || top_up.network);
    IF credited.outcome <> 'posted' THEN
      RAISE EXCEPTION 'the credit of top-up % was %', p_id, credited.outcome USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  UPDATE top_ups SET state = 'settled', posted_nano = amount_nano, postings = postings + 1, transaction = p_transaction,
    balance_nano = (SELECT usd_nano - usd_held_nano FROM balances WHERE account_id = top_up.account_id),
    reason = NULL, message = NULL, answer = NULL, ended_at = clock_timestamp(), looks = 0,
    next_look_at = clock_timestamp() + interval '15 s', lease_id = NULL, leased_until = NULL
  WHERE id = p_id;
  RETURN 'settled';
END $$;

-- Takes back a credit whose transfer is no longer on the chain, as far as it is not spent or reserved, and looks for the
-- transfer again. What was not covered stays in `posted_nano`, and a later credit is smaller by that.
CREATE FUNCTION top_up_reverse(p_id uuid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  top_up top_ups;
  balance balances;
  taken bigint;
BEGIN
  SELECT * INTO top_up FROM top_ups WHERE id = p_id FOR UPDATE;
  IF NOT FOUND OR top_up.state <> 'settled' THEN
    RETURN NULL;
  END IF;
  balance := ledger_lock(top_up.account_id);
  taken := LEAST(top_up.posted_nano, GREATEST(balance.usd_nano - balance.usd_held_nano, 0));
  IF taken > 0 THEN
    PERFORM ledger_post('revoke', top_up.account_id, 'top_ups', 'USD', -taken,
      'x402-top-up:' || p_id || ':' || top_up.postings + 1, 'the transfer left the chain');
  END IF;
  UPDATE top_ups SET state = 'pending', posted_nano = posted_nano - taken, postings = postings + 1, balance_nano = NULL,
    answer = NULL, ended_at = NULL, looks = 0, next_look_at = clock_timestamp(), lease_id = NULL, leased_until = NULL
  WHERE id = p_id;
  RETURN taken;
END $$;
