-- What model hosts signed about requests and their responses: hashes, no content. Only models whose hosts have keys get
-- rows, which expire.
CREATE TABLE "exchange_signatures" (
    "request_id" TEXT NOT NULL,
    -- the id in the body of the response
    "response_id" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    "model_id" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    -- null: the host was gone before it could sign
    "signature" TEXT,
    "address" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "exchange_signatures_pkey" PRIMARY KEY ("request_id"),
    CONSTRAINT "exchange_signatures_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "exchange_signatures_response_id_idx" ON "exchange_signatures"("response_id");
CREATE INDEX "exchange_signatures_account_id_idx" ON "exchange_signatures"("account_id");
CREATE INDEX "exchange_signatures_expires_at_idx" ON "exchange_signatures"("expires_at");
