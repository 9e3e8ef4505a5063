-- What has become of the request that first came with an Idempotency-Key:
--   claimed   under way, not admitted: nothing has run
--   admitted  a job was admitted for it; while its api replica lives and has not answered, it is under way
--   answered  a whole answer is kept, or was too large to be
--   failed    it ended with an error after its job was admitted
--   cut       its answer broke off: the caller left
CREATE TYPE "idempotency_state" AS ENUM ('claimed', 'admitted', 'answered', 'failed', 'cut');

CREATE TABLE "idempotency_keys" (
    "account_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    -- sha256 over route and body
    "fingerprint" BYTEA NOT NULL,
    -- the request that holds the key, and the job it may have opened; whoever writes here names it, and finds nothing
    -- when another request has taken the key over
    "request_id" TEXT NOT NULL,
    "state" "idempotency_state" NOT NULL DEFAULT 'claimed',
    -- renewed by a living replica while the request is under way
    "held_until" TIMESTAMPTZ(3) NOT NULL,
    -- status, headers and body, packed and encrypted
    "answer" BYTEA,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("account_id","key")
);

-- Answers are packed and encrypted: PostgreSQL would try in vain to make them smaller.
ALTER TABLE "idempotency_keys" ALTER COLUMN "answer" SET STORAGE EXTERNAL;

CREATE INDEX "idempotency_keys_expires_at_idx" ON "idempotency_keys"("expires_at");

ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
