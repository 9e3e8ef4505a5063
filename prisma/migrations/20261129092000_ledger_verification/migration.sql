-- CreateTable: a single row, the latest verification of the whole ledger by ops.
CREATE TABLE "ledger_verification" (
    "id" BOOLEAN NOT NULL DEFAULT true CHECK ("id"),
    "verified_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "took_ms" INTEGER NOT NULL,
    -- each way in which the ledger can be broken, as a count that must be zero
    "breaks" JSONB NOT NULL,

    CONSTRAINT "ledger_verification_pkey" PRIMARY KEY ("id")
);
