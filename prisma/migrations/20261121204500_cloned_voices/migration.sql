-- Voices that callers uploaded to be spoken with. The recording lies in the artifact storage and expires there; the row
-- says whose it is.
CREATE TABLE "cloned_voices" (
    -- the handle, `vv_…`
    "id" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    -- the only model that may speak with it
    "model_id" TEXT NOT NULL,
    "sample_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "cloned_voices_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "cloned_voices_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "cloned_voices_account_id_expires_at_idx" ON "cloned_voices"("account_id", "expires_at");
CREATE INDEX "cloned_voices_expires_at_idx" ON "cloned_voices"("expires_at");
