-- Keys that callers manage themselves, tiers of accounts, wallets that mint keys, and what usage is read from.

-- CreateEnum
CREATE TYPE "account_tier" AS ENUM ('default', 'partner');

-- CreateEnum: which models a key may call. PRIVATE_TEXT holds text and embedding models to it alone.
CREATE TYPE "model_privacy" AS ENUM ('ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY');

-- AlterTable
ALTER TABLE "accounts" ADD COLUMN "tier" "account_tier" NOT NULL DEFAULT 'default';

-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN "model_privacy" "model_privacy" NOT NULL DEFAULT 'ALL';

-- CreateTable: an address, in lower case, and the account its keys belong to.
CREATE TABLE "wallets" (
    "address" TEXT NOT NULL CHECK ("address" ~ '^0x[0-9a-f]{40}$'),
    "account_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "wallets_pkey" PRIMARY KEY ("address")
);

-- CreateTable: signed tokens that have made their key; nobody needs a row whose token has expired.
CREATE TABLE "spent_web3_tokens" (
    "id" UUID NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "spent_web3_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateTable: what a key has been charged per day (UTC), so that lists of keys read days and not charges.
CREATE TABLE "key_daily_spend" (
    "api_key_id" UUID NOT NULL,
    "day" DATE NOT NULL,
    "usd_nano" BIGINT NOT NULL DEFAULT 0,
    "diem_nano" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "key_daily_spend_pkey" PRIMARY KEY ("api_key_id", "day")
);

-- DropIndex, CreateIndex: keys are listed by age, and their making is limited per minute.
DROP INDEX "api_keys_account_id_idx";
CREATE INDEX "api_keys_account_id_created_at_idx" ON "api_keys"("account_id", "created_at");
CREATE INDEX "api_keys_active_idx" ON "api_keys"("account_id", "created_at") WHERE "revoked_at" IS NULL;
CREATE INDEX "wallets_account_id_idx" ON "wallets"("account_id");
CREATE INDEX "spent_web3_tokens_expires_at_idx" ON "spent_web3_tokens"("expires_at");

-- AddForeignKey
ALTER TABLE "wallets" ADD CONSTRAINT "wallets_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "key_daily_spend" ADD CONSTRAINT "key_daily_spend_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- An entry is dated when it is written, under the lock of its account, and not when its transaction began: the entries
-- of an account commit in the order of their times, and whoever pages through them misses none.
ALTER TABLE "ledger_transactions" ALTER COLUMN "created_at" SET DEFAULT clock_timestamp();
ALTER TABLE "ledger_entries" ALTER COLUMN "created_at" SET DEFAULT clock_timestamp();

INSERT INTO key_daily_spend (api_key_id, day, usd_nano, diem_nano)
SELECT t.api_key_id, (t.created_at AT TIME ZONE 'UTC')::date,
       COALESCE(-sum(e.amount_nano) FILTER (WHERE e.currency <> 'DIEM'), 0),
       COALESCE(-sum(e.amount_nano) FILTER (WHERE e.currency = 'DIEM'), 0)
  FROM ledger_transactions t
  JOIN ledger_entries e ON e.transaction_id = t.id AND e.sku IS NOT NULL
  JOIN api_keys k ON k.id = t.api_key_id
 WHERE t.kind = 'charge'
 GROUP BY 1, 2;

-- Follows the projection of the key's spend: one row per key and day, changed only under the lock of its account.
CREATE FUNCTION key_spend_follow_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_daily_spend AS spend (api_key_id, day, usd_nano, diem_nano)
  VALUES (NEW.api_key_id, NEW.day_start, NEW.lifetime_usd_nano - OLD.lifetime_usd_nano,
          NEW.lifetime_diem_nano - OLD.lifetime_diem_nano)
  ON CONFLICT (api_key_id, day) DO UPDATE SET usd_nano = spend.usd_nano + excluded.usd_nano,
         diem_nano = spend.diem_nano + excluded.diem_nano;
  RETURN NULL;
END $$;

CREATE TRIGGER "key_spend_days" AFTER UPDATE ON "key_spend" FOR EACH ROW
  WHEN (NEW.lifetime_usd_nano <> OLD.lifetime_usd_nano OR NEW.lifetime_diem_nano <> OLD.lifetime_diem_nano)
  EXECUTE FUNCTION key_spend_follow_day();
