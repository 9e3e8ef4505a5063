-- Transactions that fee payers of the operator sign to submit payments of wallets.

-- CreateTable: a row is written before its transaction is sent, so that a retry sends the same one again.
CREATE TABLE "sent_transactions" (
    -- CAIP-2.
    "network" TEXT NOT NULL,
    -- Asset, payer and nonce of the authorization.
    "payment_key" TEXT NOT NULL,
    "fee_payer" TEXT NOT NULL,
    "nonce" BIGINT NOT NULL CHECK ("nonce" >= 0),
    "hash" TEXT NOT NULL,
    "raw" TEXT NOT NULL,
    "signed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "sent_transactions_pkey" PRIMARY KEY ("network", "payment_key")
);

-- CreateIndex: no two payments share a nonce.
CREATE UNIQUE INDEX "sent_transactions_network_fee_payer_nonce_key" ON "sent_transactions"("network", "fee_payer", "nonce");
