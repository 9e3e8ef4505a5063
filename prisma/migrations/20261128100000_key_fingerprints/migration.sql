-- Tells processes with different keys apart without showing a key: each stores and compares a value derived from its own.
CREATE TABLE "key_fingerprints" (
    "name" TEXT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "noted_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "key_fingerprints_pkey" PRIMARY KEY ("name")
);
