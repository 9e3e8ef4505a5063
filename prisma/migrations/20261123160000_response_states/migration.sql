-- Responses that clients asked to store (`store: true`), each with the conversation that led to it, so that a later
-- request can continue it by its id. Only installations whose operator allows it have rows here.
CREATE TABLE "response_states" (
    -- `resp_…`
    "id" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    -- the response and its input items, packed and encrypted
    "ciphertext" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "response_states_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "response_states_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- PostgreSQL would try in vain to make them smaller.
ALTER TABLE "response_states" ALTER COLUMN "ciphertext" SET STORAGE EXTERNAL;

CREATE INDEX "response_states_account_id_idx" ON "response_states"("account_id");
CREATE INDEX "response_states_expires_at_idx" ON "response_states"("expires_at");
