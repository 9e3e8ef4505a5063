-- What the requests of a wallet itself are counted by: a row like that of a key, which no bearer token matches.
ALTER TABLE "wallets" ADD COLUMN "api_key_id" UUID;
CREATE UNIQUE INDEX "wallets_api_key_id_key" ON "wallets"("api_key_id");
ALTER TABLE "wallets" ADD CONSTRAINT "wallets_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Wallets of Solana: base58 as it is.
ALTER TABLE "wallets" DROP CONSTRAINT IF EXISTS "wallets_address_check";
ALTER TABLE "wallets" ADD CONSTRAINT "wallets_address_check"
  CHECK ("address" ~ '^(0x[0-9a-f]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$');

-- CreateTable: nonces of sign-ins; each is used for one message of a wallet, on whichever replica.
CREATE TABLE "wallet_nonces" (
    "wallet" TEXT NOT NULL,
    "nonce" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "wallet_nonces_pkey" PRIMARY KEY ("wallet", "nonce")
);
CREATE INDEX "wallet_nonces_expires_at_idx" ON "wallet_nonces"("expires_at");

-- Reservations of failed requests, which wallets see as refunds; a few of all.
CREATE INDEX "holds_released_idx" ON "holds"("account_id", "closed_at") WHERE "state" = 'released';
