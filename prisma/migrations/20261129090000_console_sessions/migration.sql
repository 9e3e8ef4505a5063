-- The ADMIN keys of an operator account see the whole installation in the console. The first account is one: the account
-- that was created together with its keys, in an empty database.
ALTER TABLE "accounts" ADD COLUMN "is_operator" BOOLEAN NOT NULL DEFAULT false;
UPDATE "accounts" SET "is_operator" = true
 WHERE "id" = (SELECT "id" FROM "accounts" ORDER BY "created_at", "id" LIMIT 1)
   AND EXISTS (SELECT 1 FROM "api_keys" k WHERE k."account_id" = "accounts"."id" AND k."kind" = 'ADMIN'
                  AND k."description" = 'created at first start');

-- CreateTable: sessions of the console in browsers. The token is in a cookie; only its SHA-256 is stored.
CREATE TABLE "console_sessions" (
    "token_hash" BYTEA NOT NULL,
    "api_key_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "console_sessions_pkey" PRIMARY KEY ("token_hash"),
    CONSTRAINT "console_sessions_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "console_sessions_api_key_id_idx" ON "console_sessions"("api_key_id");
CREATE INDEX "console_sessions_expires_at_idx" ON "console_sessions"("expires_at");

-- CreateTable: links that sign in to the console once. Only the SHA-256 of their tokens is stored.
CREATE TABLE "console_links" (
    "token_hash" BYTEA NOT NULL,
    "api_key_id" UUID NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "console_links_pkey" PRIMARY KEY ("token_hash"),
    CONSTRAINT "console_links_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "console_links_expires_at_idx" ON "console_links"("expires_at");
