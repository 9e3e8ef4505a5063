-- The stake of a wallet on its chain, in base units of the contract, as it was read last; null: never.
ALTER TABLE "wallets"
  ADD COLUMN "stake_units" DECIMAL(78,0) CHECK ("stake_units" >= 0),
  ADD COLUMN "stake_read_at" TIMESTAMPTZ(3),
  ADD COLUMN "stake_due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;
CREATE INDEX "wallets_stake_due_at_idx" ON "wallets"("stake_due_at");
